"""Arguments and results as they pass the wire: nothing is read into text, nothing is lost, any name will do."""

from __future__ import annotations

import logging
import threading
from typing import Any

import anyio
import msgspec
import pytest

from dedalus_mcp import MCPClient, McpError, MCPServer, get_context, tool
from dedalus_mcp.errors import LocalProtocolError
from tests.interaction.raw import Raw, Scripted, serving
from tests.interaction.reach import PATIENCE, text_of
from tests.interaction.scripts import opened, result

revisions = pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
ODD = 'a\u2028b\u2029c\u0085d\x0b\x0c\x1c\r\n\t"\\ 你好 😀 é'


def serve(*functions: Any) -> MCPServer:
    server = MCPServer("tools")
    server.collect(*map(tool, functions))
    return server


def structured(reply: dict[str, Any]) -> Any:
    return reply["result"]["structuredContent"]["result"]


@revisions
async def test_text_that_looks_like_something_else_stays_text(revision: str) -> None:
    """B109: in every slot that takes text."""

    async def slots(s: str, o: str | None = None, u: int | str = 0) -> list[str]:
        return [s, str(o), str(u), type(o).__name__, type(u).__name__]

    with anyio.fail_after(PATIENCE):
        async with serving(serve(slots)) as raw:
            await raw.open(revision)
            for value in ("123", '{"a":1}', "null", "[1]", "1e5", "007", "true", "", " "):
                found = structured(await raw.tool(1, "slots", s=value, o=value, u=value))
                assert found == [value, value, value, "str", "str"]


@revisions
async def test_any_parameter_name_is_legal(revision: str) -> None:
    """TOOL-06, B119: those of base classes, of JSON-RPC, of the protocol."""

    async def names(  # noqa: PLR0917 - the point of it
        schema: int, json: int, copy: int, keys: int, items: int, type: int, id: int, method: int, params: int,
        name: int, arguments: int, cls: int, msg: int, model_config: int,
    ) -> int:  # fmt: skip
        return schema + json + copy + keys + items + type + id + method + params + name + arguments + cls + msg

    with anyio.fail_after(PATIENCE):
        async with serving(serve(names)) as raw:
            await raw.open(revision)
            (listed,) = (await raw.call(1, "tools/list"))["result"]["tools"]
            given = dict.fromkeys(listed["inputSchema"]["properties"], 1)
            assert len(given) == 14
            assert structured(await raw.call(2, "tools/call", name="names", arguments=given)) == 13


@revisions
async def test_absent_null_and_empty_arguments_are_the_same(revision: str) -> None:
    """B118."""

    async def nothing() -> str:
        return "ran"

    with anyio.fail_after(PATIENCE):
        async with serving(serve(nothing)) as raw:
            await raw.open(revision)
            cases: list[dict[str, Any]] = [{}, {"arguments": None}, {"arguments": {}}]
            for members in cases:
                assert structured(await raw.call(1, "tools/call", name="nothing", **members)) == "ran"


@revisions
async def test_a_bad_argument_is_told_to_the_model_with_its_name(revision: str) -> None:
    """TOOL-24: and the tool never runs."""
    ran: list[int] = []

    async def add(a: int, b: int = 0) -> int:
        ran.append(a)
        return a + b

    with anyio.fail_after(PATIENCE):
        async with serving(serve(add)) as raw:
            await raw.open(revision)
            cases: list[tuple[dict[str, Any], str]] = [
                ({}, "a"), ({"a": "x"}, "a"), ({"a": None}, "a"), ({"a": 1, "b": []}, "b"), ({"a": 1, "c": 1}, "c"),
            ]  # fmt: skip
            for arguments, field in cases:
                reply = (await raw.call(1, "tools/call", name="add", arguments=arguments))["result"]
                assert reply["isError"], arguments
                assert field in reply["content"][0]["text"]
            assert ran == []


@revisions
async def test_text_of_all_the_world_round_trips(revision: str) -> None:
    """RPC-13, B058, B125: JSON inside text keeps its characters, and separators of lines are escaped on the wire."""

    async def say(text: str) -> dict[str, str]:
        return {"k": text}

    with anyio.fail_after(PATIENCE):
        async with serving(serve(say)) as raw:
            await raw.open(revision)
            found = (await raw.tool(1, "say", text=ODD))["result"]
            assert found["structuredContent"] == {"k": ODD}
            assert msgspec.json.decode(found["content"][0]["text"]) == {"k": ODD}
            assert "你好 😀 é" in found["content"][0]["text"]
            assert not any(line in raw.frames[-1] for line in ("\u2028".encode(), "\u2029".encode(), b"\n", b"\r"))


