"""What becomes of a call's progress, for those who measure: ``ctx.progress(9, telemetry=ProgressTelemetry(...))``.

    on_start ──▶ on_emit | on_throttle | on_error, as often as there is something ──▶ on_close

Hooks are plain functions, called in the event loop: they must not block.  What they do wrong is
logged, and changes nothing.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from dedalus_mcp.schema.signature import is_async
from dedalus_mcp.types import ProgressToken

if TYPE_CHECKING:
    from dedalus_mcp.server.context import Context

__all__ = (
    "ProgressClosed",
    "ProgressEmitted",
    "ProgressFailed",
    "ProgressStarted",
    "ProgressTelemetry",
    "ProgressThrottled",
    "Telling",
)

E = TypeVar("E")

logger = logging.getLogger("dedalus_mcp")


class ProgressStarted(msgspec.Struct, frozen=True):
    """A block was entered.

    Attributes:
        request_id: The id of the call, as text.
        token: Under which its client hears of it; None if it does not.
        total: What the progress rises to; None if that is not known.
    """

    request_id: str
    token: ProgressToken | None
    total: float | None


class ProgressEmitted(msgspec.Struct, frozen=True):
    """A notice was sent.

    Attributes:
        request_id: The id of the call, as text.
        token: Under which its client hears of it.
        progress: As sent.
        total: As sent.
        message: As sent.
    """

    request_id: str
    token: ProgressToken
    progress: float
    total: float | None
    message: str | None


class ProgressThrottled(msgspec.Struct, frozen=True):
    """A change waits for its turn; if there is another until then, it is never told.

    Attributes:
        request_id: The id of the call, as text.
        progress: What it waits with.
    """

    request_id: str
    progress: float


class ProgressFailed(msgspec.Struct, frozen=True):
    """A notice could not be sent.

    Attributes:
        request_id: The id of the call, as text.
        progress: What it was about.
        error: Why.
    """

    request_id: str
    progress: float
    error: Exception


class ProgressClosed(msgspec.Struct, frozen=True):
    """The block is over.

    Attributes:
        request_id: The id of the call, as text.
        progress: How far it came.
        total: What that would have risen to.
        emitted: How many notices were sent.
        throttled: How many changes had to wait.
        error: What ended it, if it did not end by itself.
    """

    request_id: str
    progress: float
    total: float | None
    emitted: int
    throttled: int
    error: BaseException | None


class ProgressTelemetry(msgspec.Struct, frozen=True, kw_only=True):
    """Who is told what becomes of progress.

    Attributes:
        on_start: Of a block that was entered.
        on_emit: Of each notice that was sent.
        on_throttle: Of each change that waits for its turn.
        on_error: Of a notice that could not be sent.
        on_close: Of the end.

    Raises:
        TypeError: One of them is no plain function.
    """

    on_start: Callable[[ProgressStarted], None] | None = None
    on_emit: Callable[[ProgressEmitted], None] | None = None
    on_throttle: Callable[[ProgressThrottled], None] | None = None
    on_error: Callable[[ProgressFailed], None] | None = None
    on_close: Callable[[ProgressClosed], None] | None = None

    def __post_init__(self) -> None:
        for each in msgspec.structs.fields(self):
            hook: object = getattr(self, each.name)
            if hook is not None and (not callable(hook) or is_async(hook)):
                raise TypeError(f"{each.name} is a plain function, which is called at once, not {hook!r:.80}")


class Telling:
    """Tells of one block.

    Args:
        telemetry: Who is told.
        context: The call.
    """

    __slots__ = ("_context", "_emitted", "_telemetry", "_throttled")

    def __init__(self, telemetry: ProgressTelemetry, context: Context) -> None:
        self._telemetry = telemetry
        self._context = context
        self._emitted = 0
        self._throttled = 0

    def started(self, total: float | None) -> None:
        """It was entered."""
        context = self._context
        _tell(self._telemetry.on_start, ProgressStarted(context.request_id, context.progress_token, total))

    def emitted(self, token: ProgressToken, progress: float, total: float | None, message: str | None) -> None:
        """A notice was sent."""
        self._emitted += 1
        event = ProgressEmitted(self._context.request_id, token, progress, total, message)
        _tell(self._telemetry.on_emit, event)

    def throttled(self, progress: float) -> None:
        """A change has to wait."""
        self._throttled += 1
        _tell(self._telemetry.on_throttle, ProgressThrottled(self._context.request_id, progress))

    def failed(self, progress: float, error: Exception) -> None:
        """A notice could not be sent."""
        _tell(self._telemetry.on_error, ProgressFailed(self._context.request_id, progress, error))

    def closed(self, progress: float, total: float | None, error: BaseException | None) -> None:
        """It is over."""
        event = ProgressClosed(self._context.request_id, progress, total, self._emitted, self._throttled, error)
        _tell(self._telemetry.on_close, event)


def _tell(hook: Callable[[E], None] | None, event: E) -> None:
    if hook is None:
        return
    try:
        hook(event)
    except BaseException as fault:  # somebody else's fault, and no reason to fail the call
        if isinstance(fault, KeyboardInterrupt):
            raise
        logger.exception("progress telemetry failed")
