"""Requests and notifications beyond the named ones; and requests that are begun now and awaited later."""

from __future__ import annotations

import re
from typing import Any

import anyio
import pytest

from dedalus_mcp import ConnectionLost, Context, MCPClient, RequestTimeout, resource, tool
from dedalus_mcp.errors import LocalProtocolError, McpError, RemoteProtocolError, RequestCancelled
from dedalus_mcp.types import NotificationParams, TextResourceContents
from dedalus_mcp.types.methods import ROOTS_LIST_CHANGED
from tests.client.counting import back_to, living_tasks
from tests.client.playing import asks, form, playing
from tests.client.serving import BOTH, echo, offering, wait
from tests.interaction.raw import Raw, Scripted
from tests.interaction.reach import Heard
from tests.interaction.scripts import opened, result


@BOTH
async def test_any_method_is_requested_by_its_name(revision: str) -> None:
    asked: list[Any] = []

    async def script(raw: Raw) -> None:
        await opened(raw, revision)
        message = await raw.hear()
        asked.append(message)
        token = message["params"]["_meta"]["progressToken"]
        await raw.notify("notifications/progress", progressToken=token, progress=1)
        await raw.say({"id": message["id"], "result": result(revision, made={"b": [1]})})
        message = await raw.hear()
        asked.append(message)
        await raw.say({"id": message["id"], "error": {"code": -32601, "message": "no"}})
        await raw.say({"id": (await raw.hear())["id"], "result": [1]})
        await raw.hear()

    heard = Heard[Any]()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            async with MCPClient.connect(Scripted(group, script), revision=revision) as client:
                made = await client.request("acme/make", {"a": 1, "_meta": {"mine": 2}}, progress=heard)
                assert made["made"] == {"b": [1]}
                await heard.wait(1)
                with pytest.raises(McpError, match="no"):
                    await client.request("acme/other")
                with pytest.raises(RemoteProtocolError, match="acme/list"):
                    await client.request("acme/list")
            group.cancel_scope.cancel()

    assert asked[0]["method"] == "acme/make"
    assert asked[0]["params"]["a"] == 1
    assert asked[0]["params"]["_meta"]["mine"] == 2


async def test_a_named_method_of_the_protocol_asks_nobody() -> None:
    """What goes by its name is left as it is, its questions too."""
    async with playing(asks("s", q=form())) as play:
        with pytest.raises(RemoteProtocolError, match="input_required"):
            await play.client.request("tools/call", {"name": "x"})


@BOTH
async def test_any_notification_is_sent(revision: str) -> None:
    async def script(raw: Raw) -> None:
        await opened(raw, revision)
        while True:
            heard(await raw.hear())

    heard = Heard[Any]()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            async with MCPClient.connect(Scripted(group, script), revision=revision) as client:
                await client.notify("acme/happened", {"a": 1})
                await client.notify("acme/happened")
                await client.notify(ROOTS_LIST_CHANGED, NotificationParams())
                await heard.wait(3)
                with pytest.raises(LocalProtocolError):
                    await client.notify("acme/happened", {"a": object()})
            with pytest.raises(ConnectionLost):
                await client.notify("acme/happened")
            group.cancel_scope.cancel()

    assert [message["method"] for message in heard.values[:3]] == [
        "acme/happened",
        "acme/happened",
        "notifications/roots/list_changed",
    ]
    assert heard.values[0]["params"] == {"a": 1}


class Seen:
    """What a tool has gone through."""

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.cancelled = anyio.Event()

    def tool(self) -> Any:
        @tool
        async def long() -> None:
            self.begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                self.cancelled.set()

        return long


