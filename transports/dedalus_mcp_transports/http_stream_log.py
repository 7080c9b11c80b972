"""The events of one stream in the log of its session.

Layer: L5.
Source: MCP 2025-11-25, basic/transports, "Resumability and Redelivery".
"""

from __future__ import annotations

from dedalus_mcp_transports import sse
from dedalus_mcp_transports.event_log import EventLog

__all__ = ("StreamLog",)


class StreamLog:
    """The events of one stream, kept so that it can be resumed.

    Args:
        log: The session's log.
        stream: The stream's name in it.
        primed: Whether the reader knows priming events (2025-11-25).
        retry: How long it should wait before it resumes, in milliseconds; None to say nothing.

    Attributes:
        primed: As given; such a reader comes again when its connection ends before the reply.
    """

    def __init__(self, log: EventLog, stream: str, *, primed: bool, retry: int | None) -> None:
        self.stream = stream
        self._log = log
        self.primed = primed
        self._retry = retry
        self._begun = False

    def begin(self) -> bytes:
        """Return what the stream begins with, the first time: maybe nothing."""
        begun, self._begun = self._begun, True
        if begun or not self.primed:
            return b""
        return sse.priming(self._log.append(self.stream, b""), retry=self._retry)

    def event(self, frame: bytes) -> bytes:
        """Keep an event and return it as written, after what the stream begins with."""
        begin = b"" if self._begun else self.begin()
        return begin + sse.event(frame, id=self._log.append(self.stream, frame))
