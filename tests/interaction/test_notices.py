"""Log messages, progress and pages: what goes out beside replies, when, and to whom."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient, McpError, MCPServer, ServerConfig, StdioServer, get_context, tool
from dedalus_mcp.errors import RemoteProtocolError
from dedalus_mcp.types.revisions import LEGACY, REVISIONS
from tests.interaction.raw import Raw, Scripted, serving
from tests.interaction.reach import PATIENCE, Heard, script, ways
from tests.interaction.scripts import opened, result
from tests.interaction.server import make

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


def target(transport: str) -> MCPServer | StdioServer:
    return make() if transport == "memory" else script("tests.interaction.server")


def logged(raw: Raw, since: int) -> list[str]:
    return [m["params"]["level"] for m in raw.heard[since:] if m.get("method") == "notifications/message"]


@ways
@pytest.mark.parametrize("revision", LEGACY)
async def test_a_session_hears_the_levels_that_it_asked_for(revision: str, transport: str) -> None:
    """LOG-01, B130: by severity; data is JSON; a bad level is refused and changes nothing."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            for number, level in enumerate(LEVELS):
                assert (await raw.call(1, "logging/setLevel", level=level))["result"] == {}
                assert (await raw.call(1, "logging/setLevel", level="loud"))["error"]["code"] == -32602
                since = len(raw.heard)
                await raw.tool(2, "logs")
                assert logged(raw, since) == LEVELS[number:]
            last = raw.heard[-2]
            assert last["params"]["logger"] == "tests"
            assert last["params"]["data"] == {"msg": "at emergency", "a": [1]}


async def test_sessions_have_levels_of_their_own() -> None:
    """B130, META-07."""
    server = make()
    with anyio.fail_after(PATIENCE):
        async with serving(server) as one, serving(server) as other:
            for raw, level in ((one, "error"), (other, "debug")):
                await raw.open("2025-06-18")
                await raw.call(1, "logging/setLevel", level=level)
            for raw, count in ((one, 4), (other, 8)):
                await raw.tool(2, "logs")
                assert len(logged(raw, 0)) == count


@ways
async def test_a_modern_request_hears_logs_only_as_it_asks_for(transport: str) -> None:
    """LOG-03, LOG-05, META-05, META-07: without a level, none; what one request asked for is not another's."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open("2026-07-28")
            for level, heard in [("error", LEVELS[4:]), (None, []), ("debug", LEVELS), (None, [])]:
                since = len(raw.heard)
                meta = {} if level is None else {"io.modelcontextprotocol/logLevel": level}
                await raw.call(1, "tools/call", name="logs", arguments={}, _meta=meta)
                assert logged(raw, since) == heard
            reply = await raw.call(1, "tools/list", _meta={"io.modelcontextprotocol/logLevel": "loud"})
            assert reply["error"]["code"] == -32602


@ways
@pytest.mark.parametrize("revision", REVISIONS)
async def test_progress_goes_to_whoever_asked_with_their_token_and_before_the_reply(
    revision: str, transport: str
) -> None:
    """PROG-01, PROG-03, PROG-05, PROG-06, B005, B127: tokens keep their type, and 0 is one."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            for token in ("t1", 7, 0, ""):
                since = len(raw.heard)
                await raw.call(1, "tools/call", name="progress", arguments={"steps": 3}, _meta={"progressToken": token})
                *notices, reply = raw.heard[since:]
                assert reply["id"] == 1
                assert [(n["method"], n["params"]["progress"], n["params"]["total"]) for n in notices] == [
                    ("notifications/progress", step, 3) for step in (1, 2, 3)
                ]
                found = [notice["params"]["progressToken"] for notice in notices]
                assert [(value, type(value)) for value in found] == [(token, type(token))] * 3
            for meta in ({}, {"progressToken": None}, {"progressToken": 1.5}, {"progressToken": True}):
                since = len(raw.heard)
                await raw.call(1, "tools/call", name="progress", arguments={"steps": 3}, _meta=meta)
                assert len(raw.heard) == since + 1


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
async def test_nothing_of_a_call_follows_its_reply(revision: str) -> None:
    """PROG-06, LOG-05, B127: a task that the tool left behind is not heard any more."""
    server = MCPServer("late")
    late = anyio.Event()
    over = anyio.Event()

    async with anyio.create_task_group() as left_behind:

        async def straggle(context: Any) -> None:
            await late.wait()
            await context.report_progress(2)
            await context.info("too late")
            over.set()

        with server.binding():

            @tool
            async def leave() -> str:
                context = get_context()
                await context.report_progress(1)
                left_behind.start_soon(straggle, context)
                return "left"

        with anyio.fail_after(PATIENCE):
            async with serving(server) as raw:
                await raw.open(revision)
                meta = {"progressToken": "t", "io.modelcontextprotocol/logLevel": "debug"}
                await raw.call(1, "tools/call", name="leave", arguments={}, _meta=meta)
                late.set()
                await over.wait()
                assert await raw.barrier() == []


