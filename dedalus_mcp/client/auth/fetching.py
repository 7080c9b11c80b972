"""The small requests that getting a token takes: bounded in size, time and reach.

Layer: L4; httpx.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple
from urllib.parse import urlencode, urljoin, urlsplit

import anyio
import httpx

from dedalus_mcp.client.auth.failures import AuthError, DiscoveryError
from dedalus_mcp.client.auth.reach import Reach, shown
from dedalus_mcp.content_coding import ACCEPTED, folded, ignored
from dedalus_mcp.excerpt import excerpt

__all__ = ("Fetched", "Fetcher", "resolved")

MAX_DOCUMENT = 256 * 1024
"""Bytes of an answer; the largest real metadata have a tenth of that."""

MAX_REDIRECTS = 3
SECONDS = 20.0
"""How long one request may take, from its beginning to the end of its answer."""

Resolve = Callable[[str], Awaitable[list[str]]]


class Fetched(NamedTuple):
    """An answer.

    Attributes:
        url: What was asked, as it may be shown.
        status: The status of the answer.
        headers: Its headers; found by name in any case.
        body: Its body.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class Fetcher:
    """Asks for documents and posts forms.

    Args:
        http: The HTTP client; only its transports are used, not its headers, cookies or authentication.
        reach: Where it may go.
        resolve: Finds the addresses of a host, which are looked at before it is asked; None to leave that out,
            as behind a proxy, where they say nothing.
        seconds: See `SECONDS`.
    """

    def __init__(
        self, http: httpx.AsyncClient, reach: Reach, *, resolve: Resolve | None = None, seconds: float = SECONDS
    ) -> None:
        self._http = http
        self.reach = reach
        self._resolve = resolve
        self._seconds = seconds

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> Fetched:
        """Get a document; redirects within its origin are followed.

        Raises:
            DiscoveryError: It may not be asked for, or there is no answer within the bounds.
        """
        origin = urlsplit(self.reach.check(url, "the address"))
        for _ in range(MAX_REDIRECTS + 1):
            fetched = await self._send("GET", url, {"accept": "application/json", **(headers or {})}, b"")
            if not 300 <= fetched.status < 400 or "location" not in fetched.headers:
                return fetched
            try:
                url = urljoin(url, fetched.headers["location"])
                there = urlsplit(url)
            except ValueError:
                return fetched
            if (there.scheme, there.netloc) != (origin.scheme, origin.netloc):
                return fetched
        raise DiscoveryError(f"{shown(url)} sends us round in a circle: {MAX_REDIRECTS} redirects")

    async def post_form(self, url: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Fetched:
        """Post a form.

        Raises:
            DiscoveryError: See `get`; redirects are not followed, whatever they are.
        """
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return await self._post(url, urlencode(form).encode(), {**kind, **(headers or {})})

    async def post_json(self, url: str, content: bytes, headers: Mapping[str, str] | None = None) -> Fetched:
        """Post a JSON document.

        Raises:
            DiscoveryError: See `post_form`.
        """
        return await self._post(url, content, {"content-type": "application/json", **(headers or {})})

    async def _post(self, url: str, content: bytes, headers: Mapping[str, str]) -> Fetched:
        return await self._send("POST", url, {"accept": "application/json", **headers}, content)

    async def _send(self, method: str, url: str, headers: Mapping[str, str], content: bytes) -> Fetched:
        where = shown(self.reach.check(url, "the address"))
        try:
            with anyio.fail_after(self._seconds):
                await self._look_at(url)
                whole = {"accept-encoding": ACCEPTED, **headers}
                return await self._exchange(httpx.Request(method, url, headers=whole, content=content), where)
        except TimeoutError:
            raise DiscoveryError(f"no answer of {where} within {self._seconds:.3g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as error:  # or of host or body
            raise DiscoveryError(f"cannot reach {where}: {excerpt(str(error) or type(error).__name__)}") from error

    async def _exchange(self, request: httpx.Request, where: str) -> Fetched:
        held = bytearray()
        # Not the client's own authentication: nobody but the MCP server is to see that.
        response = await self._http.send(request, stream=True, auth=_nobody, follow_redirects=False)
        try:
            with anyio.CancelScope() as scope:  # left by cancelling: generators end from the inside out
                chunks, unfold = folded(response)
                async for chunk in chunks:
                    for piece in unfold(chunk):
                        held += piece
                        if len(held) > MAX_DOCUMENT:
                            scope.cancel()
                            unfold = ignored
                            break
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()
        if len(held) > MAX_DOCUMENT:
            raise DiscoveryError(f"the answer of {where} is longer than {MAX_DOCUMENT} bytes")
        return Fetched(where, response.status_code, response.headers, bytes(held))

    async def _look_at(self, url: str) -> None:
        """Refuse a name of the internet that stands for an address in a private network."""
        if self._resolve is None or not self.reach.must_resolve(url):
            return
        addresses = await self._resolve(urlsplit(url).hostname or "")
        if self.reach.allows_addresses(addresses):
            return
        if not self.reach.allows_addresses(addresses, await self._resolve(self.reach.host)):
            raise DiscoveryError(f"{shown(url)} is in a private network, and the server that names it is not")


def _nobody(request: httpx.Request) -> httpx.Request:
    return request


async def resolved(host: str) -> list[str]:
    """Return the addresses of a host; none where it has none that could be found out here."""
    try:
        return [str(each[4][0]) for each in await anyio.getaddrinfo(host, None)]
    except (OSError, AuthError):
        return []
