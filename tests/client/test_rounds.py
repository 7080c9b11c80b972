"""Requests that ask back: a real client answers a scripted server until there is a result."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest

from dedalus_mcp import ConnectionLost, Form, MCPClient, McpError
from dedalus_mcp.errors import ErrorData, RemoteProtocolError
from dedalus_mcp.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ProgressNotificationParams,
    Root,
    TextContent,
)
from tests.client.playing import Play, asks, form, page, playing, roots, said, sample
from tests.interaction.reach import Heard, text_of


async def echo(params: ElicitRequestParams) -> dict[str, Any]:
    return {"value": params.message}


async def model(params: CreateMessageRequestParams) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text="Paris"), model="m")


async def agree(params: ElicitRequestURLParams) -> ElicitResult:
    return ElicitResult(action="accept")


async def test_a_tool_that_asks_is_answered_until_it_returns() -> None:
    """MRTR-12, MRTR-13, MRTR-14, MRTR-15, MRTR-17: the same request, a new id, answers and state as they came."""
    first, second = asks(" {state} \u00e9\n", name=form("who")), asks("2", colour=form("which"))
    with anyio.fail_after(20):
        async with playing(first, second, said("hi"), elicitation=echo) as play:
            result = await play.client.call_tool("greet", {"a": [1, None]}, meta={"mine": 1})

    assert text_of(result) == "hi"
    assert len({call["id"] for call in play.calls}) == 3
    rounds = [(params.pop("inputResponses", None), params.pop("requestState", None)) for params in play.params]
    assert rounds == [
        (None, None),
        ({"name": {"action": "accept", "content": {"value": "who"}}}, " {state} \u00e9\n"),
        ({"colour": {"action": "accept", "content": {"value": "which"}}}, "2"),
    ]
    assert play.params[0] == play.params[1] == play.params[2]
    assert play.params[0]["arguments"] == {"a": [1, None]}
    assert play.params[0]["_meta"]["mine"] == 1
    assert play.params[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {"elicitation": {"form": {}}}


async def test_prompts_and_resources_ask_alike() -> None:
    messages: dict[str, Any] = {"resultType": "complete", "messages": []}
    contents: dict[str, Any] = {"resultType": "complete", "contents": [], "ttlMs": 0, "cacheScope": "private"}
    question = asks(None, q=form("x"))
    with anyio.fail_after(20):
        async with playing(question, messages, question, contents, elicitation=echo) as play:
            assert (await play.client.get_prompt("p", {"b": "c"})).messages == []
            assert (await play.client.read_resource("a://b")).contents == []

    assert [call["method"] for call in play.calls] == ["prompts/get"] * 2 + ["resources/read"] * 2
    assert play.params[1]["arguments"] == {"b": "c"}
    assert play.params[3]["uri"] == "a://b"
    assert play.params[1]["inputResponses"] == play.params[3]["inputResponses"]


async def test_no_other_request_carries_what_belongs_to_a_round() -> None:
    """MRTR-13, MRTR-16: a state that was not given is not sent, and an empty one is."""
    stateless, empty = asks(None, q=form()), asks("", q=form())
    with anyio.fail_after(20):
        async with playing(stateless, said("a"), said("b"), empty, said("c"), elicitation=echo) as play:
            for _ in range(3):
                await play.client.call_tool("t")

    found = [(params.get("requestState"), "inputResponses" in params) for params in play.params]
    assert found == [(None, False), (None, True), (None, False), (None, False), ("", True)]


async def test_all_questions_of_a_round_are_asked_at_once() -> None:
    """MRTR-12: with handlers of every kind, each of which waits for the others."""
    begun, everybody = Heard[str](), 4

    def together(kind: str, answer: Any) -> Any:
        async def handler(*_: Any) -> Any:
            begun(kind)
            await begun.wait(everybody)
            return answer

        return handler

    round = asks("s", a=form(), b=sample(), c=roots(), d=page())
    handlers = {
        "elicitation": together("form", {"value": "x"}),
        "elicitation_url": together("page", ElicitResult(action="accept", content={"dropped": 1})),
        "sampling": together("model", await model(CreateMessageRequestParams(messages=[], maxTokens=1))),
        "roots": together("roots", [Root(uri="file:///a")]),
    }
    with anyio.fail_after(20):
        async with playing(round, said("done"), **handlers) as play:
            assert text_of(await play.client.call_tool("t")) == "done"

    assert sorted(begun.values) == ["form", "model", "page", "roots"]
    assert list(play.params[1]["inputResponses"].items()) == [
        ("a", {"action": "accept", "content": {"value": "x"}}),
        ("b", {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"}),
        ("c", {"roots": [{"uri": "file:///a"}]}),
        ("d", {"action": "accept"}),
    ]


async def test_a_plain_handler_is_called_in_a_thread() -> None:
    threads: list[threading.Thread] = []

    def handler(form: Form) -> ElicitResult:
        threads.append(threading.current_thread())
        return form.accept(value=form.message)

    with anyio.fail_after(20):
        async with playing(asks(None, a=form("1"), b=form("2")), said("done"), elicitation=handler) as play:
            await play.client.call_tool("t")

    assert len(threads) == 2
    assert threading.main_thread() not in threads
    assert play.params[1]["inputResponses"]["b"]["content"] == {"value": "2"}


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_who_does_not_accept_is_answered_for_as_well(action: Any) -> None:
    """ELIC-16: without content."""

    def handler(params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action=action, content={"value": "x"})

    with anyio.fail_after(20):
        async with playing(asks(None, q=form()), said("so"), elicitation=handler) as play:
            await play.client.call_tool("t")

    assert play.params[1]["inputResponses"] == {"q": {"action": action}}


async def test_a_handler_may_make_requests_itself() -> None:
    """B011."""
    inner: list[str] = []

    async def handler(params: ElicitRequestParams) -> dict[str, Any]:
        inner.append(text_of(await play.client.call_tool("inner")))
        return {"value": "x"}

    with anyio.fail_after(20):
        async with playing(asks("s", q=form()), said("inner"), said("outer"), elicitation=handler) as play:
            assert text_of(await play.client.call_tool("outer")) == "outer"

    assert inner == ["inner"]
    assert [params.get("requestState") for params in play.params] == [None, None, "s"]


async def test_rounds_are_bounded() -> None:
    """MRTR-21: nobody is asked for a round that will not be sent."""
    asked = Heard[ElicitRequestParams]()

    async def handler(params: ElicitRequestParams) -> dict[str, Any]:
        asked(params)
        return {"value": "x"}

    for settings, rounds in (({}, 10), ({"max_rounds": 2}, 2), ({"max_rounds": 0}, 0)):
        asked.values.clear()
        with anyio.fail_after(20):
            async with playing(*[asks("s", q=form())] * (rounds + 1), elicitation=handler, **settings) as play:
                with pytest.raises(RemoteProtocolError, match=rf"more than {rounds} rounds .*max_rounds"):
                    await play.client.call_tool("t")
        assert len(asked.values) == rounds


def test_a_bound_is_a_count() -> None:
    with pytest.raises(ValueError, match="max_rounds is a count >= 0, not -1"):
        MCPClient.connect("http://127.0.0.1:1/mcp", max_rounds=-1)


@pytest.mark.parametrize(
    ("outcome", "named"),
    [
        (asks(None, a=form(), b=sample()), "'tools/call' asks for sampling/createMessage under 'b'"),
        (asks(None, a=form(), b=roots()), "roots/list under 'b'"),
        (asks(None, a=form(), b=page()), "under 'b'.*mode 'url'"),
        (asks(None, a=form(), b=form(value={"type": "object"})), "under 'b'.*Unsupported schema type"),
        (asks(None), "neither what .inputRequests. nor gives a requestState"),
        ({**asks(None), "inputRequests": {}}, "neither what"),
        ({**asks(None), "inputRequests": {"a": {"method": "tools/list"}}}, "tools/list"),
        ({**asks(None), "inputRequests": {"a": {"params": {}}}}, "method"),
        ({**asks(None), "inputRequests": ["a"]}, "inputRequests"),
        ({**asks(None, a=form()), "requestState": 7}, "requestState"),
        (asks(None, **{str(key): form() for key in range(101)}), "101 questions at once .*limit is 100"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
async def test_a_round_that_breaks_a_rule_is_refused_before_anybody_is_asked(outcome: Any, named: str) -> None:
    """MRTR-04, MRTR-05, MRTR-06: and nothing more is sent."""
    asked: list[Any] = []
    with anyio.fail_after(20):
        async with playing(outcome, said("on"), elicitation=asked.append) as play:
            with pytest.raises(RemoteProtocolError, match=named) as caught:
                await play.client.call_tool("t")
            assert len(str(caught.value)) < 400
            assert text_of(await play.client.call_tool("t")) == "on"

    assert asked == []
    assert "requestState" not in play.params[1]


async def test_tools_are_given_to_a_model_only_if_that_was_declared() -> None:
    """SAMP-02."""
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    question = asks(None, q=sample(tools=[tool], toolChoice={"mode": "auto"}))
    with anyio.fail_after(20):
        async with playing(question, sampling=model) as play:
            with pytest.raises(RemoteProtocolError, match="does not take tools"):
                await play.client.call_tool("t")
        async with playing(question, said("on"), sampling=model, sampling_tools=True) as play:
            assert text_of(await play.client.call_tool("t")) == "on"


async def test_a_method_that_has_no_rounds_cannot_ask() -> None:
    """MRTR-03."""
    with anyio.fail_after(20):
        async with playing(elicitation=echo) as play, anyio.create_task_group() as group:

            async def ask() -> None:
                while not any(each.get("method") == "tools/list" for each in play.notices):
                    await anyio.lowlevel.checkpoint()
                await play.raw.say({"id": play.notices[-1]["id"], "result": asks("s", q=form())})

            group.start_soon(ask)
            with pytest.raises(RemoteProtocolError, match="tools/list has no resultType 'input_required'"):
                await play.client.list_tools()


@pytest.mark.parametrize(
    ("returned", "error", "named"),
    [
        (ErrorData(-1, "User rejected sampling request"), McpError, "User rejected"),
        (McpError(-7, "mine"), McpError, "mine"),
        (ValueError("broken"), ValueError, "broken"),
        ({"value": 7}, McpError, "value"),
        (None, TypeError, "an elicitation handler returned None; legal: ElicitResult"),
    ],
    ids=str,
)
async def test_what_a_handler_gets_wrong_is_an_error_of_the_call(
    returned: Any, error: type[Exception], named: str
) -> None:
    """SAMP-13, ELIC-18: no retry is sent, the other questions are taken back, and no group of errors comes out."""
    over = anyio.Event()

    async def handler(params: ElicitRequestParams) -> Any:
        if params.message == "other":
            try:
                await anyio.sleep_forever()
            finally:
                over.set()
        if isinstance(returned, Exception):
            raise returned
        return returned

    with anyio.fail_after(20):
        async with playing(asks("s", a=form("other"), b=form()), said("on"), elicitation=handler) as play:
            with pytest.raises(error, match=named) as caught:
                await play.client.call_tool("t")
            assert over.is_set()
            assert any("the server's question 'b'" in note for note in caught.value.__notes__)
            assert text_of(await play.client.call_tool("t")) == "on"
    assert "requestState" not in play.params[1]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio has no cancellation that wanders
async def test_an_answer_whose_source_was_cancelled_is_an_error_and_no_silence() -> None:
    async def handler(params: ElicitRequestParams) -> dict[str, Any]:
        raise anyio.get_cancelled_exc_class()

    with anyio.fail_after(20):
        async with playing(asks("s", a=form()), elicitation=handler) as play:
            with pytest.raises(RuntimeError, match="cancelled"):
                await play.client.call_tool("t")


async def cancelled_after(play: Play, reached: anyio.Event) -> None:
    """Call a tool, and cancel that once `reached`."""
    async with anyio.create_task_group() as group:

        async def call() -> None:
            await play.client.call_tool("t")

        group.start_soon(call)
        await reached.wait()
        group.cancel_scope.cancel()


async def test_cancelling_while_the_user_is_asked_tells_only_the_handler() -> None:
    """No request is open then, so there is nothing to tell the server."""
    asked, over = anyio.Event(), anyio.Event()

    async def handler(params: ElicitRequestParams) -> dict[str, Any]:
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            over.set()
        return {}

    with anyio.fail_after(20):
        async with playing(asks("s", a=form()), said("on"), elicitation=handler) as play:
            await cancelled_after(play, asked)
            assert over.is_set()
            assert text_of(await play.client.call_tool("t")) == "on"
    assert play.notices == []


async def test_cancelling_a_retry_cancels_that_request() -> None:
    with anyio.fail_after(20):
        async with playing(asks("s", a=form()), None, said("on"), elicitation=echo) as play:
            async with anyio.create_task_group() as group:
                group.start_soon(play.client.call_tool, "t")
                await play.call(2)
                group.cancel_scope.cancel()
            assert text_of(await play.client.call_tool("t")) == "on"

    (notice,) = play.notices
    assert notice["method"] == "notifications/cancelled"
    assert notice["params"]["requestId"] == play.calls[1]["id"]


@pytest.mark.parametrize("who", ["client", "server"])
async def test_a_connection_that_ends_while_the_user_is_asked_ends_that(who: str) -> None:
    """B023: the call fails at once, and its handler is cancelled."""
    asked, over = anyio.Event(), anyio.Event()

    async def handler(params: ElicitRequestParams) -> dict[str, Any]:
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            over.set()
        return {}

    async def end(play: Play) -> None:
        await asked.wait()
        await (play.client.close() if who == "client" else play.raw.close())

    with anyio.fail_after(20):
        async with (
            playing(asks("s", a=form(), b=form()), elicitation=handler) as play,
            anyio.create_task_group() as group,
        ):
            group.start_soon(end, play)
            with pytest.raises(ConnectionLost, match="closed"):
                await play.client.call_tool("t")
            assert over.is_set()


async def test_progress_is_heard_in_every_round() -> None:
    """AMB-39: each request has a token of its own."""
    heard = Heard[ProgressNotificationParams]()
    with anyio.fail_after(20):
        async with playing(asks("s", a=form()), None, elicitation=echo) as play, anyio.create_task_group() as group:

            async def serve() -> None:
                call = await play.call(2)
                token = call["params"]["_meta"]["progressToken"]
                await play.raw.notify("notifications/progress", progressToken=token, progress=1)
                await play.raw.say({"id": call["id"], "result": said("done")})

            group.start_soon(serve)
            await play.client.call_tool("t", progress=heard)
            await heard.wait(1)

    tokens = [params["_meta"]["progressToken"] for params in play.params]
    assert tokens[0] != tokens[1]
    assert heard.values[0].progress == 1
