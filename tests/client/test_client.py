"""`MCPClient`: connecting and calling; its end is in `test_client_lifetime`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from dedalus_mcp import (
    ConnectionLost,
    Context,
    MCPClient,
    McpError,
    RequestTimeout,
    ServerConfig,
    Timeout,
    ToolError,
    prompt,
    tool,
)
from dedalus_mcp.errors import LocalProtocolError, RemoteProtocolError
from dedalus_mcp.types import ImageContent, ProgressNotificationParams, TextContent
from tests.client.counting import back_to, living_tasks
from tests.client.serving import BOTH, LEGACY, MODERN, echo, offering, wait
from tests.interaction.raw import Raw, Scripted
from tests.interaction.scripts import opened, result, text


@tool
async def fail() -> None:
    raise ToolError("no such seat", "NOT_FOUND")


@tool
async def count(ctx: Context, to: int) -> None:
    for step in range(1, to + 1):
        await ctx.report_progress(step, total=to)


@prompt("say", arguments=[{"name": "what", "required": True}])
def say(arguments: dict[str, str]) -> list[tuple[str, str]]:
    return [("user", arguments["what"])]


@BOTH
async def test_connecting_is_awaited_or_entered(revision: str) -> None:
    server, before = offering(echo), living_tasks()

    client = await MCPClient.connect(server, revision=revision)
    assert (await client.call_tool("echo", {"a": 1})).structuredContent == {"a": 1}
    await client.close()
    async with MCPClient.connect(server, revision=revision) as client:
        await client.ping()
        assert client.revision == revision
        assert client.instructions == "Do"
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.prompts is None
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("test", "3")
    async with await MCPClient.connect(server, revision=revision) as client:
        await client.ping()

    await back_to(before)
    with pytest.raises(ConnectionLost, match="the client was closed"):
        await client.ping()


async def test_the_newest_revision_in_common_is_found_out() -> None:
    async with MCPClient.connect(offering()) as client:
        assert client.revision == MODERN


async def test_a_revision_that_is_none_and_a_target_that_is_none_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no protocol revision '1999-01-01'; legal are .*2026-07-28"):
        await MCPClient.connect(offering(), revision="1999-01-01")
    with pytest.raises(TypeError, match="cannot connect to int"):
        await MCPClient.connect(7)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [-1.0, float("nan")])
async def test_a_timeout_that_is_none_is_refused_before_anything_is_opened(wrong: float) -> None:
    with pytest.raises(ValueError, match="seconds"):
        MCPClient.connect(offering(), timeout=wrong)


@BOTH
async def test_a_failed_tool_is_returned_or_raised(revision: str) -> None:
    async with MCPClient.connect(offering(fail), revision=revision) as client:
        assert (await client.call_tool("fail")).isError
        with pytest.raises(ToolError, match=r"^\[NOT_FOUND\] no such seat$"):
            await client.call_tool("fail", raise_on_error=True)
        with pytest.raises(McpError, match="Unknown tool") as raised:
            await client.call_tool("nope", raise_on_error=True)
    assert raised.value.code == -32602


async def test_a_failure_without_a_word_is_raised_with_the_tools_name() -> None:
    @tool
    async def mute() -> dict[str, Any]:
        return {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}], "isError": True}

    async with MCPClient.connect(offering(mute)) as client:
        failed = await client.call_tool("mute")
        if failed.isError:
            assert isinstance(failed.content[0], ImageContent)
            with pytest.raises(ToolError, match="tool 'mute' failed without saying why"):
                await client.call_tool("mute", raise_on_error=True)


@BOTH
@pytest.mark.parametrize(
    "timeout",
    [0.01, Timeout(0.01), Timeout(10, total=0.01), Timeout(0.01, reset_on_progress=True)],
    ids=repr,
)
async def test_every_form_of_timeout_ends_the_wait(revision: str, timeout: Any) -> None:
    """CANC-13."""
    async with MCPClient.connect(offering(wait, echo), revision=revision) as client:
        with anyio.fail_after(20):
            with pytest.raises(RequestTimeout, match="tools/call"):
                await client.call_tool("wait", timeout=timeout)
            assert (await client.call_tool("echo")).structuredContent == {"a": None}


async def test_the_clients_own_timeout_counts_where_a_call_does_not_say() -> None:
    async with MCPClient.connect(offering(wait, echo), timeout=0.2) as client:
        with anyio.fail_after(20), pytest.raises(RequestTimeout):
            await client.call_tool("wait")
        with anyio.move_on_after(0.5) as scope:  # None means no limit, not the client's own
            await client.call_tool("wait", timeout=None)
        assert scope.cancelled_caught


@BOTH
async def test_progress_is_heard_in_order_whatever_the_callback_does(revision: str) -> None:
    heard: list[float] = []
    all_heard = anyio.Event()

    async def slow(progress: ProgressNotificationParams) -> None:
        await checkpoint()
        heard.append(progress.progress)
        if progress.progress == 20:
            all_heard.set()
        raise KeyError("the callback's own")

    async with MCPClient.connect(offering(count), revision=revision) as client:
        assert not (await client.call_tool("count", {"to": 20}, progress=slow)).isError
        with anyio.fail_after(20):
            await all_heard.wait()
    assert heard == list(range(1, 21))


@BOTH
async def test_lists_are_drained_from_as_many_pages_as_there_are(revision: str) -> None:
    """PAGE-02, PAGE-03, PROMPT-06."""
    tools = [tool(f"t{number}")(lambda: 1) for number in range(7)]
    prompts = [prompt(f"p{number}")(renderer()) for number in range(5)]
    server = offering(*tools, *prompts, config=ServerConfig(pagination_limit=2))
    async with MCPClient.connect(server, revision=revision) as client:
        assert [found.name for found in (await client.list_tools()).tools] == [f"t{number}" for number in range(7)]
        assert len((await client.list_prompts()).prompts) == 5
        page = await client.list_tools_page()
        assert len(page.tools) == 2
        assert [found.name for found in (await client.list_tools_page(page.nextCursor)).tools] == ["t2", "t3"]
        assert len((await client.list_prompts_page()).prompts) == 2
        assert (await client.list_tools()).nextCursor is None


def renderer() -> Callable[[dict[str, str]], None]:
    def render(arguments: dict[str, str]) -> None: ...

    return render


def _empty_cursor(page: int) -> str:
    return ""


def _new_cursor(page: int) -> str:
    return f"{page}"


async def _pages(raw: Raw, cursor: Callable[[int], str]) -> None:
    await opened(raw, LEGACY)
    page = 0
    while True:
        asked = await raw.hear()
        page += 1
        await raw.say({"id": asked["id"], "result": result(LEGACY, tools=[], nextCursor=cursor(page))})


@pytest.mark.parametrize(
    ("cursor", "said"), [(_empty_cursor, "repeats a cursor"), (_new_cursor, "more than 1000 pages")]
)
async def test_a_list_that_never_ends_is_given_up(cursor: Callable[[int], str], said: str) -> None:
    """PAGE-04: an empty cursor is one, so that it is asked for again, once."""
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            target = Scripted(group, lambda raw: _pages(raw, cursor))
            async with MCPClient.connect(target, revision=LEGACY) as client:
                with pytest.raises(RemoteProtocolError, match=said):
                    await client.list_tools()
            group.cancel_scope.cancel()


async def test_prompt_arguments_that_are_no_strings_go_as_their_json() -> None:
    """PROMPT-03."""
    async with MCPClient.connect(offering(say)) as client:
        for given, found in (("x", "x"), (1, "1"), (True, "true"), ([1, "a"], '[1,"a"]')):
            (message,) = (await client.get_prompt("say", {"what": given})).messages
            assert isinstance(message.content, TextContent)
            assert message.content.text == found
        with pytest.raises(McpError, match="Missing required arguments: what"):
            await client.get_prompt("say")


@BOTH
async def test_the_callers_meta_reaches_the_server(revision: str) -> None:
    seen: list[Any] = []

    @tool
    async def look(ctx: Context) -> None:
        seen.append(ctx.meta.get("mine"))

    async with MCPClient.connect(offering(look), revision=revision) as client:
        await client.call_tool("look", meta={"mine": {"a": 1}})
    assert seen == [{"a": 1}]


async def test_what_is_not_json_is_refused_and_nothing_else_happens() -> None:
    async with MCPClient.connect(offering(echo)) as client:
        with pytest.raises(LocalProtocolError):
            await client.call_tool("echo", {"a": object()})
        await client.ping()


async def test_a_reply_that_is_none_is_the_peers_fault_and_the_connection_lives() -> None:
    async def script(raw: Raw) -> None:
        await opened(raw, LEGACY)
        await raw.say({"id": (await raw.hear())["id"], "result": {"content": "none"}})
        await raw.say({"id": (await raw.hear())["id"], "result": text(LEGACY, "fine")})
        await raw.hear()

    with anyio.fail_after(20):
        async with (
            anyio.create_task_group() as group,
            MCPClient.connect(Scripted(group, script), revision=LEGACY) as client,
        ):
            with pytest.raises(RemoteProtocolError, match="tools/call"):
                await client.call_tool("x")
            assert not (await client.call_tool("x")).isError


@BOTH
async def test_a_log_level_is_set_in_the_words_of_the_revision(revision: str) -> None:
    heard: list[str] = []
    told = anyio.Event()

    def hear(message: Any) -> None:
        heard.append(message.level)
        told.set()

    @tool
    async def log(ctx: Context) -> None:
        await ctx.info("x")
        await ctx.log("alert", "x")

    async with MCPClient.connect(offering(log), revision=revision, logging=hear) as client:
        await client.set_logging_level("error")
        await client.call_tool("log")
        with anyio.fail_after(20):
            await told.wait()
    assert heard == ["alert"]
