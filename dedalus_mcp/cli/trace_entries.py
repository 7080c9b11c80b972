"""What was said on connections, frame by frame, with when, how long it took, and what it answers.

    Ledger.frame("client", b"...", now) ──▶ [Entry]      one for each message: batches have several

Layer: L6; no I/O, no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import msgspec

from dedalus_mcp.cli.trace_masks import masked, masked_text
from dedalus_mcp.schema.shapes import is_array

__all__ = ("Entry", "Kind", "Ledger", "Sender")

MAX_OPEN = 4096
"""Requests of one connection whose time is taken at once: of further ones it is not known how long they took."""
MAX_TEXT = 2000
"""Characters of a frame that is no message that are kept."""

Sender: TypeAlias = Literal["client", "server"]
Kind: TypeAlias = Literal["request", "notification", "result", "error", "junk", "opened", "ended"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One message, or what happened to the connection.

    Attributes:
        connection: Which one, from 1 on.
        at: Seconds since the trace began.
        sender: Who said it; of what happened to the connection, who began it.
        kind: What it is; `junk` for a frame that is no message.
        method: Its method, or that of the request that it answers.
        id: Its id.
        took: Seconds from the request to this answer.
        message: The message, its secrets masked; of junk, the text of it; of an end, the reason.
    """

    connection: int
    at: float
    sender: Sender
    kind: Kind
    method: str | None = None
    id: int | float | str | None = None
    took: float | None = None
    message: Any = None

    def as_json(self) -> dict[str, Any]:
        """Return what a script reads; times are in milliseconds."""
        found: dict[str, Any] = {
            "connection": self.connection,
            "at_ms": round(self.at * 1000, 3),
            "from": self.sender,
            "kind": self.kind,
        }
        if self.method is not None:
            found["method"] = self.method
        if self.id is not None:
            found["id"] = self.id
        if self.took is not None:
            found["took_ms"] = round(self.took * 1000, 3)
        return found | {"message": self.message}


class Ledger:
    """The requests of one connection that are open, of both sides.

    Args:
        connection: Which one, from 1 on.
    """

    def __init__(self, connection: int) -> None:
        self._connection = connection
        self._open: dict[tuple[Sender, type, Any], tuple[str, float]] = {}

    def frame(self, sender: Sender, frame: bytes, at: float) -> list[Entry]:
        """Take a frame; never raises, whatever is in it.

        Args:
            sender: Who sent it.
            frame: Its bytes.
            at: When, in seconds since the trace began.
        """
        try:
            decoded: Any = msgspec.json.decode(frame)
            batch = decoded if is_array(decoded) and decoded else [decoded]
            return [self._message(sender, message, at) for message in batch]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            text = frame[: 4 * MAX_TEXT].decode("utf-8", "backslashreplace")[:MAX_TEXT]
            return [self.mark(sender, "junk", text, at)]

    def mark(self, sender: Sender, kind: Kind, text: str, at: float) -> Entry:
        """Return what happened, in words."""
        return Entry(self._connection, at, sender, kind, message=masked_text(text))

    def _message(self, sender: Sender, message: Any, at: float) -> Entry:
        here, hidden = self._connection, masked(message)
        if not isinstance(message, dict):
            return Entry(here, at, sender, "junk", message=hidden)
        members = cast("dict[str, Any]", message)
        method, id = members.get("method"), members.get("id")
        id = id if isinstance(id, int | float | str) else None
        if isinstance(method, str):
            if "id" not in members:
                return Entry(here, at, sender, "notification", method, message=hidden)
            if len(self._open) < MAX_OPEN:
                self._open[sender, type(id), id] = (method, at)
            return Entry(here, at, sender, "request", method, id, message=hidden)
        if "result" not in members and "error" not in members:
            return Entry(here, at, sender, "junk", message=hidden)
        asker: Sender = "server" if sender == "client" else "client"
        asked, since = self._open.pop((asker, type(id), id), (None, None))
        took = None if since is None else at - since
        return Entry(here, at, sender, "error" if "error" in members else "result", asked, id, took, hidden)
