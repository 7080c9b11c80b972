"""What scripted servers say to real clients, in the words of a revision."""

from __future__ import annotations

from typing import Any

from dedalus_mcp.types.revisions import MODERN
from tests.interaction.raw import Raw

__all__ = ("agree", "opened", "result", "text")

CAPABILITIES: dict[str, Any] = {"tools": {}, "prompts": {}, "logging": {}}


def result(revision: str, **members: Any) -> dict[str, Any]:
    """A result that is complete in that revision."""
    return {**members, "resultType": "complete"} if revision in MODERN else members


def text(revision: str, said: str) -> dict[str, Any]:
    """The result of a tool that says something."""
    return result(revision, content=[{"type": "text", "text": said}])


def agree(revision: str) -> dict[str, Any]:
    """The result of the opening request."""
    if revision in MODERN:
        return result(revision, supportedVersions=[revision], capabilities=CAPABILITIES, ttlMs=0, cacheScope="private")
    return {"protocolVersion": revision, "capabilities": CAPABILITIES, "serverInfo": {"name": "s", "version": "1"}}


async def opened(raw: Raw, revision: str) -> None:
    """Answer whatever a client of that revision begins with."""
    first = await raw.hear()
    await raw.say({"id": first["id"], "result": agree(revision)})
    if revision not in MODERN:
        assert (await raw.hear())["method"] == "notifications/initialized"
