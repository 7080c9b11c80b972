"""Records of `logging` go to the client of the call they were made in: to nobody else, and to no harm."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPServer, get_context, tool
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Call
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.server import log_forwarding
from dedalus_mcp.server.context import current
from dedalus_mcp.server.log_forwarding import MAX_TEXT
from dedalus_mcp.session import Terms
from dedalus_mcp.types import ClientCapabilities
from tests.interaction.raw import Raw, serving
from tests.server.stalled import Stalled

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
LOUD = {"io.modelcontextprotocol/logLevel": "debug"}
revisions = pytest.mark.parametrize("revision", [LEGACY, MODERN])


@pytest.fixture
def app() -> Iterator[logging.Logger]:
    """A logger of the program's own; afterwards it is as it was."""
    logger = logging.getLogger("forwarded.app")
    logger.setLevel(1)
    yield logger
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)


async def heard(raw: Raw, revision: str, name: str, level: str = "debug") -> list[Any]:
    """What the client hears while the tool runs, before its reply."""
    if not raw.heard:
        await raw.open(revision)
    if revision == LEGACY:
        await raw.call("level", "logging/setLevel", level=level)
    since = len(raw.heard)
    await raw.call(1, "tools/call", name=name, _meta={"io.modelcontextprotocol/logLevel": level})
    *notices, reply = raw.heard[since:]
    assert reply["id"] == 1
    return [notice["params"] for notice in notices]


def offering(*functions: Any) -> MCPServer:
    server = MCPServer("test")
    server.collect(*functions)
    return server


@revisions
@pytest.mark.parametrize("in_thread", [False, True])
async def test_what_is_logged_in_a_call_goes_to_its_client_before_the_reply(
    app: logging.Logger, revision: str, in_thread: bool
) -> None:
    """LOG-04, LOG-05, LOG-07."""

    def log() -> None:
        for level in (5, 10, 20, 25, 30, 40, 50, 60):
            app.log(level, "at %d", level)

    @tool
    async def inside() -> None:
        log()

    server = offering(inside, tool("threaded")(log))
    server.forward_logs("forwarded.app")
    async with serving(server) as raw:
        found = await heard(raw, revision, "threaded" if in_thread else "inside")

    assert [each["level"] for each in found] == [
        "debug", "debug", "info", "notice", "warning", "error", "critical", "critical",
    ]  # fmt: skip
    assert found[0] == {"level": "debug", "logger": "forwarded.app", "data": {"msg": "at 5"}}


@revisions
async def test_the_client_and_the_server_have_thresholds(app: logging.Logger, revision: str) -> None:
    """LOG-02, LOG-04."""

    @tool
    async def log() -> None:
        app.info("info")
        app.warning("warning")
        app.error("error")

    server = offering(log)
    server.forward_logs("forwarded.app", level=logging.WARNING)
    async with serving(server) as raw:
        assert [each["level"] for each in await heard(raw, revision, "log")] == ["warning", "error"]
        assert [each["level"] for each in await heard(raw, revision, "log", "error")] == ["error"]


async def test_a_client_that_did_not_ask_hears_nothing(app: logging.Logger) -> None:
    """LOG-03."""

    @tool
    async def log() -> None:
        app.error("x")

    server = offering(log)
    server.forward_logs("forwarded.app")
    async with serving(server) as raw:
        await raw.open(MODERN)
        await raw.tool(1, "log")

        assert await raw.barrier() == []


async def test_every_call_hears_its_own_records(app: logging.Logger) -> None:
    """Child tasks and threads, too: the call is that of the context that they were started in."""

    @tool
    async def log(ctx: Context) -> None:
        async def child() -> None:
            await anyio.to_thread.run_sync(app.info, f"thread of {ctx.request_id}")
            app.info("child of %s", ctx.request_id)

        async with anyio.create_task_group() as group:
            group.start_soon(child)

    server = offering(log)
    server.forward_logs("forwarded.app")
    async with serving(server) as one, serving(server) as other:
        for raw in (one, other):
            await raw.open(MODERN)
        await one.begin("a", "tools/call", name="log", _meta=LOUD)
        await other.begin("b", "tools/call", name="log", _meta=LOUD)
        for raw, id in ((one, "a"), (other, "b")):
            await raw.reply(id)
            told = [message["params"]["data"]["msg"] for message in raw.heard if "params" in message]
            assert told == [f"thread of {id}", f"child of {id}"]


async def test_one_call_forwards_what_it_wants_and_the_others_do_not(app: logging.Logger) -> None:
    @tool
    async def open_block(ctx: Context) -> None:
        app.info("before")
        with ctx.forwarding_logs("forwarded.app"):
            app.info("inside")
            await anyio.to_thread.run_sync(app.info, "in a thread")
        app.info("after")

    @tool
    def threaded() -> None:
        with get_context().forwarding_logs("forwarded.app", level=logging.INFO):
            app.debug("debug")
            app.info("inside")

    @tool
    async def other() -> None:
        app.info("other")

    async with serving(offering(open_block, threaded, other)) as raw:
        found = [await heard(raw, MODERN, name) for name in ("open_block", "threaded", "other")]

    assert [[each["data"]["msg"] for each in told] for told in found] == [["inside", "in a thread"], ["inside"], []]
    assert app.handlers == []


