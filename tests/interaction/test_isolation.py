"""What goes wrong in one conversation over HTTP stays there: its call is answered, and all others go on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, prompt, resource, tool
from tests.transports.asgi import serving

REVISIONS = ("2025-03-26", "2025-11-25", "2026-07-28")


class Odd(BaseException):
    """Neither an error nor a cancellation."""


async def cancels_its_task() -> None:
    if anyio.get_cancelled_exc_class() is not asyncio.CancelledError:
        raise Odd  # only asyncio has tasks that anybody may cancel
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await anyio.sleep_forever()


async def cancels_its_scope() -> None:
    anyio.CancelScope().__enter__().cancel()
    await anyio.sleep_forever()


def raising(error: BaseException) -> Callable[[], Any]:
    async def fail() -> None:
        raise error

    return fail


async def recurses() -> None:
    await recurses()


FAILURES = {
    "error": raising(ValueError("secret")),
    "exit": raising(SystemExit("secret")),
    "generator exit": raising(GeneratorExit("secret")),
    "odd": raising(Odd("secret")),
    "group": raising(BaseExceptionGroup("secret", [Odd(), SystemExit(1)])),
    "stop": raising(StopAsyncIteration("secret")),
    "memory": raising(MemoryError("secret")),
    "recursion": recurses,
    "task": cancels_its_task,
    "scope": cancels_its_scope,
}


def failing(fail: Callable[[], Any]) -> MCPServer:
    server = MCPServer("failing")
    with server.binding():

        @tool
        async def echo(text: str) -> str:
            return text

        @tool
        async def fails() -> None:
            await fail()

        @resource("r://fails")
        async def read() -> str:
            await fail()
            return ""

        @prompt("fails")
        async def render(arguments: dict[str, str] | None) -> Any:
            await fail()

    return server


@pytest.mark.parametrize("how", FAILURES)
async def test_whatever_leaves_a_handler_is_the_end_of_its_call_alone(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B076: one answer with nothing internal in it, one entry in the log; sessions go on, and new ones begin."""
    caplog.set_level(logging.WARNING)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", {"name": "fails", "arguments": {}}),
        ("resources/read", {"uri": "r://fails"}),
        ("prompts/get", {"name": "fails"}),
    ]
    async with serving(failing(FAILURES[how])) as web:
        others = [await web.open(revision) for revision in REVISIONS * 3]
        for revision in REVISIONS:
            client = await web.open(revision)
            for method, params in calls:
                caplog.clear()
                exchange = await client.begin(1, method, params).ended()

                failed = exchange.messages[-1]
                assert failed.get("error", {}).get("code") == -32603 or failed["result"]["isError"]
                assert b"secret" not in exchange.body
                assert len(caplog.records) <= 1
                assert await client.use(2, "echo", text="still") == "still"
            assert [await other.use(3, "echo", text="on") for other in others] == ["on"] * len(others)
