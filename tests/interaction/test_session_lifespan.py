"""`session_lifespan`: what a server sets up for each client, on every transport and in every era."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from dedalus_mcp import CallNext, Context, Incoming, McpError, MCPServer, Session, get_context, prompt, resource, tool
from dedalus_mcp.server import session_lifespan
from dedalus_mcp.types.revisions import LEGACY
from tests.interaction.raw import serving
from tests.interaction.reach import PATIENCE
from tests.interaction.test_rounds import ABLE, answering, ask, text
from tests.transports import asgi

MODERN = "2026-07-28"


@tool
async def which() -> str:
    return str(get_context().session_lifespan)


@tool
async def twice() -> str:
    before = get_context().session_lifespan
    await ask("a")
    return f"{before} {get_context().session_lifespan}"


def offering(*functions: Callable[..., Any], **settings: Any) -> MCPServer:
    server = MCPServer("test", **settings)
    server.collect(*(functions or (which, twice)))
    return server


class Lives:
    """A session lifespan that counts, and writes down what happens."""

    def __init__(self, **faults: BaseException) -> None:
        self.said: list[str] = []
        self.sessions: list[Session] = []
        self.count = 0
        self._faults = faults

    def __call__(self, session: Session) -> Any:
        self.count += 1
        self.sessions.append(session)
        return self._live(self.count)

    @asynccontextmanager
    async def _live(self, number: int) -> AsyncGenerator[int]:
        self.said.append(f"{number} in")
        await checkpoint()
        if "into" in self._faults:
            raise self._faults.pop("into")
        try:
            yield number
        finally:
            await checkpoint()
            self.said.append(f"{number} out")
            if "out" in self._faults:
                raise self._faults.pop("out")


@pytest.mark.parametrize("revision", LEGACY)
async def test_it_is_entered_with_the_first_handler_of_a_session_and_left_at_its_end(revision: str) -> None:
    lives = Lives()
    with anyio.fail_after(PATIENCE):
        async with serving(offering(session_lifespan=lives)) as raw:
            await raw.open(revision)
            await raw.call(1, "tools/list")
            await raw.call(2, "ping")
            assert lives.said == []
            assert [text(await raw.tool(id, "which")) for id in (3, 4)] == ["1", "1"]
            assert lives.said == ["1 in"]

    assert lives.said == ["1 in", "1 out"]
    (session,) = lives.sessions
    assert session.revision == revision
    assert session.client_info is not None
    assert session.client_info.name == "raw"


async def test_on_the_modern_revision_it_is_the_calls_own() -> None:
    lives = Lives()
    with anyio.fail_after(PATIENCE):
        async with serving(offering(session_lifespan=lives)) as raw:
            await raw.open(MODERN)
            assert [text(await raw.tool(id, "which")) for id in (1, 2)] == ["1", "2"]

    assert lives.said == ["1 in", "1 out", "2 in", "2 out"]
    assert [session.revision for session in lives.sessions] == [MODERN, MODERN]
    assert not lives.sessions[0].reachable


async def test_a_call_that_asks_in_rounds_keeps_its_own() -> None:
    lives = Lives()
    with anyio.fail_after(PATIENCE):
        async with serving(offering(session_lifespan=lives)) as raw:
            await raw.open(MODERN, ABLE)
            first = await raw.tool(1, "twice")
            assert lives.said == ["1 in"]
            last = await raw.call(2, "tools/call", name="twice", arguments={}, **answering(first, a=1))

    assert text(last) == "1 1"
    assert lives.said == ["1 in", "1 out"]


async def test_a_parked_call_that_ends_with_its_connection_leaves_it() -> None:
    lives = Lives()
    with anyio.fail_after(PATIENCE):
        async with serving(offering(session_lifespan=lives)) as raw:
            await raw.open(MODERN, ABLE)
            await raw.tool(1, "twice")

    assert lives.said == ["1 in", "1 out"]


async def test_both_eras_on_one_connection_have_what_is_theirs() -> None:
    lives = Lives()
    async with serving(offering(session_lifespan=lives)) as raw:
        await raw.open("2025-11-25")
        assert text(await raw.tool(1, "which")) == "1"
        await raw.open(MODERN)
        assert text(await raw.tool(2, "which")) == "2"
        assert lives.said == ["1 in", "2 in", "2 out"]

    assert lives.said[3:] == ["1 out"]


async def test_over_http_there_is_one_for_each_session_however_many_requests_it_takes() -> None:
    """B071."""
    lives, life = Lives(), list[str]()

    @asynccontextmanager
    async def whole(server: MCPServer) -> AsyncGenerator[None]:
        life.append("in")
        yield
        life.append(f"out after {lives.said.count('1 out') + lives.said.count('5 out')}")

    async with asgi.serving(offering(lifespan=whole, session_lifespan=lives)) as web:
        for number in range(1, 6):
            client = await web.open("2025-11-25")
            assert {await client.use(id, "which") for id in range(5)} == {str(number)}
            assert lives.sessions[-1].id == client.session
            if number in (2, 3, 4):
                assert (await client.send("DELETE").ended()).status == 204
        await wait_all_tasks_blocked()
        assert [said for said in lives.said if said.endswith("out")] == ["2 out", "3 out", "4 out"]

    assert lives.count == 5
    assert sorted(lives.said) == sorted(f"{n} {way}" for n in range(1, 6) for way in ("in", "out"))
    assert life == ["in", "out after 2"]


async def test_a_server_that_keeps_no_sessions_enters_it_for_each_call() -> None:
    lives = Lives()
    async with asgi.serving(offering(session_lifespan=lives), stateless=True, state_keys=[b"k" * 32]) as web:
        client = await web.open("2025-11-25")
        assert [await client.use(id, "which") for id in range(3)] == ["1", "2", "3"]

    assert lives.said == ["1 in", "1 out", "2 in", "2 out", "3 in", "3 out"]


async def test_all_kinds_of_handlers_see_it_and_lists_do_not_enter_it() -> None:
    seen: list[Any] = []

    def look() -> str:
        seen.append(get_context().session_lifespan)
        return "x"

    @prompt("p")
    def render(arguments: Any) -> list[tuple[str, str]]:
        return [("user", look())]

    @resource("a://b")
    def page() -> str:
        return look()

    @tool("t")
    def thread() -> str:
        return look()

    def enabled() -> bool:
        return bool(look())

    @tool("u", enabled=enabled)
    async def other() -> None: ...

    lives = Lives()
    async with serving(offering(render, page, thread, other, session_lifespan=lives)) as raw:
        await raw.open("2025-11-25")
        await raw.call(0, "prompts/list")
        assert lives.count == 0
        await raw.call(1, "prompts/get", name="p")
        await raw.call(2, "resources/read", uri="a://b")
        await raw.tool(3, "t")
        await raw.call(4, "tools/list")

    assert seen == [1, 1, 1, 1]


async def test_middleware_sees_it_too() -> None:
    seen: list[Any] = []

    async def look(incoming: Incoming, call_next: CallNext) -> Any:
        if not incoming.notice:
            seen.append((incoming.method, incoming.context.session_lifespan))
        return await call_next()

    async with serving(offering(middleware=[look], session_lifespan=Lives())) as raw:
        await raw.open("2025-11-25")
        await raw.call(1, "tools/list")
        await raw.tool(2, "which")
        await raw.call(3, "tools/list")

    assert seen == [("initialize", None), ("tools/list", None), ("tools/call", 1), ("tools/list", 1)]


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_what_it_raises_on_the_way_in_fails_that_call_and_the_next_tries_again(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    lives = Lives(into=KeyError("no database"))
    async with serving(offering(session_lifespan=lives)) as raw:
        await raw.open(revision)
        assert (await raw.tool(1, "which"))["error"] == {"code": -32603, "message": "Internal error"}
        assert text(await raw.tool(2, "which")) == "2"

    assert "no database" in caplog.text


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_a_protocol_error_on_the_way_in_is_told_as_it_is(revision: str) -> None:
    async with serving(offering(session_lifespan=Lives(into=McpError(-32001, "unknown tenant")))) as raw:
        await raw.open(revision)
        assert (await raw.tool(1, "which"))["error"] == {"code": -32001, "message": "unknown tenant"}


@pytest.mark.parametrize("error", [GeneratorExit(), SystemExit(3)], ids=repr)
async def test_whatever_it_raises_no_handler_runs_without_it(error: BaseException) -> None:
    async with serving(offering(session_lifespan=Lives(into=error))) as raw:
        await raw.open("2025-11-25")
        assert (await raw.tool(1, "which"))["error"]["code"] == -32603
        assert text(await raw.tool(2, "which")) == "2"


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_what_it_raises_on_the_way_out_is_logged_and_costs_nobody_a_result(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(offering(session_lifespan=Lives(out=KeyError("cannot close")))) as raw:
        await raw.open(revision)
        assert text(await raw.tool(1, "which")) == "1"

    assert "leaving the lifespan of a session failed" in caplog.text
    assert "cannot close" in caplog.text


async def test_it_may_hold_a_task_group_that_is_used_by_many_calls() -> None:
    told: list[str] = []

    @asynccontextmanager
    async def live(session: Session) -> AsyncGenerator[Any]:
        async with anyio.create_task_group() as group:
            yield group
            group.cancel_scope.cancel()

    async def work(id: str) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            told.append(id)

    @tool
    async def start(ctx: Context[Any, Any]) -> None:
        ctx.session_lifespan.start_soon(work, ctx.request_id)

    with anyio.fail_after(PATIENCE):
        async with serving(offering(start, session_lifespan=live)) as raw:
            await raw.open("2025-11-25")
            for id in (1, 2):
                await raw.tool(id, "start")
            await wait_all_tasks_blocked()
            assert told == []

    assert sorted(told) == ["1", "2"]


async def test_where_it_breaks_the_calls_that_use_it_fail_and_the_next_enters_it_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = [anyio.Event(), anyio.Event()]
    entered: list[int] = []

    async def fail_at(signal: anyio.Event) -> None:
        await signal.wait()
        raise KeyError("lost the database")

    @asynccontextmanager
    async def live(session: Session) -> AsyncGenerator[int]:
        async with anyio.create_task_group() as group:
            group.start_soon(fail_at, broken[len(entered)])
            entered.append(1)
            yield len(entered)
            group.cancel_scope.cancel()

    @tool
    async def stay() -> None:
        broken[0].set()
        await anyio.sleep_forever()

    with anyio.fail_after(PATIENCE):
        async with serving(offering(stay, which, session_lifespan=live)) as raw:
            await raw.open("2025-11-25")
            assert (await raw.tool(1, "stay"))["error"] == {"code": -32603, "message": "Internal error"}
            assert text(await raw.tool(2, "which")) == "2"

    assert "the lifespan of a session broke while it was used" in caplog.text


async def test_a_call_that_is_cancelled_on_the_way_in_leaves_the_others_theirs() -> None:
    may_enter = anyio.Event()
    entered: list[str] = []

    @asynccontextmanager
    async def live(session: Session) -> AsyncGenerator[int]:
        entered.append("in")
        await may_enter.wait()
        yield 7

    with anyio.fail_after(PATIENCE):
        async with serving(offering(session_lifespan=live)) as raw:
            await raw.open("2025-11-25")
            await raw.begin(1, "tools/call", name="which", arguments={})
            await raw.begin(2, "tools/call", name="which", arguments={})
            await raw.barrier()
            await raw.notify("notifications/cancelled", requestId=1)
            await raw.barrier()
            may_enter.set()
            assert text(await raw.reply(2)) == "7"

    assert entered == ["in"]


async def test_a_session_that_ends_meanwhile_stops_entering() -> None:
    ended = anyio.Event()

    @asynccontextmanager
    async def live(session: Session) -> AsyncGenerator[None]:
        try:
            await anyio.sleep_forever()
            yield
        finally:
            ended.set()

    with anyio.fail_after(PATIENCE):
        async with serving(offering(session_lifespan=live)) as raw:
            await raw.open("2025-11-25")
            await raw.begin(1, "tools/call", name="which", arguments={})
            await raw.barrier()
        await ended.wait()


async def test_one_that_never_ends_is_cancelled_after_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(session_lifespan, "LEAVING_SECONDS", 0.01)
    ended = anyio.Event()

    @asynccontextmanager
    async def live(session: Session) -> AsyncGenerator[None]:
        yield
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    with anyio.fail_after(PATIENCE):
        async with serving(offering(session_lifespan=live)) as raw:
            await raw.open("2025-11-25")
            await raw.tool(1, "which")
        await ended.wait()

    assert "takes more than 0.01 s: cancelled" in caplog.text


async def test_many_that_never_end_are_waited_for_together(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Else the end of a server would take as many times five seconds as it has clients."""
    monkeypatch.setattr(session_lifespan, "LEAVING_SECONDS", 0.01)

    @asynccontextmanager
    async def live(session: Session) -> AsyncGenerator[None]:
        yield
        await anyio.sleep_forever()

    nobody: Any = None
    all_of_them = session_lifespan.SessionLifespan(live)
    lives = [all_of_them.begin(nobody) for _ in range(3)]
    with anyio.fail_after(PATIENCE):
        for life in lives:
            async with life.use():
                life.end()
        await all_of_them.left()
        for life in lives:
            assert life.entered is not None
            await life.entered.over.wait()

    assert caplog.text.count("takes more than 0.01 s: cancelled, for 3 of them") == 1