@BOTH
async def test_a_request_is_begun_now_and_awaited_later(revision: str) -> None:
    async with MCPClient.connect(offering(echo, wait), revision=revision) as client:
        pending = client.start(client.call_tool, "echo", {"a": 1})
        other = client.start(client.call_tool, "nope", raise_on_error=True)
        assert not pending.done
        with anyio.fail_after(20):
            assert (await pending).structuredContent == {"a": 1}
            assert (await pending).structuredContent == {"a": 1}
            with pytest.raises(McpError, match="nope"):
                await other
            with pytest.raises(RequestTimeout):
                await client.start(client.call_tool, "wait", timeout=0.01)
        assert pending.done
        pending.cancel()  # too late to matter
        assert not (await pending).isError


@BOTH
async def test_a_request_is_cancelled_by_whoever_holds_it(revision: str) -> None:
    """CANC-01: the server stops, and the client goes on."""
    seen = Seen()
    async with MCPClient.connect(offering(seen.tool(), echo), revision=revision) as client:
        pending = client.start(client.call_tool, "long")
        with anyio.fail_after(20):
            await seen.begun.wait()
            pending.cancel()
            pending.cancel()
            with pytest.raises(RequestCancelled, match="was cancelled"):
                await pending
            await seen.cancelled.wait()
        assert (await client.call_tool("echo")).structuredContent == {"a": None}


@BOTH
async def test_cancelling_whoever_awaits_a_request_does_not_cancel_it(revision: str) -> None:
    seen = Seen()
    async with MCPClient.connect(offering(seen.tool()), revision=revision) as client:
        pending = client.start(client.call_tool, "long")
        with anyio.fail_after(20):
            await seen.begun.wait()
            with anyio.move_on_after(0.01):
                await pending
        assert not pending.done
        assert not seen.cancelled.is_set()


@BOTH
async def test_closing_the_client_ends_what_was_begun(revision: str) -> None:
    before, seen = living_tasks(), Seen()
    client = await MCPClient.connect(offering(seen.tool()), revision=revision)
    pending = client.start(client.call_tool, "long")
    with anyio.fail_after(20):
        await seen.begun.wait()
        await client.close()
        with pytest.raises(ConnectionLost):
            await pending
        with pytest.raises(ConnectionLost):
            client.start(client.call_tool, "long")
        await back_to(before)


@BOTH
async def test_a_resource_is_read_with_progress_and_meta(revision: str) -> None:
    @resource("r://a")
    async def read(ctx: Context) -> str:
        await ctx.report_progress(1)
        return str(ctx.meta.get("mine"))

    heard = Heard[Any]()
    async with MCPClient.connect(offering(read), revision=revision) as client:
        found = await client.read_resource("r://a", progress=heard, meta={"mine": 7}, timeout=5)
        with anyio.fail_after(20):
            await heard.wait(1)
    (content,) = found.contents
    assert isinstance(content, TextResourceContents)
    assert content.text == "7"


async def test_closing_the_client_ends_whatever_else_was_begun_with_it() -> None:
    client = await MCPClient.connect(offering())
    pending = client.start(anyio.sleep_forever)
    await anyio.wait_all_tasks_blocked()
    with anyio.fail_after(20):
        await client.close()
        with pytest.raises(ConnectionLost, match="the client was closed"):
            await pending


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("a/b", [1], "the params of 'a/b' are a mapping of values by name, not list"),
        ("a/b", "x", "the params of 'a/b' are a mapping of values by name, not str"),
        ("a/b", {"_meta": 5}, "the _meta of 'a/b' are a mapping of values by name, not int"),
        (5, {}, "Method of dedalus_mcp.types.methods, not 5"),
        (None, None, "Method of dedalus_mcp.types.methods, not None"),
    ],
)
async def test_what_can_be_no_message_is_refused_and_says_what_is_legal(method: Any, params: Any, text: str) -> None:
    async with MCPClient.connect(offering(echo)) as client:
        for send in (client.request, client.notify):
            with pytest.raises(TypeError, match=re.escape(text)):
                await send(method, params)
        assert "tools" in await client.request("tools/list", {"_meta": None})
