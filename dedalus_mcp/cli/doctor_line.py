"""A line to a server, on which its doctor says exactly what he wants.

    exchange(frame, id) ──▶ the reply, or what came instead       send(frame) ──▶ what came of it at once

This one is for transports with frames in order: stdio, memory, and that of 2024-11-05 over HTTP.

Layer: L6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import anyio
import msgspec

from dedalus_mcp.cli.doctor_answers import Answer, Heard
from dedalus_mcp.transport import Duplex, Undelivered

__all__ = ("DuplexLine", "Line")

ENDS = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)


MAX_STRAYS = 20
"""Replies to nothing that was asked that are kept of one exchange: more tell nothing new."""


class Line(Protocol):
    """One connection, or one session.

    Attributes:
        takes_junk: Whether bytes can be sent on it that are no message.
    """

    takes_junk: bool

    async def exchange(self, frame: bytes, id: object) -> Answer:
        """Send a request and return its reply, or what came instead.  Never raises."""
        ...

    async def send(self, frame: bytes) -> Answer:
        """Send what need not be answered, and return what came of it at once.  Never raises."""
        ...

    async def aclose(self) -> None:
        """End it."""
        ...


class DuplexLine:
    """A line over a connection.

    Args:
        duplex: The connection.
        heard: Keeps what nobody asked for.
        patience: How long to wait for a reply, in seconds.
        answers: Whether the server may ask: of 2026-07-28 it must not.
        takes_junk: See `Line`.
    """

    def __init__(
        self, duplex: Duplex, heard: Heard, patience: float, *, answers: bool, takes_junk: bool = True
    ) -> None:
        self.takes_junk = takes_junk
        self._duplex = duplex
        self._heard = heard
        self._patience = patience
        self._answers = answers
        self._unread: list[Mapping[str, Any]] = []
        self._owed: set[str] = set()  # of which no reply came in time
        self._loose = False  # whether a frame was sent whose reply has no id

    async def exchange(self, frame: bytes, id: object) -> Answer:
        """See `Line`."""
        strays: list[Mapping[str, Any]] = []
        try:
            with anyio.move_on_after(self._patience):
                await self._duplex.send([frame])
                while True:
                    message = await self._next()
                    if self._is_for(message, id):
                        return Answer(message, tuple(strays))
                    if str(message.get("id")) not in self._owed and len(strays) < MAX_STRAYS:
                        strays.append(message)
        except ENDS as error:
            return Answer(strays=tuple(strays), ended=str(error) or "closed")
        self._owed.add(str(id))
        return Answer(strays=tuple(strays), waited=self._patience)

    async def send(self, frame: bytes) -> Answer:
        """See `Line`."""
        self._loose = True
        try:
            with anyio.move_on_after(self._patience):
                await self._duplex.send([frame])
                return Answer()
        except ENDS as error:
            return Answer(ended=str(error) or "closed")
        return Answer(waited=self._patience)

    async def aclose(self) -> None:
        """See `Line`."""
        await self._duplex.aclose()

    def _is_for(self, reply: Mapping[str, Any], id: object) -> bool:
        got = reply.get("id")
        return not self._loose if got is None else str(got) == str(id)  # whether of the right type is a check

    async def _next(self) -> Mapping[str, Any]:
        """Return the next reply; requests are answered, notices dropped."""
        while True:
            while self._unread:
                message = self._unread.pop(0)
                if "method" not in message:
                    return message
                if "id" in message:
                    await self._duplex.send([self._reply_to(message)])
            for frame in await self._duplex.receive():
                if isinstance(frame, bytes):
                    self._unread += self._heard.take(frame)
                elif isinstance(frame, Undelivered):
                    raise anyio.BrokenResourceError(str(frame.error))

    def _reply_to(self, request: Mapping[str, Any]) -> bytes:
        if not self._answers:
            self._heard.refuse(request["method"])
        outcome: Mapping[str, Any] = {"error": {"code": -32601, "message": "not here"}}
        if request["method"] == "ping":
            outcome = {"result": {}}
        return msgspec.json.encode({"jsonrpc": "2.0", "id": request["id"], **outcome})
