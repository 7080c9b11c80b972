"""HTTP, the client: a URL as something to connect to.

    StreamableHttp(url)   every revision from 2025-03-26 on; its `older` is ...
    HttpSse(url)          ... what servers of 2024-11-05 have

httpx is loaded when the first connection is opened, and not at all where the caller brings an
HTTP client of their own.

Layer: L5.
Source: MCP 2026-07-28, basic/transports/streamable-http; 2025-11-25 and 2024-11-05, basic/transports.
"""

from __future__ import annotations

import hashlib
import re
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from anyio.lowlevel import checkpoint

from dedalus_mcp.transport import Duplex
from dedalus_mcp_transports.http_connection import HttpConnection
from dedalus_mcp_transports.http_sender import Sender, address
from dedalus_mcp_transports.http_sse import SseConnection
from dedalus_mcp_transports.http_stream import Reconnect
from dedalus_mcp_transports.lines import MAX_FRAME

__all__ = ("HttpSse", "StreamableHttp")

USER_AGENT = "dedalus-mcp"
"""Who we are, unless the program's own headers say so."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?")


class _Url:
    """What connections to a URL have in common: who asks, and how."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None,
        auth: Any,
        http_client: Any,
        timeout: float,
        max_message: int,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"cannot connect to {address(url)!r:.200}: legal are http:// and https:// URLs")
        if not _has_legal_port(parts):
            raise ValueError(f"cannot connect to {address(url)!r:.200}: a port is a number from 0 to 65535")
        if isinstance(auth, str | type):
            raise TypeError(f"auth is an object such as BearerAuth(token), not {_kind(auth)}")
        if not timeout > 0:
            raise ValueError(f"a timeout is more than 0 seconds, not {timeout}")
        self.url = url
        self.headers = {_legal(name, value): value for name, value in (headers or {}).items()}
        self.auth = auth
        self.http_client = http_client
        self.timeout = timeout
        self.max_message = max_message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({address(self.url)!r})"  # no headers, no query: they may be secret

    @property
    def cache_key(self) -> str:
        """What stands for the server in a cache: where its query says more than its address does, that too."""
        return f"{address(self.url)} {hashlib.sha256(self.url.encode()).hexdigest()[:16]}"

    def _sender(self) -> Sender:
        client = _client(self.url, self.auth) if self.http_client is None else self.http_client
        owned = self.http_client is None
        return Sender(client, self.url, headers=self.headers, auth=self.auth, timeout=self.timeout, owned=owned)


class StreamableHttp(_Url):
    """An MCP server at a URL; a `Target`.

    Nothing is sent anywhere but to the URL's own origin: of redirects, only 307 and 308 to
    there are followed.

    Args:
        url: The endpoint, `http` or `https`; a user and a password in it are sent as Basic authentication.
        headers: What every request says, for example an API key.
        auth: An `httpx.Auth`, or whatever else the HTTP client takes for `auth=`.
        http_client: An `httpx.AsyncClient` or `httpx2.AsyncClient` of yours, with its own proxies,
            certificates and limits; it is not closed.  None to have one made.
        timeout: Seconds to connect, and for each write.  Replies are not timed here but by `MCPClient`.
        listen: Whether a legacy session keeps a stream open (GET) on which the server can speak
            at any time; None to open it where the client has a handler for what may come, or
            subscribes to a resource.
        reconnect: How broken streams of legacy servers are taken up again.
        max_message: Bytes in one message of the server, at most.

    Raises:
        TypeError: `auth` or a header is of the wrong kind.
        ValueError: `url` is none, a header cannot be sent, or `timeout` is not positive.
    """

    never_silent = True

    def __init__(  # noqa: PLR0913 - where, who, by what, and four settings
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        auth: Any = None,
        http_client: Any = None,
        timeout: float = 30.0,
        listen: bool | None = None,
        reconnect: Reconnect | None = None,
        max_message: int = MAX_FRAME,
    ) -> None:
        super().__init__(
            url, headers=headers, auth=auth, http_client=http_client, timeout=timeout, max_message=max_message
        )
        self.listen = listen
        self.reconnect = reconnect or Reconnect()

    @property
    def era_key(self) -> str:
        """What stands for the server, of all objects with this URL."""
        return address(self.url)

    @property
    def older(self) -> HttpSse:
        """The same URL by the older transport."""
        return HttpSse(
            self.url,
            headers=self.headers,
            auth=self.auth,
            http_client=self.http_client,
            timeout=self.timeout,
            max_message=self.max_message,
        )

    async def open(self) -> Duplex:
        """Return a connection; nothing is sent before its first frame."""
        await checkpoint()
        return HttpConnection(
            self._sender(), listen=self.listen, reconnect=self.reconnect, max_message=self.max_message
        )