async def test_two_calls_at_once_do_not_hear_each_other(app: logging.Logger) -> None:
    both = anyio.Event()
    running: list[str] = []

    @tool
    async def log(ctx: Context) -> None:
        with ctx.forwarding_logs("forwarded.app"):
            running.append(ctx.request_id)
            if len(running) == 2:
                both.set()
            await both.wait()
            app.info("from %s", ctx.request_id)

    async with serving(offering(log)) as one, serving(offering(log)) as other:
        for raw, id in ((one, "a"), (other, "b")):
            await raw.open(MODERN)
            await raw.begin(id, "tools/call", name="log", _meta=LOUD)
        for raw, id in ((one, "a"), (other, "b")):
            await raw.reply(id)
            told = [message["params"]["data"]["msg"] for message in raw.heard if "params" in message]
            assert told == [f"from {id}"]


async def test_a_servers_handler_is_for_its_own_calls(app: logging.Logger) -> None:
    @tool
    async def log() -> None:
        app.info("x")

    server, other = offering(log), offering(log)
    server.forward_logs("forwarded.app")
    other.forward_logs("forwarded.other")
    async with serving(other) as raw:
        assert await heard(raw, MODERN, "log") == []


def test_nothing_is_set_up_that_was_not_named(app: logging.Logger) -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers), app.level)

    handler = offering().forward_logs("forwarded.app")

    assert (root.level, root.handlers, app.level) == before
    assert app.handlers == [handler]
    with pytest.raises(ValueError, match="name the loggers"):
        offering().forward_logs()


def test_outside_of_a_call_nothing_is_forwarded(app: logging.Logger) -> None:
    offering().forward_logs("forwarded.app")

    app.error("nobody hears of this")


async def test_what_is_removed_forwards_no_more(app: logging.Logger) -> None:
    @tool
    async def log() -> None:
        app.info("x")

    server = offering(log)
    app.removeHandler(server.forward_logs("forwarded.app"))
    async with serving(server) as raw:
        assert await heard(raw, MODERN, "log") == []


async def test_our_own_records_are_not_forwarded() -> None:
    """Sending could cause more of them, without an end."""
    ours = [logging.getLogger("dedalus_mcp"), logging.getLogger("dedalus_mcp_transports.stdio")]

    @tool
    async def log() -> None:
        for logger in ours:
            logger.error("x")

    server = offering(log)
    handler = server.forward_logs("dedalus_mcp", "dedalus_mcp_transports")
    try:
        async with serving(server) as raw:
            assert await heard(raw, MODERN, "log") == []
    finally:
        for name in ("dedalus_mcp", "dedalus_mcp_transports"):
            logging.getLogger(name).removeHandler(handler)


async def test_of_an_exception_only_the_class_is_told(app: logging.Logger) -> None:
    """LOG-08."""

    @tool
    async def log() -> None:
        try:
            raise KeyError("secret")
        except KeyError:
            app.exception("it failed")
        app.info("none", exc_info=True)

    server = offering(log)
    server.forward_logs("forwarded.app")
    async with serving(server) as raw:
        found = await heard(raw, MODERN, "log")

    assert [each["data"] for each in found] == [{"msg": "it failed", "exception": "KeyError"}, {"msg": "none"}]


async def test_a_formatter_of_the_authors_says_what_is_sent(app: logging.Logger) -> None:
    @tool
    async def log() -> None:
        app.info("x")

    server = offering(log)
    server.forward_logs("forwarded.app").setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    async with serving(server) as raw:
        assert [each["data"] for each in await heard(raw, MODERN, "log")] == [{"msg": "INFO: x"}]


async def test_any_text_is_sent_and_long_ones_are_cut(app: logging.Logger) -> None:
    @tool
    async def log() -> None:
        app.info("\ud800 é \0")
        app.info("x" * (MAX_TEXT + 1))

    server = offering(log)
    server.forward_logs("forwarded.app")
    async with serving(server) as raw:
        found = [each["data"]["msg"] for each in await heard(raw, MODERN, "log")]

    assert found == ["\\ud800 é \0", "x" * MAX_TEXT]