@revisions
async def test_a_lone_surrogate_costs_one_answer_and_no_more(revision: str, caplog: pytest.LogCaptureFixture) -> None:
    """B124: in results, in log messages, in errors, in arguments; the server goes on answering."""
    caplog.set_level(logging.CRITICAL)

    async def bad(where: str) -> str:
        if where == "log":
            await get_context().info("\ud800")
        if where == "raise":
            raise ValueError("\udfff")
        if where == "protocol":
            raise McpError(-1, "\udfff", {"\udfff": "\udfff"})
        return "a\udca3b" if where == "result" else "fine"

    with anyio.fail_after(PATIENCE):
        async with serving(serve(bad)) as raw:
            await raw.open(revision)
            for where in ("result", "log", "raise", "protocol"):
                meta = {"io.modelcontextprotocol/logLevel": "debug"} if revision == "2026-07-28" else {}
                await raw.call(1, "tools/call", name="bad", arguments={"where": where}, _meta=meta)
                assert structured(await raw.tool(2, "bad", where="nowhere")) == "fine"
            await raw.say(b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":"\\ud800"}}')
            assert "error" in await raw.hear()
            assert structured(await raw.tool(2, "bad", where="nowhere")) == "fine"


@revisions
@pytest.mark.parametrize(
    "arguments", [{"a": "\ud800"}, {"\udfff": 1}, {"a": object()}], ids=["value", "name", "object"]
)
async def test_arguments_that_are_no_json_are_the_callers_error(arguments: Any, revision: str) -> None:
    """B124: nothing is sent, and the client goes on."""

    async def echo(a: str) -> str:
        return a

    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(serve(echo), revision=revision) as client:
            with pytest.raises(LocalProtocolError):
                await client.call_tool("echo", arguments)
            assert text_of(await client.call_tool("echo", {"a": "on"})) == "on"


@revisions
@pytest.mark.parametrize("number", [float("nan"), float("inf"), 2**70, 1e308, -0.0], ids=repr)
async def test_numbers_are_exact_or_an_error(number: float, revision: str) -> None:
    """TOOL-09: what JSON has no word for is never sent as something else."""

    async def give() -> float:
        return number

    with anyio.fail_after(PATIENCE):
        async with serving(serve(give)) as raw:
            await raw.open(revision)
            reply = (await raw.tool(1, "give"))["result"]
            if number != number or number == float("inf"):  # noqa: PLR0124 - NaN alone is not itself
                assert reply["isError"]
            else:
                assert reply["structuredContent"]["result"] == number
            assert "result" in await raw.call(2, "tools/list")


async def test_sync_tools_run_side_by_side_with_the_callers_context() -> None:
    """B064, B139: in threads, where the request's context is there too; inline ones are not."""
    meeting = threading.Barrier(3)

    def meet(name: str) -> str:
        meeting.wait(timeout=PATIENCE)
        return f"{name} {get_context().request_id} {threading.current_thread() is threading.main_thread()}"

    def inline() -> str:
        return f"inline {threading.current_thread() is threading.main_thread()}"

    server = serve(meet)
    server.collect(tool(inline=True)(inline))
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open("2025-06-18")
            for id in ("a", "b"):
                await raw.begin(id, "tools/call", name="meet", arguments={"name": id})
            assert structured(await raw.tool("i", "inline")) == "inline True"
            assert await raw.barrier() == []
            await raw.begin("c", "tools/call", name="meet", arguments={"name": "c"})
            found = sorted([structured(await raw.hear()) for _ in range(3)])
            assert found == ["a a False", "b b False", "c c False"]


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
async def test_a_client_carries_what_it_does_not_know(revision: str) -> None:
    """META-11, META-25, TOOL-13: unknown blocks and `_meta` whole, schemas word for word."""
    schema: dict[str, Any] = {
        "type": "object",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "x-foo": [1],
        "properties": {},
    }
    said: dict[str, Any] = {
        "content": [{"type": "hologram", "x": 1}, {"type": "text", "text": "a"}],
        "_meta": {"example.com/mine": {"deep": [1, None]}},
        "surprise": 5,
    }

    async def server(raw: Raw) -> None:
        await opened(raw, revision)
        call = await raw.hear_method("tools/call")
        await raw.say({"id": call["id"], "result": result(revision, **said)})
        call = await raw.hear_method("tools/list")
        await raw.say({"id": call["id"], "result": result(revision, tools=[{"name": "t", "inputSchema": schema}])})
        await raw.hear()

    with anyio.fail_after(PATIENCE):
        async with (
            anyio.create_task_group() as group,
            MCPClient.connect(Scripted(group, server), revision=revision) as client,
        ):
            found = await client.call_tool("a")
            assert [msgspec.to_builtins(block) for block in found.content] == said["content"]
            assert found.meta == said["_meta"]
            (listed,) = (await client.list_tools()).tools
            assert listed.inputSchema == schema
            group.cancel_scope.cancel()
