"""One HTTP request and its answer: the seam to the HTTP client, whichever it is.

All that is asked of that client is `build_request`, `send` and `aclose`, as `httpx.AsyncClient`
and `httpx2.AsyncClient` have them; neither is imported here.  Whatever goes wrong underneath is
an `MCPConnectionError` above.

Layer: L5.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

import anyio

from dedalus_mcp.content_coding import ACCEPTED, folded, ignored
from dedalus_mcp.errors import MCPConnectionError
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.transport import ASKING
from dedalus_mcp_transports.http_failures import MAX_ERROR_BODY, Answer, failure

__all__ = ("Response", "Sender", "address", "redirected", "same_origin")

MAX_REDIRECTS = 5
# The body of a refusal is worth waiting for, but not long: the call has failed already.
REFUSAL_SECONDS = 0.8
CLOSING_SECONDS = 0.5
_PORTS = {"http": 80, "https": 443}
# What httpx and httpx2 call what happens before the server has seen anything of the request.
_BEFORE = ("ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol")


class Response:
    """The answer to one request, its body still to be read."""

    def __init__(self, raw: Any, where: str) -> None:
        self._raw = raw
        self._where = where
        self.status: int = raw.status_code
        self.headers: Mapping[str, str] = raw.headers

    @property
    def media_type(self) -> str:
        """The type of the body, in lower case and without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def read(self, take: Callable[[bytes], Awaitable[float | None]]) -> None:
        """Read the body to its end.

        Args:
            take: Takes each piece, and may say how many seconds more are worth it.  It must not raise.

        Raises:
            MCPConnectionError: The connection broke.
        """
        # Left by cancelling, never by `break`: the client's generators end from the inside out.
        with anyio.CancelScope() as scope:
            try:
                chunks, unfold = folded(self._raw)
                async for chunk in chunks:
                    for piece in unfold(chunk):
                        patience = await take(piece)
                        if patience is not None:
                            scope.deadline = min(scope.deadline, anyio.current_time() + patience)
                        if patience == 0:  # what is left may unfold without end
                            unfold = ignored
                            break
            except Exception as error:
                raise _broken(error, self._where, begun=True) from error

    async def body(self, limit: int) -> bytes | None:
        """Return the body; None if it is longer than `limit` bytes.

        Raises:
            MCPConnectionError: The connection broke.
        """
        held = bytearray()

        async def take(chunk: bytes) -> float | None:
            held.extend(chunk)
            return 0 if len(held) > limit else None

        await self.read(take)
        return None if len(held) > limit else bytes(held)

    async def accepted(self, limit: int, *, in_session: bool) -> None:
        """Read the answer to a message without a reply, so that its connection can be used again.

        Raises:
            MCPConnectionError: It was not accepted; any 2xx is as good as 202 (B089).
        """
        if not 200 <= self.status < 300:
            raise await self.refusal(None, in_session=in_session)
        await self.body(limit)

    async def refusal(self, id: int | str | None, *, in_session: bool) -> Exception:
        """Read what the server has to say and return it as an error: see `http_failures.failure`."""
        held = bytearray()

        async def take(chunk: bytes) -> float | None:
            held.extend(chunk[: MAX_ERROR_BODY - len(held)])
            return 0 if len(held) >= MAX_ERROR_BODY else None

        with anyio.move_on_after(REFUSAL_SECONDS):
            with suppress(MCPConnectionError):  # what there is of it says enough
                await self.read(take)
        answer = Answer(self.status, self._raw.reason_phrase, self.headers, bytes(held))
        return failure(answer, id, self._where, in_session=in_session)


