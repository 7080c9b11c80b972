"""A client that polls: the part of `Context` that lets a long call hold no connection open.

Layer: L4.
Source: MCP 2025-11-25, basic/transports, "Sending Messages to the Server".
"""

from __future__ import annotations

from typing import Protocol

from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.transport import Resumable

__all__ = ("PolledCall", "Polling")

MAX_RETRY_SECONDS = 24 * 60 * 60
"""No client that waits longer comes again: nobody keeps events for so long."""


class PolledCall(Protocol):
    """The call whose client polls: see `Context`."""

    @property
    def call(self) -> Inbound:
        """The call itself."""
        ...


class Polling:
    """The part of `Context` for clients that poll."""

    __slots__ = ()

    async def close_sse_stream(self: PolledCall, *, retry: float | None = None) -> None:
        """Let the client poll: end the event stream of this call, and go on; the client comes again for the rest.

        So a long call holds no connection open.  Clients of 2025-11-25 do that over HTTP, in a
        session, where events are kept (`HttpSettings.event_log`); elsewhere nothing happens.
        What is sent meanwhile, questions too, waits for the client.

        Args:
            retry: How long the client should wait before it comes again, in seconds; None for
                what `HttpSettings.retry_milliseconds` says.

        Raises:
            ValueError: `retry` is no time to wait.
        """
        if retry is not None and not 0 <= retry <= MAX_RETRY_SECONDS:
            raise ValueError(f"retry is 0 to {MAX_RETRY_SECONDS} seconds, not {retry!r}")
        channel = self.call.channel
        if isinstance(channel, Resumable) and not self.call.finished:
            await channel.pause(None if retry is None else round(retry * 1000))
