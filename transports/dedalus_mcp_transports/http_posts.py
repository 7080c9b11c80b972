"""What one connection of the HTTP client has under way: each request in a task of its own.

    tell(notice) ──▶ after all notices before it        post(reply) ──▶ at once
    start(run)   ──▶ whatever else there is to do       cancel() ends them all

A reply that gets lost would leave the other side waiting, and us with it: so it is sent until it arrives.

Layer: L5.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import anyio

from dedalus_mcp.errors import MCPConnectionError
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp_transports.http_outgoing import Outgoing

__all__ = ("Posts",)

logger = logging.getLogger("dedalus_mcp")

# Notices that wait for the ones before them.  Beyond that, the oldest is the one to miss.
MAX_NOTICES = 1024
# How long a notice may hold up those behind it.
NOTICE_SECONDS = 10.0
# Seconds before something is sent again; it doubles each time.
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0
# What a server says that may be different a moment later.
_PASSING = frozenset({None, 408, 425, 429, 500, 502, 503, 504})
# What does no more the second time; None stands for replies, of which each call takes one.
_REPEATABLE = frozenset(
    {
        None,
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/progress",
        "notifications/roots/list_changed",
    }
)


class Posts:
    """The tasks of one connection.

    Args:
        send: Sends what has no reply and returns once the server has taken it; raises what went wrong.
    """

    def __init__(self, send: Callable[[Outgoing], Awaitable[None]]) -> None:
        self._send = send
        self._tasks = Tasks()
        self._scopes: set[anyio.CancelScope] = set()
        self._under_way: set[anyio.CancelScope] = set()  # replies and notices
        self._notices: deque[Outgoing] = deque(maxlen=MAX_NOTICES)
        self._telling = False

    def start(
        self, run: Callable[[], Coroutine[Any, Any, None]], ended: Callable[[], object] = lambda: None
    ) -> anyio.CancelScope:
        """Run `run()` in a task of its own; return the scope that cancels it."""
        scope = anyio.CancelScope()
        self._scopes.add(scope)

        async def main() -> None:
            with scope:
                try:
                    await run()
                except Exception:
                    logger.exception("a task of the HTTP client failed")

        def over() -> None:
            self._scopes.discard(scope)
            ended()

        self._tasks.start(main, over, detached=True)
        return scope

    async def deliver(self, out: Outgoing, seconds: float = NOTICE_SECONDS) -> None:
        """Send a reply or notice within a time; whoever wanted it to arrive has nowhere to hear that it did not.

        It is sent again while that fails in a way that passes.  Where the other side may have it
        already, only if that does no harm.
        """
        why = "the server is too slow"
        pause = FIRST_PAUSE
        with anyio.move_on_after(seconds):
            while True:
                try:
                    await self._send(out)
                except Exception as error:  # noqa: BLE001 - told to the log, there is nobody else
                    why = str(error) or type(error).__name__
                    if not _may_repeat(out, error):
                        break
                else:
                    return
                await anyio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
        logger.warning("%s did not arrive: %s", out.method or "a reply", excerpt(why))

    def post(self, out: Outgoing) -> None:
        """Send a reply, beside all else."""
        self._send_off(partial(self.deliver, out))

    def tell(self, out: Outgoing) -> None:
        """Send a notice after all before it."""
        self._notices.append(out)
        if not self._telling:
            self._telling = True
            self._send_off(self._tell_all)

    def forget(self) -> None:
        """A new session begins: what is on its way to the last one would be taken for the new one's."""
        self._notices.clear()
        for scope in list(self._under_way):
            scope.cancel()

    def cancel(self) -> None:
        """Let every task end."""
        for scope in list(self._scopes):
            scope.cancel()

    async def wait(self) -> None:
        """Return when every task has ended."""
        await self._tasks.wait()

    def _send_off(self, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        scope = self.start(run, lambda: self._under_way.discard(scope))
        self._under_way.add(scope)

    async def _tell_all(self) -> None:
        try:
            while self._notices:
                await self.deliver(self._notices.popleft())
        finally:
            self._telling = False  # with nothing awaited since the last look: no notice is left behind


def _may_repeat(out: Outgoing, error: Exception) -> bool:
    if not isinstance(error, MCPConnectionError) or error.status_code not in _PASSING:
        return False
    unseen = error.status_code is None and not error.begun
    return unseen or out.method in _REPEATABLE
