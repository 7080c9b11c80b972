"""Code that cannot be cancelled is told instead: a blocking call in a thread, a device, another program.

    with ctx.on_cancel(connection.interrupt):
        rows = connection.execute(query)

Coroutines need none of it: theirs is an ordinary cancellation, and `finally` the place to clean up.

Layer: L4.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.schema.signature import is_async

__all__ = ("CancellableCall", "Cancelling")

logger = logging.getLogger("dedalus_mcp")


class CancellableCall(Protocol):
    """The call that may be cancelled: see `Context`."""

    @property
    def runs_for(self) -> Inbound:
        """The request whose cancellation ends the handler."""
        ...


class Cancelling:
    """The part of `Context` that knows of the call's cancellation."""

    __slots__ = ()

    @property
    def cancel_reason(self: CancellableCall) -> str | None:
        """Why nobody wants the result any more; None as long as somebody does.  Worker threads may look, too."""
        return self.runs_for.cancelled

    def on_cancel(self: CancellableCall, callback: Callable[[], object]) -> AbstractContextManager[None]:
        """Tell code that cannot be cancelled, as in a worker thread: ``with ctx.on_cancel(connection.interrupt): ...``.

        Args:
            callback: Called once, in the event loop, if the call is cancelled while the block is
                open; at once, if it is already.  A plain function that does not block.

        Raises:
            TypeError: It is none.
        """
        if not callable(callback) or is_async(callback):
            raise TypeError(f"on_cancel takes a plain function, which it calls at once, not {callback!r:.80}")
        return _telling(self.runs_for, callback)


@contextmanager
def _telling(call: Inbound, callback: Callable[[], object]) -> Generator[None]:
    once = _Once(callback)
    call.on_cancel(once)
    if call.cancelled is not None:
        once()
    try:
        yield
    finally:
        call.forget(once)
        once.stop()


class _Once:
    """A callback that runs once at most, and not after `stop`: event loop and worker thread may both try."""

    def __init__(self, callback: Callable[[], object]) -> None:
        self._callback: Callable[[], object] | None = callback
        self._lock = threading.RLock()

    def __call__(self) -> None:
        with self._lock:
            callback, self._callback = self._callback, None
            if callback is None:
                return
            try:
                callback()
            except BaseException as error:  # `SystemExit` too: whoever cancels, as the read loop, is not its business
                if isinstance(error, KeyboardInterrupt):
                    raise
                logger.exception("what was to be told of a cancellation failed")

    def stop(self) -> None:
        """Return when it does not run, and never will."""
        with self._lock:
            self._callback = None
