"""The parser of event streams: any bytes are events, however they arrive, or an event that is too long.

Little more than the limit is ever held.  An event that is written is the one that is read.
"""

from __future__ import annotations

from dedalus_mcp.errors import RemoteProtocolError
from dedalus_mcp_transports.sse import Event, Events, event
from tests.fuzz.pieces import chunks

__all__ = ("target",)

LIMITS = (16, 1 << 20)


def target(data: bytes) -> None:
    """Cut a stream into events, in several ways."""
    for limit in LIMITS:
        ways = [_events(way, limit) for way in chunks(data)]
        assert all(way == ways[0] for way in ways), f"with a limit of {limit}, it depends on the chunks"
        for found in ways[0][0]:
            assert len(found.data) <= limit
            _is_read_as_written(found)


def _events(way: list[bytes], limit: int) -> tuple[list[Event], str, int | None, bool]:
    parser = Events(limit)
    found: list[Event] = []
    broken = False
    for chunk in way:
        try:
            found += parser.feed(chunk)
        except RemoteProtocolError:
            broken = True
        assert len(parser._open) <= limit + len(chunk)  # pyright: ignore[reportPrivateUsage]
    try:
        parser.end()
    except RemoteProtocolError:
        broken = True
    return found, parser.last_event_id, parser.retry, broken


def _is_read_as_written(found: Event) -> None:
    if b"\n" in found.data:
        return  # frames have no line breaks
    try:
        written = event(found.data, id=found.id, event=found.event)
    except ValueError:
        return  # its id or type is one that we never write
    assert Events().feed(written) == [found]
