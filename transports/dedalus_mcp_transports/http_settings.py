"""The settings of a streamable HTTP server.

Layer: L5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from dedalus_mcp.state_keys import key_bytes
from dedalus_mcp_transports.event_log import EventLog, MemoryEventLog
from dedalus_mcp_transports.http_principal import authenticated_user
from dedalus_mcp_transports.http_security import TransportSecuritySettings

__all__ = ("HttpSettings",)


_POSITIVE = (
    "max_body",
    "max_head",
    "max_headers",
    "body_seconds",
    "max_sessions",
    "session_idle_seconds",
    "keep_alive_seconds",
)


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a streamable HTTP server.

    Attributes:
        path: The endpoint; requests for other paths are answered with 404.
        sse_path: Where clients of 2024-11-05 open their streams (HTTP+SSE); None not to serve them.
        json_only: Answer every POST with one JSON object; notices are dropped, asks fail.
        always_stream: Answer every POST with an event stream; errors that have an HTTP status of their own aside.
        max_body: Bytes in a request body, at most.
        max_head: Bytes in what comes before it, names and values of headers and the target, at most.
        max_headers: How many headers a request may have; real ones have 10 to 40, and one for each mirrored argument.
        body_seconds: How long a client may take to send a body, at least, and twice as long at most; where the
            package listens by itself, a head too.
        stateless: Keep no legacy sessions: their ids carry what was agreed on, and any process with the
            same `state_keys` takes them.  There are no subscriptions and no stream without a call then.
        state_keys: Secrets of at least 32 bytes, for what is sealed and given to clients: the first
            seals, all open.  Without any those of the server; without these a random one, which ends with it.
        max_sessions: Legacy sessions that may be open at once; legacy calls that may, if there are none.  Where
            there is no room for one more, the one goes that was not used for the longest time, if that is a minute
            or more.
        session_idle_seconds: How long a legacy session lives that nobody uses.
        keep_alive_seconds: How long a stream may be silent before a comment is sent on it.
        event_log: Makes the log from which a session's streams can be resumed; None for none.
        retry_milliseconds: How long a client should wait before it resumes; None to leave it to it.
        cors_origins: Web pages of other origins that may call and read the answers: `scheme://name`,
            `scheme://name:port`, `scheme://name:*`, or `*` for any.
        principal: Says who sent a request, of ASGI's scope, as far as that was proved by whatever stands
            in front: None for anybody.  By default the authenticated user of the scope, if there is one.
            Sessions and calls that wait belong to whoever began them.
        security: Which hosts and origins are taken; None for what the environment says (see
            `TransportSecuritySettings.from_environment`), else loopback and the bound host.

    Raises:
        TypeError: `security` is something else.
        ValueError: A value is not legal, or two contradict each other.
    """

    path: str = "/mcp"
    sse_path: str | None = None
    json_only: bool = False
    always_stream: bool = False
    max_body: int = 16 << 20
    max_head: int = 64 << 10  # what uvicorn's own parser takes
    max_headers: int = 256
    body_seconds: float = 60.0  # the largest body at 2 Mbit/s
    stateless: bool = False
    state_keys: Sequence[bytes | str] = ()
    max_sessions: int = 10_000
    session_idle_seconds: float = 1800.0
    keep_alive_seconds: float = 15.0
    event_log: Callable[[], EventLog] | None = MemoryEventLog
    retry_milliseconds: int | None = None
    cors_origins: Sequence[str] = ()
    principal: Callable[[Mapping[str, Any]], str | None] = authenticated_user
    security: TransportSecuritySettings | None = None

    def __repr__(self) -> str:
        """Show how many keys there are, and none of them."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        shown["state_keys"] = f"<{len(self.state_keys)} keys>"
        return f"HttpSettings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def __post_init__(self) -> None:
        if not self.path.startswith("/"):
            raise ValueError(f"path begins with '/', as {self.path!r:.80} does not")
        sse = self.sse_path
        if sse is not None and (not sse.startswith("/") or sse.rstrip("/") == self.path.rstrip("/")):
            raise ValueError(f"sse_path begins with '/' and is not path, unlike {self.sse_path!r:.80}")
        if self.json_only and self.always_stream:
            raise ValueError("json_only and always_stream exclude each other")
        for name in _POSITIVE:
            value = getattr(self, name)
            if not (isinstance(value, int | float) and value > 0):
                raise ValueError(f"{name} must be a number more than 0, not {value!r:.40}")
        retry = self.retry_milliseconds
        if retry is not None and not (isinstance(retry, int) and retry >= 0):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"retry_milliseconds must be an integer of at least 0, or None, not {retry!r:.40}")
        if isinstance(self.cors_origins, str):
            raise ValueError("cors_origins is a list of origins, not one text")
        if not callable(self.principal):
            raise ValueError(f"principal is a function of ASGI's scope, not {self.principal!r:.80}")
        if not (self.security is None or hasattr(type(self.security), "allowed_hosts")):
            raise TypeError(f"security is TransportSecuritySettings(...), not {self.security!r:.80}")
        key_bytes(self.state_keys)
