"""An HTTP client for requests without authentication: what `Sender` needs of one, and no more.

`httpx.AsyncClient` merges defaults into each request, looks at each response for redirects, hooks
and cookies, and makes models of both: a quarter of a call that needs none of it.

    build_request ──▶ Prepared ──send──▶ Pool ──▶ Answered

Layer: L5; httpx for URLs and cookies, httpcore.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpcore
import httpx

from dedalus_mcp_transports.http_pool import Body, Pool

__all__ = ("Answered", "Place", "PlainClient", "Prepared")


class Place:
    """A URL as it is asked.

    Attributes:
        url: As httpx reads it.
        asked: As httpcore takes it.
        host: What the request calls it.
    """

    __slots__ = ("asked", "host", "url")

    def __init__(self, text: str) -> None:
        self.url = url = httpx.URL(text)
        self.asked = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        self.host = url.netloc


class Prepared:
    """A request that is ready to be sent.

    Attributes:
        url: Where to; `build_request` takes it in place of its text.
        sent: The request, as httpcore takes it.
    """

    __slots__ = ("sent", "url")

    def __init__(self, url: Place, sent: httpcore.Request) -> None:
        self.url = url
        self.sent = sent


class Answered:
    """A response, whose body is still to be read; it reads as one of httpx does.

    Attributes:
        status_code: The status.
        reason_phrase: What the server calls it.
        headers: By lower-case name; those that were said several times are joined by commas.
        is_stream_consumed: Never: nobody else has read the body.
    """

    __slots__ = ("_body", "headers", "reason_phrase", "status_code")

    is_stream_consumed = False

    def __init__(self, raw: Any, body: Body) -> None:
        self.status_code = raw.status
        self.reason_phrase = raw.extensions["reason_phrase"].decode("latin-1")
        self.headers: dict[str, str] = {}
        self._body = body
        for name, value in raw.headers:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def aiter_raw(self) -> AsyncIterator[bytes]:
        """The pieces of the body, as they come.

        Raises:
            httpx.TransportError: The connection broke.
        """
        return aiter(self._body)

    async def aclose(self) -> None:
        """Give the connection back."""
        await self._body.aclose()


class PlainClient:
    """Sends requests as they are, with the cookies that their servers have set.

    Args:
        pool: What carries them; closed with this.
        headers: What every request says, unless it says otherwise; names in lower case.
    """

    def __init__(self, pool: Pool, headers: Mapping[str, str]) -> None:
        self._pool = pool
        self._headers = dict(headers)
        self._cookies = httpx.Cookies()  # by them, a server's balancer finds the process that has the session

    def build_request(
        self,
        method: str,
        url: Place | str,
        *,
        headers: Mapping[str, str],
        content: bytes,
        timeout: tuple[float | None, float | None, float | None, float | None],
        extensions: Mapping[str, Any],
    ) -> Prepared:
        """Make a request: see `httpx.AsyncClient.build_request`; names of headers are in lower case.

        Raises:
            httpx.InvalidURL: The URL is none.
        """
        place = Place(url) if isinstance(url, str) else url
        said = [(b"host", place.host)]
        said += [(name.encode(), value.encode()) for name, value in (self._headers | dict(headers)).items()]
        if content or method == "POST":
            said.append((b"content-length", b"%d" % len(content)))
        if self._cookies:
            said += self._cookies_for(method, place)
        known = {"timeout": dict(zip(("connect", "read", "write", "pool"), timeout, strict=True)), **extensions}
        return Prepared(place, httpcore.Request(method, place.asked, headers=said, content=content, extensions=known))

    async def send(self, request: Prepared, *, stream: bool, follow_redirects: bool) -> Answered:
        """Send a request, and return the response, whose body is still to be read; redirects are not followed.

        Raises:
            httpx.TransportError: That failed.
            RuntimeError: The client is closed.
        """
        raw, body = await self._pool.send(request.sent)
        answered = Answered(raw, body)
        if "set-cookie" in answered.headers:
            asked = httpx.Request(request.sent.method.decode(), request.url.url)
            self._cookies.extract_cookies(httpx.Response(raw.status, headers=raw.headers, request=asked))
        return answered

    async def aclose(self) -> None:
        """Close the pool."""
        await self._pool.aclose()

    def _cookies_for(self, method: str, place: Place) -> list[tuple[bytes, bytes]]:
        asked = httpx.Request(method, place.url)
        self._cookies.set_cookie_header(asked)
        return [(name, value) for name, value in asked.headers.raw if name.lower() == b"cookie"]