@pytest.mark.parametrize("progress", [[2, 2], [2, 1], [float("nan")], [float("inf")]], ids=str)
async def test_progress_that_does_not_rise_is_the_authors_error(progress: list[float]) -> None:
    """PROG-03: at the caller; nothing illegal is sent."""
    server = MCPServer("wrong")
    with server.binding():

        @tool
        async def wrong() -> str:
            for step in progress:
                try:
                    await get_context().report_progress(step)
                except ValueError as error:
                    return f"refused: {error}"
            return "accepted"

    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, revision="2025-06-18") as client:
            (block,) = (await client.call_tool("wrong")).content
            assert "refused" in str(block)


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_client_hears_log_messages_in_order(revision: str) -> None:
    """B130: from the level on that it asked for, whatever the revision does for that."""
    heard = Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(make(), revision=revision, logging=heard) as client:
            await client.set_logging_level("warning")
            await client.call_tool("logs")
            assert [params.level for params in await heard.wait(5)] == LEVELS[3:]


# Pages.


@ways
@pytest.mark.parametrize("revision", ["2024-11-05", "2026-07-28"])
async def test_a_list_is_cut_into_pages(revision: str, transport: str) -> None:
    """PAGE-01, PAGE-02, PAGE-04: a cursor leads to the rest; one that was never given is refused."""
    server = target(transport)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(revision)
            whole = (await raw.call(1, "tools/list"))["result"]
            assert "nextCursor" not in whole
            for cursor in ("nonsense", "-1", "99999999999999999999999", "٣"):
                assert (await raw.call(1, "tools/list", cursor=cursor))["error"]["code"] == -32602
            assert (await raw.call(1, "tools/list", cursor=5))["error"]["code"] == -32602
            again = (await raw.call(1, "tools/list", cursor=None))["result"]
            assert again["tools"] == whole["tools"]


@pytest.mark.parametrize("revision", ["2024-11-05", "2026-07-28"])
async def test_a_client_gathers_all_pages(revision: str) -> None:
    """PAGE-01, PAGE-02, B128: or takes one at a time."""
    server = make(ServerConfig(pagination_limit=4))
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, revision=revision) as client:
            assert sorted(tool.name for tool in (await client.list_tools()).tools) == server.tool_names
            assert sorted(prompt.name for prompt in (await client.list_prompts()).prompts) == server.prompt_names
            page = await client.list_tools_page()
            names = [tool.name for tool in page.tools]
            while page.nextCursor is not None:
                page = await client.list_tools_page(page.nextCursor)
                assert 0 < len(page.tools) <= 4
                names += [tool.name for tool in page.tools]
            assert sorted(names) == server.tool_names
            with pytest.raises(McpError):
                await client.list_tools_page("nonsense")


@pytest.mark.parametrize("cursors", [["a", "b", "a"], [""] * 2], ids=str)
async def test_a_list_that_never_ends_is_an_error(cursors: list[str]) -> None:
    """PAGE-01, PAGE-04, B128: an empty string is a cursor like any other."""

    async def server(raw: Raw) -> None:
        await opened(raw, "2025-06-18")
        for cursor in cursors:
            call = await raw.hear_method("tools/list")
            await raw.say({"id": call["id"], "result": result("2025-06-18", tools=[], nextCursor=cursor)})
        await raw.hear()

    with anyio.fail_after(PATIENCE):
        async with (
            anyio.create_task_group() as group,
            MCPClient.connect(Scripted(group, server), revision="2025-06-18") as client,
        ):
            with pytest.raises(RemoteProtocolError, match="does not end"):
                await client.list_tools()
            group.cancel_scope.cancel()
