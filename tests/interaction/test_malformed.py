"""What is no message, or not a legal one: one error for it, and the conversation goes on."""

from __future__ import annotations

import json
import logging
import random
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient, MCPServer, StdioServer
from dedalus_mcp.types.revisions import REVISIONS
from tests.interaction.raw import INFO, Raw, Scripted, envelope, serving
from tests.interaction.reach import PATIENCE, script, text_of, ways
from tests.interaction.scripts import opened, text
from tests.interaction.server import make


def target(transport: str) -> MCPServer | StdioServer:
    return make() if transport == "memory" else script("tests.interaction.server")


# Bytes of the line, the code, and the id of the answer.
LINES: list[tuple[bytes, int, Any]] = [
    (b"not json", -32700, None),
    (b"{", -32700, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"', -32700, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', -32700, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700, 1),
    (b"[" * 100_000, -32700, None),
    (b"\x00", -32700, None),
    (b"5", -32600, None),
    (b'"ping"', -32600, None),
    (b"null", -32600, None),
    (b"[]", -32600, None),
    (b"{}", -32600, None),
    (b'{"id":99,"method":"ping"}', -32600, 99),
    (b'{"jsonrpc":"1.0","id":"x","method":"ping"}', -32600, "x"),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":7,"method":5}', -32600, 7),
    (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
]


@ways
@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
async def test_a_line_that_is_no_message_is_answered_and_nothing_else_happens(revision: str, transport: str) -> None:
    """RPC-01, RPC-02, RPC-03, RPC-10, RPC-13, B056: an id is echoed where it can be read; else it is null."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            for line, code, id in LINES:
                await raw.say(line)
                reply = await raw.hear()
                assert (reply["error"]["code"], reply.get("id")) == (code, id), line[:60]
                assert reply["error"]["message"]
            assert await raw.barrier() == []


@ways
async def test_notices_and_replies_are_never_answered(transport: str) -> None:
    """RPC-12, B055, B107: unknown ones, malformed ones, and replies to nothing."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open("2025-06-18")
            messages: list[dict[str, Any]] = [
                {"method": "codex/event", "params": {"x": 1}},
                {"method": "notifications/message"},
                {"method": "notifications/progress", "params": {"progressToken": [], "progress": "x"}},
                {"method": "notifications/roots/list_changed", "params": {"_meta": 5}},
                {"method": "tools/list"},
                {"id": 5, "result": {}},
                {"id": "x", "error": {"code": 1, "message": "m"}},
                {"id": None, "error": {"code": -32700, "message": "m"}},
                {"error": {"code": -32700, "message": "m"}},
                {"id": 1, "result": {}, "error": {"code": 1, "message": "m"}},
            ]
            for message in messages:
                await raw.say(message)
            assert await raw.barrier() == []


METHODS = ("tools/call", "prompts/get", "tools/list", "prompts/list", "logging/setLevel", "initialize")
NO_OBJECT: tuple[Any, ...] = ("x", 5, [], None, True)


@ways
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25"])
async def test_bad_params_are_refused_for_their_request_alone(revision: str, transport: str) -> None:
    """TOOL-24, PROMPT-12, B101."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            for method in METHODS:
                for params in NO_OBJECT:
                    await raw.say({"id": method, "method": method, "params": params})
                    reply = await raw.reply(method)
                    assert reply["error"]["code"] == -32602, (method, params)
                    assert len(reply["error"]["message"]) < 300
            for arguments in ("{}", *NO_OBJECT[1:3], True):
                assert (await raw.call(1, "tools/call", name="echo", arguments=arguments))["error"]["code"] == -32602
                assert (await raw.call(1, "prompts/get", name="greet", arguments=arguments))["error"]["code"] == -32602
            for name in NO_OBJECT[1:]:
                assert (await raw.call(1, "tools/call", name=name))["error"]["code"] == -32602
            assert (await raw.call(1, "prompts/get", name="greet", arguments={"name": 5}))["error"]["code"] == -32602
            assert (await raw.call(1, "logging/setLevel", level="loud"))["error"]["code"] == -32602
            assert (await raw.tool(2, "echo", text="on"))["result"]["content"][0]["text"] == "on"


@pytest.mark.parametrize("params", NO_OBJECT, ids=repr)
async def test_a_modern_server_refuses_them_too(params: Any) -> None:
    """META-03, B101."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            for method in ("tools/call", "tools/list", "server/discover"):
                await raw.say({"id": 1, "method": method, "params": params})
                assert (await raw.reply(1))["error"]["code"] in (-32600, -32602)
            for meta in NO_OBJECT:
                await raw.say({"id": 1, "method": "tools/list", "params": {"_meta": meta}})
                assert (await raw.reply(1))["error"]["code"] in (-32600, -32602)
            assert "result" in await raw.call(2, "tools/list", _meta=envelope())


@pytest.mark.parametrize("revision", REVISIONS)
async def test_absent_params_and_arguments_mean_empty_ones(revision: str) -> None:
    """B025, B028, B103, B118: all at once; a prompt's missing arguments are named together, and it is not rendered."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open(revision)
            absent: list[dict[str, Any]] = [{}, {"arguments": None}, {"arguments": {}}]
            for members in absent:
                for method, name in (("tools/call", "story"), ("prompts/get", "greet")):
                    assert "result" in await raw.call(1, method, name=name, **members)
                error = (await raw.call(1, "prompts/get", name="strict", **members))["error"]
                assert (error["code"], error["message"]) == (-32602, "Missing required arguments: a, b, c")
            error = (await raw.call(1, "prompts/get", name="strict", arguments={"b": "x"}))["error"]
            assert error["message"] == "Missing required arguments: a, c"
            assert "strict rendered" not in json.dumps(await raw.tool(1, "story"))
            assert "result" in await raw.call(1, "tools/list")


@ways
async def test_a_thousand_messages_at_random_leave_the_server_alive(transport: str) -> None:
    """B101: pieces of messages, mixed; the seed is fixed, so a failure comes back."""
    chance = random.Random(20260728)
    pieces: list[Any] = [
        None,
        True,
        -1,
        0.5,
        "",
        "x",
        [],
        {},
        "tools/call",
        "echo",
        2**70,
        {"name": "echo"},
        envelope(),
    ]
    names = ["jsonrpc", "id", "method", "params", "result", "error", "name", "arguments", "_meta", "code"]

    def piece(depth: int) -> Any:
        kind = chance.random()
        if depth == 0 or kind < 0.5:
            return chance.choice(pieces)
        if kind < 0.6:
            return [piece(depth - 1) for _ in range(chance.randrange(3))]
        return {chance.choice(names): piece(depth - 1) for _ in range(chance.randrange(5))}

    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open("2025-03-26")
            for _ in range(20):
                await raw.say(*(json.dumps(piece(4)).encode() for _ in range(50)))
                await raw.barrier()
            assert (await raw.tool("last", "echo", text="on"))["result"]["content"][0]["text"] == "on"


async def test_handlers_errors_tell_the_client_no_internals() -> None:
    """LOG-08, TOOL-24: nor does the text of what went wrong reach the model."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open("2025-06-18")
            reply = await raw.tool(1, "fail", how="anything else")
            assert reply["result"]["isError"]
            assert (await raw.tool(2, "fail", how="tool"))["result"]["content"][0]["text"] == "for the model"
    assert not any(b"secret" in frame or b"Traceback" in frame for frame in raw.frames)


async def test_a_client_answers_no_garbage_and_warns_once_for_each_line(caplog: pytest.LogCaptureFixture) -> None:
    """STDIO-03, B055, B065, B107: and its call completes."""
    caplog.set_level(logging.WARNING)
    ends: list[Raw] = []

    async def server(raw: Raw) -> None:
        ends.append(raw)
        await opened(raw, "2025-06-18")
        call = await raw.hear_method("tools/call")
        await raw.say(b"Server started!", b"[]", b"{", {"id": "1", "method": 5})
        await raw.say({"method": "codex/event", "params": {"msg": "x" * 5000}}, {"method": "notifications/message"})
        await raw.say({"id": call["id"], "result": text("2025-06-18", "yes")})
        await raw.hear()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            client = await MCPClient.connect(Scripted(group, server), revision="2025-06-18", logging=_ignore)
            async with client:
                assert text_of(await client.call_tool("a")) == "yes"
    assert [message["method"] for message in ends[0].heard] == ["initialize", "notifications/initialized", "tools/call"]
    assert 4 <= len(caplog.records) <= 5
    assert all(len(record.getMessage()) <= 250 for record in caplog.records)


def _ignore(params: Any) -> None:
    pass


@pytest.mark.parametrize("method", ["sampling/createMessage", "roots/list", "no/such", "initialize", "tools/list"])
async def test_a_client_refuses_what_it_does_not_do(method: str) -> None:
    """LIFE-11, B020: with the id of the request; ping it answers."""

    async def server(raw: Raw) -> None:
        await opened(raw, "2025-11-25")
        call = await raw.hear_method("tools/call")
        assert (await raw.call("r-9", method, INFO))["error"]["code"] == -32601
        assert (await raw.call(0, "ping"))["result"] == {}
        await raw.say({"id": call["id"], "result": text("2025-11-25", "yes")})
        await raw.hear()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            client = await MCPClient.connect(Scripted(group, server), revision="2025-11-25")
            async with client:
                assert text_of(await client.call_tool("a")) == "yes"
