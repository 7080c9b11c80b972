"""`Function`: an author's function, its parameters filled in, run where it belongs."""

from __future__ import annotations

import functools
import threading
from typing import Any

import anyio.lowlevel
import pytest

from dedalus_mcp import Context
from dedalus_mcp.server.functions import Function
from dedalus_mcp.threads import Threads


async def test_a_plain_function_runs_in_a_thread_unless_told_otherwise() -> None:
    def where(a: int) -> tuple[int, threading.Thread]:
        return a, threading.current_thread()

    main = threading.current_thread()
    for inline in (True, False):
        number, thread = await Function(where, inline=inline).run({"a": 1}, Threads(1))
        assert number == 1
        assert (thread is main) is inline


async def test_what_is_awaitable_is_awaited() -> None:
    async def later(a: int) -> int:
        await anyio.lowlevel.checkpoint()
        return a + 1

    class Later:
        def __call__(self, a: int) -> Any:
            return later(a)

    functions: list[Any] = [later, functools.partial(later), Later()]
    for fn in functions:
        assert await Function(fn, inline=False).run({"a": 1}, Threads(1)) == 2


async def test_a_context_that_must_be_there_is_missed() -> None:
    def wants(ctx: Context) -> None: ...

    def would(ctx: Context | None) -> Any:
        return ctx

    with pytest.raises(LookupError):
        await Function(wants, inline=True).run({}, Threads(1))
    assert await Function(would, inline=True).run({}, Threads(1)) is None
    assert Function(wants, inline=True).arguments.schema["properties"] == {}
