"""A target that is another one, and tells every frame.

    Traced(target, tell) ──▶ MCPClient.connect(...)      tell(Entry), as it goes by

Layer: L6.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import anyio

from dedalus_mcp.cli.trace_entries import Entry, Kind, Ledger, Sender
from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.reaching import open_target
from dedalus_mcp.transport import Duplex, Oversized, Received, Undelivered

__all__ = ("Teller", "Traced")


class Teller:
    """Hands on entries of several connections, with one clock.

    Args:
        tell: Hears each entry at once; it must not wait.
        clock: Seconds, from any moment on.
    """

    def __init__(self, tell: Callable[[Entry], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._began = clock()
        self._connections = 0

    def connection(self) -> Ledger:
        """Begin another connection."""
        self._connections += 1
        return Ledger(self._connections)

    def frames(self, ledger: Ledger, sender: Sender, frames: Sequence[bytes]) -> None:
        """Tell these frames."""
        at = self._clock() - self._began
        for frame in frames:
            for entry in ledger.frame(sender, frame, at):
                self._tell(entry)

    def mark(self, ledger: Ledger, sender: Sender, kind: Kind, text: str) -> None:
        """Tell what happened to the connection."""
        self._tell(ledger.mark(sender, kind, text, self._clock() - self._began))


class Traced:
    """A target whose connections are traced.

    Args:
        target: What `MCPClient.connect` takes.
        teller: Hears what is said.
    """

    def __init__(self, target: Connectable, teller: Teller) -> None:
        self._target: Any = open_target(target)
        self._teller = teller

    async def open(self) -> Duplex:
        """Make a new connection.

        Raises:
            OSError: It cannot be made.
        """
        duplex = await self._target.open()
        ledger = self._teller.connection()
        self._teller.mark(ledger, "client", "opened", repr(self._target))
        return _TracedDuplex(duplex, ledger, self._teller)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)  # what a target may say of itself
        return Traced(found, self._teller) if name == "older" and found is not None else found


class _TracedDuplex:
    """The client's end of a connection that is traced."""

    def __init__(self, duplex: Duplex, ledger: Ledger, teller: Teller) -> None:
        self._duplex: Any = duplex
        self._ledger = ledger
        self._teller = teller
        self._ended = False

    async def receive(self) -> Sequence[Received]:
        try:
            received: Sequence[Received] = await self._duplex.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError) as error:
            self._end("server", str(error))
            raise
        for each in received:
            if isinstance(each, bytes):
                self._teller.frames(self._ledger, "server", [each])
            elif isinstance(each, Oversized):
                text = f"a frame of more than {each.limit} bytes, dropped"
                self._teller.mark(self._ledger, "server", "junk", text)
            elif isinstance(each, Undelivered):
                text = f"no answer to request {each.id!r:.80}: {each.error}"
                self._teller.mark(self._ledger, "server", "junk", text)
        return received

    async def send(self, frames: Sequence[bytes]) -> None:
        self._teller.frames(self._ledger, "client", frames)
        await self._duplex.send(frames)

    async def aclose(self) -> None:
        self._end("client", "closed")
        await self._duplex.aclose()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._duplex, name)

    def _end(self, sender: Sender, reason: str) -> None:
        if not self._ended:
            self._ended = True
            self._teller.mark(self._ledger, sender, "ended", reason)
