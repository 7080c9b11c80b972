"""The settings of a streamable HTTP server.

Layer: L5.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dedalus_mcp_transports.event_log import EventLog, MemoryEventLog
from dedalus_mcp_transports.http_security import TransportSecuritySettings

__all__ = ("HttpSettings",)


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a streamable HTTP server.

    Attributes:
        path: The endpoint; requests for other paths are answered with 404.
        json_only: Answer every POST with one JSON object; notices are dropped, asks fail.
        always_stream: Answer every POST with an event stream; errors that have an HTTP status of their own aside.
        max_body: Bytes in a request body, at most.
        max_sessions: Legacy sessions that may be open at once.
        session_idle_seconds: How long a legacy session lives that nobody uses.
        keep_alive_seconds: How long a stream may be silent before a comment is sent on it.
        event_log: Makes the log from which a session's streams can be resumed; None for none.
        retry_milliseconds: How long a client should wait before it resumes; None to leave it to it.
        security: Which hosts and origins are taken; None for what the environment says (see
            `TransportSecuritySettings.from_environment`), else loopback and the bound host.
    """

    path: str = "/mcp"
    json_only: bool = False
    always_stream: bool = False
    max_body: int = 16 << 20
    max_sessions: int = 10_000
    session_idle_seconds: float = 1800.0
    keep_alive_seconds: float = 15.0
    event_log: Callable[[], EventLog] | None = MemoryEventLog
    retry_milliseconds: int | None = None
    security: TransportSecuritySettings | None = None
