"""An HTTP client for requests without authentication: what `Sender` needs of one, and no more.

`httpx.AsyncClient` merges defaults into each request, and looks at each response for redirects, hooks
and cookies, which is a sixth of a call that needs none of them.

Layer: L5; httpx.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

__all__ = ("PlainClient",)


class PlainClient:
    """Sends requests as they are, with the cookies that their servers have set.

    Args:
        transport: What carries them; closed with this.
        headers: What every request says, unless it says otherwise.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport, headers: Mapping[str, str]) -> None:
        self._transport = transport
        self._headers = dict(headers)
        self._cookies = httpx.Cookies()  # by them, a server's balancer finds the process that has the session

    def build_request(
        self,
        method: str,
        url: httpx.URL | str,
        *,
        headers: Mapping[str, str],
        content: bytes,
        timeout: tuple[float | None, float | None, float | None, float | None],
        extensions: Mapping[str, Any],
    ) -> httpx.Request:
        """Make a request: see `httpx.AsyncClient.build_request`.

        Raises:
            httpx.InvalidURL: The URL is none.
        """
        known = {"timeout": httpx.Timeout(timeout).as_dict(), **extensions}
        request = httpx.Request(method, url, headers={**self._headers, **headers}, content=content, extensions=known)
        if self._cookies:
            self._cookies.set_cookie_header(request)
        return request

    async def send(self, request: httpx.Request, *, stream: bool, follow_redirects: bool) -> httpx.Response:
        """Send a request, and return the response, whose body is still to be read; redirects are not followed.

        Raises:
            httpx.TransportError: That failed.
            RuntimeError: The client is closed.
        """
        response = await self._transport.handle_async_request(request)
        response.request = request
        if "set-cookie" in response.headers:
            self._cookies.extract_cookies(response)
        return response

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()
