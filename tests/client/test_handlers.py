"""`Handlers`: what a client does for its servers, by handlers of every legal shape."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from msgspec import UNSET, Raw

from dedalus_mcp import Form, MCPClient, McpError, MCPServer, tool
from dedalus_mcp.client import answers
from dedalus_mcp.client.answers import Answers
from dedalus_mcp.client.delivery import Deliveries
from dedalus_mcp.client.handlers import Handlers
from dedalus_mcp.errors import ErrorData
from dedalus_mcp.jsonrpc.messages import Notice
from dedalus_mcp.types import ElicitRequestParams, ElicitResult, TextContent
from dedalus_mcp.types.methods import MESSAGE
from tests.interaction.raw import INFO, Scripted
from tests.interaction.raw import Raw as RawEnd

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForCheckers

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "default": 7}}}
server = MCPServer("asking")


@tool
async def ask() -> str:
    answer = await server.request_elicitation(ElicitRequestParams(message="n?", requestedSchema=SCHEMA))
    return f"{answer.action} {answer.content}"


@tool
async def ask_code() -> int:
    try:
        await server.request_elicitation(ElicitRequestParams(message="n?", requestedSchema=SCHEMA))
    except McpError as error:
        return error.code
    return 0


server.collect(ask, ask_code)


async def answered(handler: Any, name: str = "ask") -> str:
    with anyio.fail_after(20):
        async with MCPClient.connect(server, elicitation=handler, revision="2025-11-25") as client:
            (block,) = (await client.call_tool(name)).content
    assert isinstance(block, TextContent)
    return block.text


def with_extra(extra: int, form: Form) -> ElicitResult:
    return form.accept(n=extra)


async def by_keyword(form: Form, *, extra: int) -> ElicitResult:
    return form.accept(n=extra)


def checked(form: Form) -> OnlyForCheckers:
    return form.accept(n=1)  # type: ignore[return-value]


class Always:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __call__(self, params: ElicitRequestParams) -> Any:
        return self.answer


def takes_anything(*params: Any) -> dict[str, Any]:
    return {"n": 8}


def returns_awaitable(params: ElicitRequestParams) -> Awaitable[Mapping[str, Any]]:
    async def later() -> Mapping[str, Any]:
        return {"n": 4}

    return later()


@pytest.mark.parametrize(
    ("handler", "found"),
    [
        (partial(with_extra, 2), 2),
        (partial(by_keyword, extra=3), 3),
        (checked, 1),
        (returns_awaitable, 4),
        (Always({"n": 5}), 5),
        (Always(MappingProxyType({"n": 6})), 6),
        (Always({}), 7),
        (takes_anything, 8),
    ],
    ids=["partial", "partial-async", "unresolvable-return", "awaitable", "object", "mapping", "default", "star"],
)
async def test_every_callable_answers(handler: Any, found: int) -> None:
    """ELIC-15, ELIC-18: defaults are filled in."""
    assert await answered(handler) == f"accept {{'n': {found}}}"


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_content_goes_with_an_acceptance_alone(action: Any) -> None:
    """ELIC-16."""
    assert await answered(Always(ElicitResult(action=action, content={"n": 1}))) == f"{action} None"


@pytest.mark.parametrize(
    ("returned", "code"),
    [
        (ErrorData(-32042, "mine"), -32042),
        (None, -32603),
        ("yes", -32603),
        ({"n": "seven"}, -32602),
        (ElicitResult(action="accept", content={"n": 1.5}), -32602),
    ],
    ids=repr,
)
async def test_what_is_no_legal_answer_becomes_an_error(
    returned: Any, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    assert await answered(Always(returned), "ask_code") == str(code)


async def test_a_handlers_own_error_tells_the_server_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(params: ElicitRequestParams) -> dict[str, Any]:
        raise KeyError("secret")

    assert await answered(fail, "ask_code") == "-32603"
    assert "secret" in caplog.text


def test_a_client_declares_what_it_has_handlers_for() -> None:
    """ELIC-01, ELIC-02."""

    def declared(**handlers: Any) -> Any:
        return Answers(**handlers).capabilities.elicitation

    handler: Callable[[Any], Any] = dict
    assert declared() is None
    assert declared(sampling=handler) is None
    both = declared(elicitation=handler, elicitation_url=handler)
    assert both.form is not None
    assert both.url is not None
    assert declared(elicitation=handler).url is None
    assert declared(elicitation_url=handler).form is None


async def test_bad_and_unknown_notices_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "dedalus_mcp")
    heard: list[Any] = []
    handlers = Handlers(Deliveries(), callbacks={MESSAGE: heard.append})

    handlers.hear(Notice("notifications/message", Raw(b'{"level":"loud","data":1}')))
    handlers.hear(Notice("notifications/message", UNSET))
    handlers.hear(Notice("notifications/whatever", UNSET))
    Handlers(Deliveries()).hear(Notice("notifications/message", Raw(b'{"level":"info","data":1}')))
    handlers.hear(Notice("notifications/message", Raw(b'{"level":"info","data":1}')))
    await anyio.wait_all_tasks_blocked()

    assert [message.data for message in heard] == [1]
    assert caplog.text.count("dropped a bad notifications/message") == 2


async def test_threads_of_questions_taken_back_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that asks and cancels in turn gets no thread for each question."""
    monkeypatch.setattr(answers, "MAX_ASKED", 2)
    begun, let_go, over = threading.Semaphore(0), threading.Event(), anyio.Event()
    question = {"message": "n?", "requestedSchema": SCHEMA}

    def stuck(params: ElicitRequestParams) -> dict[str, Any]:
        begun.release()
        assert let_go.wait(10)
        return {"n": 1}

    async def script(raw: RawEnd) -> None:
        initialize = await raw.hear_method("initialize")
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": INFO}
        await raw.say({"id": initialize["id"], "result": result})
        for id in range(2):
            await raw.begin(id, "elicitation/create", question)
            assert await anyio.to_thread.run_sync(begun.acquire)
            await raw.notify("notifications/cancelled", requestId=id)
        for id in range(2, 50):
            await raw.begin(id, "elicitation/create", question)
            await raw.notify("notifications/cancelled", requestId=id)
        await raw.begin("wanted", "elicitation/create", question)
        assert "result" in await raw.call("ping", "ping")
        await anyio.wait_all_tasks_blocked()
        assert not begun.acquire(blocking=False)
        let_go.set()
        assert (await raw.reply("wanted"))["result"]["content"] == {"n": 1}
        over.set()

    async with anyio.create_task_group() as group:
        with anyio.fail_after(20):
            async with MCPClient.connect(Scripted(group, script), elicitation=stuck, revision="2025-11-25"):
                await over.wait()