class HttpSse(_Url):
    """An MCP server of 2024-11-05 at a URL, that of its event stream; a `Target`.

    `MCPClient.connect(url)` finds out by itself where a server has nothing newer; this is for
    those who know, and want to save the attempts.  Messages go where the stream says, which
    has to be the URL's own origin.

    Args:
        url: The address of the event stream, `http` or `https`.
        headers: See `StreamableHttp`.
        auth: Likewise.
        http_client: Likewise.
        timeout: Likewise.
        max_message: Likewise.

    Raises:
        ValueError: `url` is none, a header cannot be sent, or `timeout` is not positive.
    """

    only_legacy = True

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        auth: Any = None,
        http_client: Any = None,
        timeout: float = 30.0,
        max_message: int = MAX_FRAME,
    ) -> None:
        super().__init__(
            url, headers=headers, auth=auth, http_client=http_client, timeout=timeout, max_message=max_message
        )

    async def open(self) -> Duplex:
        """Open the event stream, and return once it says where messages go.

        Raises:
            MCPConnectionError: There is no such stream.
        """
        connection = SseConnection(self._sender(), max_message=self.max_message)
        await connection.begin()
        return connection


def _has_legal_port(parts: SplitResult) -> bool:
    try:
        parts.port  # noqa: B018 - reading it checks it
    except ValueError:
        return False
    return True


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _legal(name: str, value: str) -> str:
    """Return the name of a header in lower case.

    Raises:
        TypeError: It or its value is no string.
        ValueError: No request can have it; its value, which may be secret, is not told.
    """
    for what, each in ((f"the name of header {name!r:.80}", name), (f"the value of header {name!r:.80}", value)):
        if not isinstance(each, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers err
            raise TypeError(f"{what} is a string, not {type(each).__name__}")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r:.80} is no name of a header: legal are letters, digits and '-'")
    if not _VALUE.fullmatch(value):
        raise ValueError(
            f"the value of header {name!r:.80} is none: legal is printable ASCII with no white space round it, "
            "such as the newline at the end of a file"
        )
    return name.lower()


def _client(url: str, auth: Any) -> Any:
    from urllib.request import getproxies  # noqa: PLC0415 - loaded where it is used

    import httpx  # noqa: PLC0415 - likewise

    from dedalus_mcp_transports.http_plain import PlainClient  # noqa: PLC0415 - likewise
    from dedalus_mcp_transports.http_pool import Pool  # noqa: PLC0415 - likewise

    ours = {"user-agent": USER_AGENT}
    if any(scheme in getproxies() for scheme in ("http", "https", "all")):  # then httpx, which knows its way round them
        limits = httpx.Limits(max_connections=None)
        return httpx.AsyncClient(verify=_tls(), limits=limits, headers=ours, auth=_of_user(url))
    pool = Pool(_tls())
    if auth is None and _of_user(url) is None:
        return PlainClient(pool, ours)
    return httpx.AsyncClient(transport=pool, headers=ours, auth=_of_user(url))


def _of_user(url: str) -> tuple[str, str] | None:
    """Return the user and the password that a URL names, if it does: they are sent as HTTP's Basic authentication."""
    parts = urlsplit(url)
    return None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Return the one TLS context: making it takes longer than all else together."""
    import httpx  # noqa: PLC0415 - loaded where it is used

    return httpx.create_ssl_context()
