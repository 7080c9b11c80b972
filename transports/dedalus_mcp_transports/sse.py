"""Server-sent events without I/O: messages to bytes, bytes to events.

    event(frame, id=...) ──▶ bytes ──▶ Events.feed(chunk) ──▶ [Event, ...]

A line ends at LF, CR or CRLF and nowhere else: U+2028 and its kin are text.  How the bytes
were cut into chunks never shows in the events.  An event counts when its blank line is there;
what a broken stream leaves unfinished is dropped, its id too, so that a resumed stream brings
it again.

Source: WHATWG HTML, 9.2 "Server-sent events".
Layer: L2; imports `errors` and `lines` only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dedalus_mcp.errors import RemoteProtocolError
from dedalus_mcp_transports.lines import MAX_FRAME, after_mark

__all__ = ("Event", "Events", "comment", "event", "join", "priming", "retry_after")

_RETRY_DIGITS = 9  # a longer `retry` is over eleven days: no one means that


def event(data: bytes, *, id: str | None = None, event: str | None = None, retry: int | None = None) -> bytes:
    """Write one event.

    Args:
        data: One JSON frame; it has no line breaks.
        id: What the client names to resume after this event.
        event: The event's type; None for `message`.
        retry: How long the client is to wait before it reconnects, in milliseconds.

    Raises:
        ValueError: `id` or `event` holds a line break or another unprintable character.
    """
    head = "" if retry is None else f"retry: {retry}\n"
    if id is not None:
        head += _field("id", id)
    if event is not None:
        head += _field("event", event)
    return b"".join((head.encode(), b"data: ", data, b"\n\n"))


def _field(name: str, value: str) -> str:
    if not value.isprintable():
        raise ValueError(f"an event's {name} is printable, unlike {value!r:.80}")
    return f"{name}: {value}\n"


def join(frames: Iterable[bytes]) -> bytes:
    """Write several events that have nothing but data as one chunk; at least one frame."""
    return b"".join((b"data: ", b"\n\ndata: ".join(frames), b"\n\n"))


def priming(id: str, *, retry: int | None = None) -> bytes:
    """Write an event without data, from which the client can resume before any message (HTTP-36).

    Only for clients of 2025-11-25: older ones take the empty data for JSON.
    """
    return event(b"", id=id, retry=retry)


def retry_after(milliseconds: int) -> bytes:
    """Write how long the client is to wait before it reconnects, and no event."""
    return b"retry: %d\n\n" % milliseconds


def comment(text: bytes = b"") -> bytes:
    """Write a comment, which keeps the connection alive and reaches no one; `text` has no line breaks."""
    return b": " + text + b"\n\n" if text else b":\n\n"


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it was received.

    Attributes:
        data: Its lines, joined by LF; may be empty.
        event: Its type.
        id: The id it brought; None if it brought none.
    """

    data: bytes
    event: str = "message"
    id: str | None = None

    @property
    def is_message(self) -> bool:
        """Whether `data` is a JSON-RPC frame: not a priming event, not one of another type."""
        return self.event == "message" and self.data != b""


class Events:
    """Cuts a stream of bytes into events.  One task owns it.

    Args:
        max_event: Bytes in one event or one line of it, at most.  Little more than that and
            one chunk is ever held.

    Attributes:
        last_event_id: The newest id of a finished event; empty if there was none.
        retry: How long to wait before reconnecting, in milliseconds; None if never told.
    """

    __slots__ = (
        "_data",
        "_event",
        "_fault",
        "_id",
        "_max",
        "_open",
        "_size",
        "_skip_lf",
        "_started",
        "last_event_id",
        "retry",
    )

    def __init__(self, max_event: int = MAX_FRAME) -> None:
        self.last_event_id = ""
        self.retry: int | None = None
        self._max = max_event
        self._open = bytearray()  # the line that has no end yet
        self._skip_lf = False  # a CR ended the chunk before, so an LF first in this one is part of it
        self._started = False  # whether the byte order mark is dealt with
        self._fault: RemoteProtocolError | None = None
        self._reset()

    def _reset(self) -> None:
        self._data: list[bytes] = []
        self._size = 0  # bytes of the event's data lines
        self._event = ""
        self._id: str | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the next bytes and return the events that are complete now, in order.

        Raises:
            RemoteProtocolError: An event is longer than `max_event`.  What was complete before
                it has been returned first; the stream is of no use any more.
        """
        events: list[Event] = []
        if self._fault is None:
            lines = self._lines(chunk)
            rest = lines.pop()
            if lines and self._open:
                self._open += lines[0]
                lines[0] = bytes(self._open)
                self._open.clear()
            if self._take(lines, events):
                self._open += rest
                self._check(len(self._open))
        if self._fault is not None and not events:
            raise self._fault
        return events

    def end(self) -> None:
        """Forget what is unfinished: the stream has ended.

        Raises:
            RemoteProtocolError: An event was longer than `max_event`.
        """
        self._open.clear()
        self._reset()
        if self._fault is not None:
            raise self._fault

    def _lines(self, chunk: bytes) -> list[bytes]:
        if not self._started:
            begun = after_mark(self._open, chunk)
            self._started = begun is not None
            chunk = begun or b""
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._skip_lf = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk.split(b"\n")

    def _take(self, lines: list[bytes], events: list[Event]) -> bool:
        """Take whole lines; False when one of them was too much."""
        for line in lines:
            if not line:
                self._dispatch(events)
            elif not self._check(len(line)):
                return False
            elif line.startswith(b"data:"):
                self._size += len(line)
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            else:
                self._field(line)
        return True

    def _check(self, length: int) -> bool:
        # Every line is measured with the data before it, finished or not: else the verdict
        # would depend on the chunks.
        if self._size + length <= self._max:
            return True
        self._fault = RemoteProtocolError(f"a server-sent event is longer than {self._max} bytes")
        self._open.clear()
        self._reset()
        return False

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"id":
            if b"\0" not in value:
                self._id = value.decode(errors="replace")
        elif name == b"event":
            self._event = value.decode(errors="replace")
        elif name == b"retry":
            if value.isdigit() and len(value) <= _RETRY_DIGITS:
                self.retry = int(value)
        elif name == b"data":
            self._size += len(line)
            self._data.append(b"")

    def _dispatch(self, events: list[Event]) -> None:
        if self._id is not None:
            self.last_event_id = self._id
        if self._data:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            events.append(Event(data, self._event or "message", self._id))
        self._reset()