async def test_it_is_left_when_no_handler_uses_it_any_more() -> None:
    order: list[str] = []

    @asynccontextmanager
    async def live(session: Session) -> AsyncGenerator[str]:
        yield "open"
        order.append("closed")

    inside = anyio.Event()

    @tool
    async def stay() -> None:
        inside.set()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await wait_all_tasks_blocked()
                order.append("used")

    with anyio.fail_after(PATIENCE):
        async with serving(offering(stay, session_lifespan=live)) as raw:
            await raw.open("2025-11-25")
            await raw.begin(1, "tools/call", name="stay", arguments={})
            await inside.wait()

    assert order == ["used", "closed"]


def test_it_is_a_function() -> None:
    with pytest.raises(TypeError, match="session_lifespan is a function that makes an async context manager"):
        MCPServer("test", session_lifespan=7)  # type: ignore[arg-type]


async def test_a_forgotten_decorator_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def live(session: Session) -> AsyncGenerator[None]:
        yield

    async with serving(offering(session_lifespan=live)) as raw:
        await raw.open("2025-11-25")
        assert (await raw.tool(1, "which"))["error"]["code"] == -32603

    assert "the lifespan of a session is no async context manager but async_generator" in caplog.text
    assert "contextlib.asynccontextmanager" in caplog.text
