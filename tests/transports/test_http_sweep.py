"""Sessions end by themselves when nobody uses them."""

from __future__ import annotations

import gc

import anyio
import pytest

from dedalus_mcp_transports.http_session import Sessions
from dedalus_mcp_transports.http_sweep import Sweep
from tests.interaction.server import make
from tests.transports.asgi import serving


async def test_what_expires_is_ended_though_nobody_asks() -> None:
    """B068."""
    sessions = Sessions[str](max_sessions=10, idle_seconds=0.01)
    ended: list[str] = []
    sweep = Sweep(sessions, ended.append)
    for value in "ab":
        sessions.add(value, None, anyio.current_time())
        sweep.start()
    with anyio.fail_after(20):
        await sweep.idle()

    assert (ended, len(sessions)) == (["a", "b"], 0)


async def test_a_sweep_begins_again_with_new_sessions() -> None:
    sessions = Sessions[str](max_sessions=10, idle_seconds=0.01)
    ended: list[str] = []
    sweep = Sweep(sessions, ended.append)
    for value in "ab":
        sessions.add(value, None, anyio.current_time())
        sweep.start()
        with anyio.fail_after(20):
            await sweep.idle()

    assert ended == ["a", "b"]


async def test_a_session_that_is_held_is_left_alone_until_it_is_not() -> None:
    sessions = Sessions[str](max_sessions=10, idle_seconds=0.01)
    gone: list[str] = []
    over = anyio.Event()

    def end(value: str) -> None:
        gone.append(value)
        over.set()

    sweep = Sweep(sessions, end)
    held = sessions.add("held", None, anyio.current_time())
    sessions.hold(held)
    sessions.add("idle", None, anyio.current_time())
    sweep.start()
    with anyio.fail_after(20):
        await over.wait()
        assert gone == ["idle"]
        sessions.release(held, anyio.current_time())
        await sweep.idle()

    assert gone == ["idle", "held"]


async def test_a_sweep_that_is_stopped_waits_for_nothing() -> None:
    sessions = Sessions[str](max_sessions=10, idle_seconds=1e6)
    sweep = Sweep(sessions, lambda value: None)
    sessions.add("a", None, anyio.current_time())
    sweep.start()
    sweep.stop()
    sweep.stop()
    sweep.start()
    sweep.stop()
    with anyio.fail_after(20):
        await sweep.idle()


async def test_the_sessions_of_clients_that_never_come_back_are_freed_in_time() -> None:
    """B068: with no further request."""
    async with serving(make(), session_idle_seconds=0.01) as web:
        for _ in range(5):
            await web.client().initialize("2025-11-25")
        legacy = web.app._service()._legacy
        with anyio.fail_after(20):
            await legacy._sweep.idle()

        assert len(legacy._sessions) == 0
        assert len(web.app._application._server.listeners) == 0


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_ten_thousand_sessions_that_were_dropped_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """B068: objects, not megabytes."""
    async with serving(make(), session_idle_seconds=1e6) as web:
        client = web.client()
        await client.initialize("2025-11-25")
        legacy = web.app._service()._legacy
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(9_999):
            await client.initialize("2025-11-25")
        late = anyio.current_time() + 2e6  # uvloop tells the time in whole milliseconds
        monkeypatch.setattr(anyio, "current_time", lambda: late)
        assert len(legacy._sessions) == 10_000
        legacy._sweep.now()
        gc.collect()

        assert len(legacy._sessions) == 0
        assert len(gc.get_objects()) - before < 500