class Sender:
    """Sends requests to one endpoint.

    Args:
        client: The HTTP client.
        url: The endpoint.
        headers: What every request says; names in lower case.
        auth: The client's own kind of authentication; None to leave it to the client.
        timeout: Seconds to connect, and for each write.
        owned: Whether the client is closed with this.

    Attributes:
        asking: Makes the context in which an authentication asks a person: see `transport.Asking`.
    """

    def __init__(
        self, client: Any, url: str, *, headers: Mapping[str, str], auth: Any, timeout: float, owned: bool
    ) -> None:
        self._client = client
        self._owned = owned
        self.url = url
        self._parsed: Any = url  # as the client has it, once it has read it
        self._headers = dict(headers)
        self._auth = {} if auth is None else {"auth": auth}
        # Reading is never timed here: how long a reply may take, the engine's clocks know.
        self._timeout = (timeout, None, timeout, None)
        self.where = address(url)
        self.asking: Callable[[], AbstractContextManager[None]] = nullcontext

    @asynccontextmanager
    async def request(
        self, method: str, headers: Mapping[str, str], content: bytes = b"", *, url: str | None = None
    ) -> AsyncGenerator[Response]:
        """Send one request; the answer is closed when the context ends.

        Args:
            method: That of HTTP.
            headers: Besides those of every request.
            content: The body.
            url: Where to, if not to the endpoint.

        Raises:
            MCPConnectionError: There was no answer, or it sent us on to where we do not go.
        """
        raw = await self._send(url or self.url, method, headers, content)
        try:
            yield Response(raw, self.where)
        finally:
            with anyio.CancelScope(shield=True):
                await raw.aclose()

    async def aclose(self) -> None:
        """Close the client if it is ours, within a bounded time."""
        if self._owned:
            with anyio.move_on_after(CLOSING_SECONDS, shield=True):
                await self._client.aclose()

    async def _send(self, url: str, method: str, headers: Mapping[str, str], content: bytes) -> Any:
        for _ in range(MAX_REDIRECTS):
            raw = await self._send_once(url, method, headers, content)
            if raw.status_code not in (307, 308):
                return raw
            target = redirected(url, raw.headers.get("location", ""))
            if target is None:
                return raw
            url = target
            await raw.aclose()
        raise MCPConnectionError(f"{self.where} sends us round in a circle: {MAX_REDIRECTS} redirects")

    async def _send_once(self, url: str, method: str, headers: Mapping[str, str], content: bytes) -> Any:
        try:
            request = self._client.build_request(
                method,
                self._parsed if url == self.url else url,
                headers={"accept-encoding": ACCEPTED, **self._headers, **headers},
                content=content,
                timeout=self._timeout,
                extensions={ASKING: self.asking},
            )
            if url == self.url:
                self._parsed = request.url
            return await self._client.send(request, stream=True, follow_redirects=False, **self._auth)
        except MCPConnectionError:  # of an authentication flow that uses this package
            raise
        except Exception as error:
            if type(error).__name__ == "LocalProtocolError":  # it says the header back, and that may be a token
                text = f"cannot reach {self.where}: the request is not legal, a header of it most likely"
                raise MCPConnectionError(text) from None
            raise _broken(error, self.where, begun=type(error).__name__ not in _BEFORE) from error


def _broken(error: Exception, where: str, *, begun: bool) -> MCPConnectionError:
    """Return the error for what the HTTP client raised."""
    verb = "lost the connection to" if begun else "cannot reach"
    made = MCPConnectionError(f"{verb} {where}: {excerpt(str(error) or type(error).__name__)}")
    made.begun = begun
    return made


def address(url: str) -> str:
    """Return the URL as it may be shown: without what may be secret, the user part and the query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def redirected(here: str, location: str) -> str | None:
    """Return where a redirect leads, if that is the same origin, or the same host by TLS (B073)."""
    try:
        there = urljoin(here, location)
        one, other = urlsplit(here), urlsplit(there)
        upgraded = (one.scheme, other.scheme, _port(one), _port(other)) == ("http", "https", 80, 443)
    except ValueError:  # it is no URL
        return None
    return there if same_origin(here, there) or (upgraded and one.hostname == other.hostname) else None


def same_origin(here: str, there: str) -> bool:
    """Whether two URLs have scheme, host and port in common."""
    try:
        one, other = urlsplit(here), urlsplit(there)
        return (one.scheme, one.hostname, _port(one)) == (other.scheme, other.hostname, _port(other))
    except ValueError:  # it is no URL
        return False


def _port(parts: SplitResult) -> int | None:
    return parts.port or _PORTS.get(parts.scheme)
