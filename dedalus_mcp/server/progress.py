"""How far a call is, told no oftener than a person can read.

    set(1) ──▶ told at once
    set(2), set(3), set(4) ──▶ the newest waits for its turn, the others are never told
    leaving the block ──▶ what waits is told

Layer: L4.
"""

from __future__ import annotations

import logging
import math
from types import TracebackType
from typing import TYPE_CHECKING

import anyio

from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp.server.progress_telemetry import ProgressTelemetry, Telling
from dedalus_mcp.types import ProgressToken

if TYPE_CHECKING:
    from dedalus_mcp.server.context import Context

__all__ = ("EMIT_HZ", "ProgressTracker")

logger = logging.getLogger("dedalus_mcp")

EMIT_HZ = 8.0
"""Notices a second, at most: a bar that moves more often looks no smoother."""

END_SECONDS = 1.0
"""How long a cancelled task may take to end; it waits for nothing, so it takes one turn of the loop."""


class ProgressTracker:
    """The progress of one call, told to its client while the block is open: see `Context.progress`.

    It is used in the event loop, by the tasks of one handler.  Where the client did not ask for
    progress, it only counts.

    Args:
        context: The call.
        total: What the progress rises to; None if that is not known.
        emit_hz: How many notices a second there may be; 0 for no bound.
        telemetry: Who is told what becomes of it; None for nobody.

    Raises:
        ValueError: A number is not finite, or the rate is negative.
    """

    def __init__(
        self, context: Context, total: float | None, emit_hz: float, telemetry: ProgressTelemetry | None = None
    ) -> None:
        if not (math.isfinite(emit_hz) and emit_hz >= 0):
            raise ValueError(f"emit_hz is a number of notices a second, 0 or more, not {emit_hz!r}")
        self._context = context
        self._telling = None if telemetry is None else Telling(telemetry, context)
        self._interval = 1 / emit_hz if emit_hz else 0.0
        self._value: float = 0
        self._total = _finite("total", total)
        self._message: str | None = None
        self._changed = False  # since the last notice
        self._told_at = -math.inf
        self._tasks = Tasks()  # the one that tells what waits, while something does
        self._sending = anyio.Lock()
        self._closing = anyio.Event()
        self._scope = anyio.CancelScope()

    async def __aenter__(self) -> ProgressTracker:
        if self._telling is not None:
            self._telling.started(self._total)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        try:
            if error is None or isinstance(error, Exception):
                await self._tasks.wait()
                await self._tell()
        finally:
            self._scope.cancel()
            with anyio.move_on_after(END_SECONDS, shield=True):
                await self._tasks.wait()
            if self._telling is not None:
                self._telling.closed(self._value, self._total, error)

    @property
    def token(self) -> ProgressToken | None:
        """The token under which the client hears of it; None if it does not want to."""
        return self._context.progress_token

    @property
    def request_id(self) -> str:
        """The id of the request, as text."""
        return self._context.request_id

    @property
    def value(self) -> float:
        """How far it is."""
        return self._value

    async def advance(self, amount: float = 1, message: str | None = None) -> float:
        """Go on by `amount`, and return how far that is: see `set`."""
        return await self.set(self._value + amount, message=message)

    async def set(self, progress: float, *, message: str | None = None, total: float | None = None) -> float:
        """Say how far it is, and return that.

        Args:
            progress: No less than before; what is the same as before is not told again (PROG-03).
            message: For people; None to keep the last.
            total: What it rises to from now on; None to keep what was said.

        Raises:
            ValueError: `progress` falls, a number is not finite, or the message is no text.
        """
        if not (math.isfinite(progress) and progress >= self._value):
            raise ValueError(f"progress is a finite number that never falls: {progress!r} after {self._value!r}")
        if message is not None:
            message.encode()  # a lone surrogate has no place in JSON; its error is a ValueError
            self._message = message
        if total is not None:
            self._total = _finite("total", total)
        self._value = progress
        self._changed = True
        await self._tell_in_turn()
        return progress

    async def _tell_in_turn(self) -> None:
        if self._closing.is_set():  # the end tells it, or it is over
            return
        if anyio.current_time() >= self._told_at + self._interval:
            await self._tell()
            return
        if self._telling is not None:
            self._telling.throttled(self._value)
        if not len(self._tasks):
            self._tasks.start(self._tell_later)

    async def _tell_later(self) -> None:
        try:
            with self._scope:
                while self._changed:
                    with anyio.move_on_after(self._told_at + self._interval - anyio.current_time()):
                        await self._closing.wait()
                    await self._tell()
        except Exception:  # nothing may leave this task
            logger.exception("telling the progress failed")

    async def _tell(self) -> None:
        """Tell the newest value, behind what is on its way."""
        async with self._sending:
            if not self._changed:
                return
            self._changed = False
            if self._value > self._context.reported:  # others may report for this call, too
                self._told_at = anyio.current_time()
                await self._report(self._value, self._total, self._message)

    async def _report(self, progress: float, total: float | None, message: str | None) -> None:
        if self._telling is None:
            await self._context.report_progress(progress, total=total, message=message)
            return
        token = None if self._context.cancel_reason is not None else self._context.progress_token
        try:
            await self._context.report_progress(progress, total=total, message=message)
        except Exception as error:
            self._telling.failed(progress, error)
            raise
        if token is not None:
            self._telling.emitted(token, progress, total, message)


def _finite(name: str, number: float | None) -> float | None:
    if number is not None and not math.isfinite(number):
        raise ValueError(f"{name} is a finite number, not {number!r}")
    return number
