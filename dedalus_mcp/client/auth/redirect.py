"""How a user is sent to the authorization server, and comes back.

    LoopbackRedirect   their browser, and a listener on this machine that waits for them
    HeadlessRedirect   no user at all: the page is asked for here, and where it leads to is the answer

Layer: L4; httpx only for the second.
Source: RFC 8252, 7.3 and 8; MCP 2026-07-28, security best practices (SEC-10, SEC-11).
"""

from __future__ import annotations

import inspect
import logging
import webbrowser
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

import anyio
import anyio.to_thread
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from dedalus_mcp.client.auth.authorization_request import is_for
from dedalus_mcp.client.auth.failures import AuthError, said
from dedalus_mcp.client.auth.reach import is_loopback

__all__ = ("Landing", "LoopbackRedirect", "Redirect")

logger = logging.getLogger("dedalus_mcp")

SECONDS = 300.0
"""How long a user may take."""

MAX_HEAD = 32 * 1024
MAX_VISITORS = 32
"""Connections to the listener at once; a browser opens one or two.  Who came first has to go for one more."""

VISITOR_SECONDS = 10.0

PAGE = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
    "<body style='font: 1.2em sans-serif; margin: 4em auto; max-width: 30em'><h1>{title}</h1><p>{text}</p>"
)


class Landing(Protocol):
    """Where one user comes back."""

    @property
    def uri(self) -> str:
        """The redirect URI."""
        ...

    async def send(self, url: str, state: str) -> str:
        """Send the user to a page, and return the URL with which they come back.

        Args:
            url: The page.
            state: What the answer to this request carries as `state`; other visitors do not count.

        Raises:
            AuthError: They do not come.
        """
        ...


class Redirect(Protocol):
    """A way to send a user somewhere, and have them back."""

    def listen(self, preferred: Sequence[str]) -> AbstractAsyncContextManager[Landing]:
        """Open a place where a user can come back, for as long as the context lasts.

        Args:
            preferred: Redirect URIs that the authorization server knows already, if any.

        Raises:
            AuthError: There can be none.
        """
        ...


