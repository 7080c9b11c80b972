"""A doctor's visits to one server: each a line on which one revision is spoken.

    Patient ──visit("2025-11-25")──▶ Visit ──ask("tools/list")──▶ Answer

Layer: L6.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from dedalus_mcp.cli.doctor_answers import Answer, Heard, items
from dedalus_mcp.cli.doctor_line import DuplexLine, Line
from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.reaching import open_target
from dedalus_mcp.types.meta import CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, PROTOCOL_VERSION_KEY
from dedalus_mcp.types.revisions import MODERN
from dedalus_mcp_transports.http_client import HttpSse, StreamableHttp

if TYPE_CHECKING:
    from dedalus_mcp.cli.doctor_http_line import HttpLine, Web

__all__ = ("INFO", "Patient", "Visit", "frame_of")

INFO = {"name": "dedalus-mcp-doctor", "version": "1"}


def frame_of(message: Mapping[str, Any]) -> bytes:
    """Return a message as a frame."""
    return msgspec.json.encode({"jsonrpc": "2.0", **message})


class Visit:
    """One line, on which one revision is spoken.

    Args:
        line: The line.
        revision: The revision.

    Attributes:
        line, revision: See above.
        opening: How the server answered the first request.
        ended: Why the line is of no use any more; None as long as it is.
    """

    def __init__(self, line: Line, revision: str) -> None:
        self.line = line
        self.revision = revision
        self.opening = Answer()
        self.ended: str | None = None
        self._ids = 0

    @property
    def modern(self) -> bool:
        """Whether every request stands alone."""
        return self.revision in MODERN

    @property
    def speaks(self) -> bool:
        """Whether the server has agreed to the revision."""
        result = self.opening.result
        if result is None:
            return False
        if self.modern:
            return self.revision in items(result.get("supportedVersions"))
        return result.get("protocolVersion") == self.revision

    async def open(self) -> None:
        """Agree on the revision, or find out that there is no such agreement."""
        if self.modern:
            self.opening = await self.ask("server/discover")
            return
        params = {"protocolVersion": self.revision, "capabilities": {}, "clientInfo": INFO}
        self.opening = await self.ask("initialize", params)
        if self.speaks:
            await self.tell("notifications/initialized")

    async def ask(self, method: str, params: Mapping[str, Any] | None = None, *, id: int | str | None = None) -> Answer:
        """Make a request; in 2026-07-28 with what every request carries."""
        if id is None:
            self._ids += 1
            id = self._ids
        message: dict[str, Any] = {"id": id, "method": method}
        given = dict(params or {})
        if self.modern:
            given = {"_meta": self.envelope()} | given
        if given:
            message["params"] = given
        return self._heard(await self.line.exchange(frame_of(message), id))

    async def tell(self, method: str, params: Mapping[str, Any] | None = None) -> Answer:
        """Send a notification."""
        given = {"_meta": self.envelope()} if self.modern else {}
        message: dict[str, Any] = {"method": method}
        if given or params:
            message["params"] = given | dict(params or {})
        return self._heard(await self.line.send(frame_of(message)))

    async def send(self, frame: bytes) -> Answer:
        """Send any bytes."""
        return self._heard(await self.line.send(frame))

    async def alive(self) -> Answer:
        """Ask what every server answers."""
        return await self.ask("server/discover" if self.modern else "ping")

    def envelope(self) -> dict[str, Any]:
        """Return the `_meta` of a request of 2026-07-28."""
        return {PROTOCOL_VERSION_KEY: self.revision, CLIENT_CAPABILITIES_KEY: {}, CLIENT_INFO_KEY: INFO}

    def _heard(self, answer: Answer) -> Answer:
        self.ended = answer.ended
        return answer


class Patient:
    """A server to be looked at.

    Args:
        target: What `MCPClient.connect` takes.
        patience: How long each answer may take, in seconds.

    Attributes:
        heard: What it said that nobody asked for, on all visits.
        web: Where it is, if it is at a URL.
        patience: See above.
    """

    def __init__(self, target: Connectable, patience: float) -> None:
        self._target = open_target(target)
        self.patience = patience
        self.heard = Heard()
        self.web: Web | None = None
        self._left: Web | None = None
        if isinstance(self._target, StreamableHttp):
            from dedalus_mcp.cli.doctor_http_line import Web  # noqa: PLC0415 - loads httpx

            self.web = Web(self._target, self.heard, patience)

    @asynccontextmanager
    async def visit(self, revision: str) -> AsyncGenerator[Visit]:
        """Open a line and speak a revision on it.

        Raises:
            OSError: There is no such line.
        """
        line = await self._line(revision)
        visit = Visit(line, revision)
        try:
            await visit.open()
            yield visit
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(self.patience):
                await line.aclose()

    def become_older(self) -> bool:
        """Go on with the transport of 2024-11-05 at the same URL; whether there is one to try."""
        if self.web is None or not isinstance(self._target, StreamableHttp):
            return False
        self._target, self._left, self.web = self._target.older, self.web, None
        return True

    async def aclose(self) -> None:
        """Free what was made here."""
        for web in (self.web, self._left):
            if web is not None:
                await web.aclose()

    async def _line(self, revision: str) -> Line | HttpLine:
        if self.web is not None:
            from dedalus_mcp.cli.doctor_http_line import HttpLine  # noqa: PLC0415 - loads httpx

            return HttpLine(self.web)
        duplex = await self._target.open()
        takes_junk = not isinstance(self._target, HttpSse)  # which looks at what it sends
        return DuplexLine(duplex, self.heard, self.patience, answers=revision not in MODERN, takes_junk=takes_junk)
