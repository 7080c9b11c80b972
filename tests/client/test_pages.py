"""Pages that servers send a user to: what a client does with the URL, and what it never does."""

from __future__ import annotations

import re
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from dedalus_mcp import MCPClient
from dedalus_mcp.errors import RemoteProtocolError
from dedalus_mcp.types import ElicitRequestURLParams, ElicitResult
from tests.client.playing import asks, page, playing, said
from tests.interaction.raw import Message, Raw, Scripted
from tests.interaction.reach import Heard, text_of
from tests.interaction.scripts import opened, text
from tests.sources import modules

LEGACY = "2025-11-25"
UNSAFE = ["javascript:alert(1)", "file:///etc/passwd", "app://run", "https://me:hunter2@example.com/", "https://a b/"]


async def visited(question: Message, *, live: bool, **handlers: Any) -> Any:
    """Let a server ask that once in the course of a call; return what the refusal says, if it is refused."""
    replies: list[Message] = []

    async def server(raw: Raw) -> None:
        await opened(raw, LEGACY)
        call = await raw.hear_method("tools/call")
        replies.append(await raw.call("q", question["method"], {**question["params"], "elicitationId": "e"}))
        await raw.say({"id": call["id"], "result": text(LEGACY, "on")})

    if not live:
        async with playing(asks("s", q=question), said("on"), **handlers) as play:
            try:
                await play.client.call_tool("t")
            except RemoteProtocolError as refused:
                return str(refused)
            return None
    async with anyio.create_task_group() as group:
        async with MCPClient.connect(Scripted(group, server), revision=LEGACY, **handlers) as client:
            assert text_of(await client.call_tool("t")) == "on"
        group.cancel_scope.cancel()
    error = replies[0].get("error")
    assert error is None or error["code"] == -32602
    return error and error["message"]


@pytest.mark.parametrize("live", [True, False])
async def test_the_user_is_shown_the_whole_url_and_nothing_is_opened_or_fetched(*, live: bool) -> None:
    """ELIC-23: what there is to see is the handler's, and so is the consent."""
    came, shown = Heard[str](), Heard[ElicitRequestURLParams]()

    async def taken(stream: SocketStream) -> None:
        async with stream:
            came("somebody")

    async def agree(params: ElicitRequestURLParams) -> ElicitResult:
        shown(params)
        return ElicitResult(action="accept")

    with anyio.fail_after(20):
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/pay?a=%2F&b=ü#c"
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, taken)
            assert await visited(page(url), live=live, elicitation_url=agree) is None
            assert came.values == []
            async with await anyio.connect_tcp("127.0.0.1", listener.extra(SocketAttribute.local_port)):
                await came.wait(1)  # whoever had come before would have been heard of
            group.cancel_scope.cancel()

    assert [params.url for params in shown.values] == [url]
    assert came.values == ["somebody"]


@pytest.mark.parametrize("url", UNSAFE)
async def test_a_url_that_is_no_page_never_reaches_whoever_would_open_it(url: str) -> None:
    """SEC-11."""
    asked: list[Any] = []
    with anyio.fail_after(20):
        refusals = [await visited(page(url), live=live, elicitation_url=asked.append) for live in (True, False)]

    assert [("url must " in refusal, "hunter2" in refusal) for refusal in refusals] == [(True, False)] * 2
    assert asked == []


SHELL = re.compile(r"\bos\.(system|popen|startfile)\b|\bsubprocess_shell\b|\bshell\s*=\s*True\b")
BROWSER = re.compile(r"\bwebbrowser\b")


def test_no_module_starts_a_shell_and_two_a_browser() -> None:
    """SEC-11, ELIC-23: what opens pages is the host's, which the command line is; but for the page to sign in at."""
    texts = {name: path.read_text() for name, path in modules()}

    assert [name for name, text in texts.items() if SHELL.search(text)] == []
    assert [name for name, text in texts.items() if BROWSER.search(text)] == [
        "dedalus_mcp.cli.questions",
        "dedalus_mcp.client.auth.redirect",
    ]