class LoopbackRedirect:
    """The user's browser, and a listener on this machine.

    Args:
        host: What the redirect URI calls this machine: ``127.0.0.1``, ``localhost`` or ``[::1]``.
        port: Where it listens; 0 for any that is free, which authorization servers have to allow (RFC 8252, 7.3).
        path: The path of the redirect URI.
        open_page: Opens a page: given its URL; a plain function runs in a thread.  False says that it cannot.
        seconds: How long the user may take.

    Raises:
        ValueError: `host` is not this machine, or `port` or `path` is none.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        path: str = "/callback",
        open_page: Callable[[str], Any] = webbrowser.open,
        seconds: float = SECONDS,
    ) -> None:
        if not is_loopback(host):
            raise ValueError(f"a listener is on this machine, which {host!r:.80} is not")
        if port not in range(65536):
            raise ValueError(f"a port is a number from 0 to 65535, not {port!r:.40}")
        if not path.startswith("/") or not path.isascii() or not path.isprintable() or set(path) & set(" ?#"):
            raise ValueError(f"a path begins with a slash, unlike {path!r:.80}")
        self._host = host
        self._port = port
        self._path = path
        self._open_page = open_page
        self._seconds = seconds

    @asynccontextmanager
    async def listen(self, preferred: Sequence[str]) -> AsyncGenerator[Landing]:
        """See `Redirect`."""
        ports = [self._port] if self._port else [*self._ports_in(preferred), 0]
        fault: Exception | None = None
        async with await self._listener(ports) as listener, anyio.create_task_group() as group:
            port = listener.extra(SocketAttribute.local_port)
            landing = _Loopback(f"http://{self._host}:{port}{self._path}", self._open_page, self._seconds)
            group.start_soon(listener.serve, landing.welcome)
            try:
                yield landing
            except Exception as error:  # noqa: BLE001 - raised below, where no group is put round it
                fault = error
            group.cancel_scope.cancel()
        if fault is not None:
            raise fault

    async def _listener(self, ports: Sequence[int]) -> Any:
        faults: list[OSError] = []
        for port in ports:
            try:
                return await anyio.create_tcp_listener(local_host=self._host.strip("[]"), local_port=port)
            except OSError as error:
                faults.append(error)
        raise AuthError(f"nobody can come back to {self._host}, port {ports[-1]}: {faults[-1]}") from faults[-1]

    def _ports_in(self, preferred: Sequence[str]) -> list[int]:
        found: list[int] = []
        for uri in preferred:
            with suppress(ValueError):
                parts = urlsplit(uri)
                if parts.netloc.rpartition(":")[0] == self._host and parts.path == self._path and parts.port:
                    found.append(parts.port)
        return found[:4]


class _Loopback:
    """A listener that waits for one user."""

    def __init__(self, uri: str, open_page: Callable[[str], Any], seconds: float) -> None:
        self.uri = uri
        self._open_page = open_page
        self._seconds = seconds
        self._state: str | None = None
        self._answer: str | None = None
        self._answered = anyio.Event()
        self._fault: AuthError | None = None
        self._visitors: deque[anyio.CancelScope] = deque()

    async def send(self, url: str, state: str) -> str:
        """See `Landing`."""
        self._state = state
        with anyio.move_on_after(self._seconds):
            async with anyio.create_task_group() as group:
                group.start_soon(self._open, url)  # some browsers are waited for until they are closed
                await self._answered.wait()
                group.cancel_scope.cancel()
        if self._answer is not None:
            return self._answer
        if self._fault is not None:
            raise self._fault
        raise AuthError(f"nobody came back from {said(url.partition('?')[0])} within {self._seconds:.3g} s")

    async def _open(self, url: str) -> None:
        try:
            if await _opened(self._open_page, url) is not False:
                return
            how = "LoopbackRedirect(open_page=print) writes the address of the page, or show it yourself"
            self._fault = AuthError(f"there is no browser to sign in with; {how}")
        except Exception as error:  # noqa: BLE001 - raised where the user is waited for
            self._fault = AuthError(f"the page to sign in cannot be opened: {type(error).__name__}: {error!s:.200}")
            self._fault.__cause__ = error
        self._answered.set()

    async def welcome(self, stream: SocketStream) -> None:
        """Answer a visitor."""
        async with stream:
            gone = suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)
            with gone, self._visit():
                await self._answer_to(stream)

    @contextmanager
    def _visit(self) -> Generator[None]:
        with anyio.move_on_after(VISITOR_SECONDS) as scope:
            self._visitors.append(scope)
            if len(self._visitors) > MAX_VISITORS:
                self._visitors.popleft().cancel()
            try:
                yield
            finally:
                with suppress(ValueError):  # it had to go
                    self._visitors.remove(scope)

    async def _answer_to(self, stream: SocketStream) -> None:
        try:
            head = await BufferedByteReceiveStream(stream).receive_until(b"\r\n\r\n", MAX_HEAD)
        except (anyio.IncompleteRead, anyio.DelimiterNotFound):
            return
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        target = rest.partition(" ")[0]
        if self._is_the_user(method, target):
            query = target.partition("?")[2]
            title = "Not signed in" if "error" in dict(parse_qsl(query, max_num_fields=64)) else "Done"
            self._answer = self._answer or f"{self.uri}?{query}"
            try:
                await stream.send(_page("200 OK", title, "You can close this page and go back to the program."))
            finally:  # they have come back, whether they see that or not
                self._answered.set()
        else:
            await stream.send(_page("404 Not Found", "Nothing here", "This address waits for somebody else."))

    def _is_the_user(self, method: str, target: str) -> bool:
        path, _, query = target.partition("?")
        if self._state is None or method != "GET" or path != urlsplit(self.uri).path:
            return False
        try:
            fields = dict(parse_qsl(query, max_num_fields=64))
        except ValueError:
            return False
        return is_for(fields, self._state)


def _page(status: str, title: str, text: str) -> bytes:
    body = PAGE.format(title=title, text=text).encode()
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {len(body)}\r\n"
        "cache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: nosniff\r\n"
        "content-security-policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + body


async def _opened(open_page: Callable[[str], Any], url: str) -> Any:
    if inspect.iscoroutinefunction(open_page):
        return await open_page(url)
    # A thread of its own: whatever else runs in threads cannot keep the page from opening.
    made = await anyio.to_thread.run_sync(open_page, url, limiter=anyio.CapacityLimiter(1), abandon_on_cancel=True)
    return await made if inspect.isawaitable(made) else made