async def test_a_record_that_has_no_text_harms_nobody(app: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    @tool
    async def log() -> str:
        app.info("%d", "no number")
        return "done"

    server = offering(log)
    server.forward_logs("forwarded.app")
    async with serving(server) as raw:
        assert await heard(raw, MODERN, "log") == []
    assert "Logging error" in capsys.readouterr().err


async def test_after_the_call_nothing_is_sent(app: logging.Logger) -> None:
    """PROG-06, LOG-05: a task that the handler left behind, and one that was cancelled."""
    late, over = anyio.Event(), anyio.Event()

    async with anyio.create_task_group() as left_behind:

        @tool
        async def leave() -> None:
            async def straggle(context: Context) -> None:
                current.set(context)
                await late.wait()
                app.error("too late")
                await anyio.to_thread.run_sync(app.error, "too late")
                over.set()

            left_behind.start_soon(straggle, get_context())

        server = offering(leave)
        server.forward_logs("forwarded.app")
        with anyio.fail_after(20):
            async with serving(server) as raw:
                assert await heard(raw, MODERN, "leave") == []
                late.set()
                await over.wait()
                assert await raw.barrier() == []


class Behind(Stalled):
    """A channel without a bound of its own, whose reader is slow: what is queued waits for `flush`."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False
        self.flushes = 0
        self._waiting = 0

    @property
    def unsent(self) -> bool:  # type: ignore[override]  # no attribute here, since it changes
        return self._waiting > 0

    def send(self, frame: bytes) -> None:
        super().send(frame)
        self._waiting += 1

    async def flush(self) -> None:
        self.flushes += 1
        await self.ready()
        self._waiting = 0


def call_on(channel: Stalled, server: MCPServer) -> Context:
    peer = Peer(server.answering(), channel, answers_malformed=True)
    call = Inbound(Call(1, "tools/call"), channel, None, peer)
    return Context(server, peer, call, Terms(LEGACY, None, ClientCapabilities(), "debug"), None)


async def test_what_there_is_no_room_for_is_dropped_and_counted(app: logging.Logger) -> None:
    server, channel = offering(), Stalled()
    handler = server.forward_logs("forwarded.app")
    current.set(call_on(channel, server))

    app.info("one")
    channel.let_go()
    app.info("two")

    assert handler.dropped == 1
    assert len(channel.sent) == 1


async def test_a_client_that_does_not_read_has_a_bound(app: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    """And when it reads again, it hears again; nobody waited for it."""
    monkeypatch.setattr(log_forwarding, "MAX_UNSENT", 3)
    server, channel = offering(), Behind()
    handler = server.forward_logs("forwarded.app")
    current.set(call_on(channel, server))

    for number in range(5):
        app.info("%d", number)
    await anyio.wait_all_tasks_blocked()
    assert (len(channel.sent), channel.flushes, handler.dropped) == (3, 1, 2)
    channel.let_go()
    for _ in range(3):  # until the task is not only over, but known to be
        await anyio.wait_all_tasks_blocked()
    app.info("again")
    await anyio.wait_all_tasks_blocked()

    assert (len(channel.sent), channel.flushes, handler.dropped) == (4, 2, 2)


async def test_what_comes_while_others_are_sent_is_sent_after_them(app: logging.Logger) -> None:
    server, ended = offering(), anyio.Event()
    server.forward_logs("forwarded.app")

    class Late(Behind):
        async def flush(self) -> None:
            await super().flush()
            if self.flushes == 1:
                current.set(context)  # a flush has no call of its own
                app.info("while it was sent")
            else:
                ended.set()

    late = Late()
    context = call_on(late, server)
    current.set(context)
    late.let_go()
    app.info("first")
    with anyio.fail_after(20):
        await ended.wait()

    assert len(late.sent) == 2


async def test_threads_that_are_faster_than_the_loop_have_a_bound(
    app: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_forwarding, "MAX_WAITING", 3)
    server, channel = offering(), Stalled()
    channel.let_go()
    handler = server.forward_logs("forwarded.app")
    context = call_on(channel, server)

    def log() -> None:
        current.set(context)
        for number in range(5):
            app.info("%d", number)

    thread = threading.Thread(target=log)
    thread.start()
    thread.join()  # the loop stands still meanwhile
    assert channel.sent == []
    await anyio.wait_all_tasks_blocked()

    assert (len(channel.sent), handler.dropped) == (3, 2)


def test_an_event_loop_that_is_over_is_not_waited_for(app: logging.Logger) -> None:
    server, channel = offering(), Stalled()
    channel.let_go()
    server.forward_logs("forwarded.app")
    contexts: list[Context] = []

    async def begin() -> None:
        contexts.append(call_on(channel, server))

    def log() -> None:
        current.set(contexts[0])
        app.info("x")

    asyncio.run(begin())
    thread = threading.Thread(target=log)
    thread.start()
    thread.join()

    assert channel.sent == []


async def test_many_threads_lose_nothing_while_there_is_room(app: logging.Logger) -> None:
    @tool
    async def log() -> None:
        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(anyio.to_thread.run_sync, many, number)

    def many(number: int) -> None:
        for each in range(20):
            app.info("%d of %d", each, number)

    server = offering(log)
    handler = server.forward_logs("forwarded.app")
    async with serving(server) as raw:
        found = [each["data"]["msg"] for each in await heard(raw, MODERN, "log")]

    assert sorted(found) == sorted(f"{each} of {number}" for each in range(20) for number in range(8))
    assert handler.dropped == 0
