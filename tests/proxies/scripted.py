"""A legacy upstream server that says what it is told, for what a server of ours would never say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.interaction.raw import Raw

__all__ = ("COMPLETE", "Answer", "legacy", "modern", "text")

Answer = Callable[[Raw, dict[str, Any]], Awaitable[None]]
"""Answers one message."""


def text(said: str) -> dict[str, Any]:
    """The result of a tool."""
    return {"content": [{"type": "text", "text": said}]}


def legacy(answers: Mapping[str, Answer], capabilities: Mapping[str, Any]) -> Callable[[Raw], Awaitable[None]]:
    """A script that shakes hands, and answers methods; what is none of them, and replies, go to `answers[""]`."""

    async def run(raw: Raw) -> None:
        while True:
            message = await raw.hear()
            method = message.get("method", "")
            if method == "server/discover":
                await raw.say({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
            elif method == "initialize":
                info = {"name": "scripted", "version": "1"}
                result = {"protocolVersion": "2025-11-25", "capabilities": dict(capabilities), "serverInfo": info}
                await raw.say({"id": message["id"], "result": result})
            elif method in answers:
                await answers[method](raw, message)

    return run


def modern(answers: Mapping[str, Answer], capabilities: Mapping[str, Any]) -> Callable[[Raw], Awaitable[None]]:
    """The same for 2026-07-28; what is not among `answers` is no method."""

    async def run(raw: Raw) -> None:
        while True:
            message = await raw.hear()
            method = message.get("method", "")
            if method == "server/discover":
                result = {"supportedVersions": ["2026-07-28"], "capabilities": dict(capabilities), **COMPLETE}
                await raw.say({"id": message["id"], "result": result})
            elif method in answers:
                await answers[method](raw, message)
            elif "id" in message:
                error = {"code": -32601, "message": f"Method not found: {method}"}
                await raw.say({"id": message["id"], "error": error})

    return run


COMPLETE: dict[str, Any] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""What a result of 2026-07-28 has."""
