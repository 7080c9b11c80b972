"""The bodies of requests, bounded in size and in time.

A client that sends a byte now and then would hold its connection for ever.  One task looks after
all of them, as long as any come, so that a body which is there at once costs a dict entry.

Layer: L5.
"""

from __future__ import annotations

from functools import partial

import anyio

from dedalus_mcp.errors import INVALID_REQUEST
from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp_transports.http_refusals import refuse, refuse_while_draining
from dedalus_mcp_transports.http_request import GONE, BodyTooLarge, Disconnected, HttpRequest, Receive, Send, respond

__all__ = ("Bodies",)

# How exact the time is; the watcher goes when none came for as long.
TICK_SECONDS = 1.0
CLOSE = (b"connection", b"close")  # what is left of the body is not worth reading


class Bodies:
    """Reads the bodies of requests.

    Args:
        limit: Bytes in one, at most.
        seconds: How long the client may take for it, at least; two ticks more at most.
    """

    def __init__(self, limit: int, seconds: float) -> None:
        self._limit = limit
        self._seconds = seconds
        self._awaited: dict[Send, int] = {}  # and the tick at which it began
        self._came = False  # one, since the last tick
        self._ticks = 0
        self._tick_seconds = min(TICK_SECONDS, seconds)
        self._patience = seconds / self._tick_seconds  # in ticks
        self._tasks = Tasks()
        self._watching: anyio.CancelScope | None = None

    async def read(self, request: HttpRequest, receive: Receive, send: Send) -> bytes | None:
        """Return the body of a request; None where it was refused, or where the client has left."""
        declared = request.fields.joined(b"content-length")
        if declared is not None and declared.isdigit() and (len(declared) > 18 or int(declared) > self._limit):
            await self._too_large(send)
            return None
        self._awaited[send] = self._ticks
        self._came = True
        if self._watching is None:
            self._watching = anyio.CancelScope()
            self._tasks.start(partial(self._watch, self._watching), detached=True)
        try:
            body = await request.body(receive, self._limit)
        except Disconnected:
            if send in self._awaited:  # middlewares complain of a request without a response
                await respond(send, GONE)
            return None
        except BodyTooLarge:
            if send in self._awaited:
                await self._too_large(send)
            return None
        else:
            return body if send in self._awaited else None
        finally:
            self._awaited.pop(send, None)

    def stop(self) -> None:
        """Read no body to its end any more: whoever has not sent it is told that the server ends."""
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
        waiting, self._awaited = list(self._awaited), {}
        for send in waiting:
            self._tasks.start(partial(refuse_while_draining, send), detached=True)

    async def _watch(self, scope: anyio.CancelScope) -> None:
        with scope:
            quiet = False
            while not quiet:
                self._came = False
                await anyio.sleep(self._tick_seconds)
                self._ticks += 1
                quiet = not (self._came or self._awaited)
                for send, began in list(self._awaited.items()):
                    if self._ticks - began > self._patience:
                        del self._awaited[send]
                        self._tasks.start(partial(self._too_slow, send), detached=True)
        if self._watching is scope:
            self._watching = None

    async def _too_slow(self, send: Send) -> None:
        """Answer; whoever still reads the body is told then that the connection is over."""
        why = f"The body did not come within {self._seconds:g} seconds"
        await refuse(send, 408, INVALID_REQUEST, why, None, CLOSE)

    async def _too_large(self, send: Send) -> None:
        why = f"The body is longer than {self._limit} bytes, which is the limit"
        await refuse(send, 413, INVALID_REQUEST, why, None, CLOSE)
