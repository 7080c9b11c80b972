"""Errors in the words of the revision: the same failure, whoever raises it, from a task group or not."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import McpError, MCPServer, completion, get_context, prompt, resource, tool
from dedalus_mcp.errors import ResourceNotFound
from tests.interaction.raw import Raw, serving
from tests.interaction.reach import PATIENCE

LEGACY, LATEST, MODERN = "2025-06-18", "2025-11-25", "2026-07-28"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("tools/call", {"name": "failing", "arguments": {}}),
    ("prompts/get", {"name": "failing"}),
    ("resources/read", {"uri": "a://failing"}),
]
NEEDED: dict[str, Any] = {"requiredCapabilities": {"elicitation": {"form": {}}}}


async def ask() -> None:
    await get_context().confirm("Sure?")


def raising(error: McpError | None) -> Any:
    """What fails so; None asks a client that cannot be asked."""

    async def fail() -> None:
        if error is None:
            await ask()
        else:
            raise error

    return fail


def offering(fail: Any, *, grouped: bool) -> MCPServer:
    async def run() -> str:
        if not grouped:
            await fail()
        async with anyio.create_task_group() as group:
            group.start_soon(fail)
            group.start_soon(anyio.sleep_forever)
        return ""

    server = MCPServer("failing")
    with server.binding():

        @tool("failing")
        async def failing_tool() -> str:
            return await run()

        @resource("a://failing")
        async def failing_resource() -> str:
            return await run()

        @prompt("failing")
        async def failing_prompt(arguments: dict[str, str] | None) -> list[tuple[str, str]]:
            return [("user", await run())]

    return server


async def errors(raw: Raw) -> list[tuple[int, Any]]:
    replies = [await raw.call(method, method, params) for method, params in CALLS]
    return [(reply["error"]["code"], reply["error"].get("data")) for reply in replies]


@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "in a group"])
@pytest.mark.parametrize(
    ("error", "codes"),
    [
        (McpError(-32002, "gone", {"uri": "a://b"}), {LEGACY: -32002, LATEST: -32002, MODERN: -32602}),
        (ResourceNotFound(-32002, "gone", {"uri": "a://b"}), {LEGACY: -32002, LATEST: -32002, MODERN: -32602}),
        (McpError(-32042, "pay"), {LEGACY: -32603, LATEST: -32042, MODERN: -32603}),
        (McpError(7, "mine"), {LEGACY: 7, LATEST: 7, MODERN: 7}),
    ],
    ids=["gone", "not found", "pay", "own"],
)
async def test_a_code_of_another_revision_is_never_sent(
    error: McpError, codes: dict[str, int], *, grouped: bool
) -> None:
    """RPC-27, RES-06, RES-07: the author need not know who asks."""
    with anyio.fail_after(PATIENCE):
        for revision, code in codes.items():
            async with serving(offering(raising(error), grouped=grouped)) as raw:
                await raw.open(revision)
                assert await errors(raw) == [(code, error.error.data)] * 3


@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "in a group"])
async def test_what_the_client_would_have_to_declare_is_told_wherever_it_was_needed(*, grouped: bool) -> None:
    """META-06: also by a question in a task group of a prompt or of a resource."""
    with anyio.fail_after(PATIENCE):
        async with serving(offering(raising(None), grouped=grouped)) as raw:
            await raw.open(MODERN)
            assert await errors(raw) == [(-32021, NEEDED)] * 3


async def test_what_cannot_carry_a_round_never_asks() -> None:
    """MRTR-03: completion has no rounds, whatever the client declares."""
    server = MCPServer("asking")
    with server.binding():

        @prompt("p", arguments=[{"name": "a"}])
        def p(arguments: dict[str, str]) -> list[tuple[str, str]]:
            return []

        @completion(prompt="p", argument="a")
        async def suggest(value: str) -> list[str]:
            await ask()
            return []

    ref = {"type": "ref/prompt", "name": "p"}
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(MODERN, {"elicitation": {}})
            reply = await raw.call(1, "completion/complete", ref=ref, argument={"name": "a", "value": ""})

    assert reply["error"]["code"] == -32601
