"""Consent without a user: the page of the authorization server is asked for here, and where it leads is the answer.

For tests, and for servers that need nobody to click.

Layer: L4; httpx.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import anyio
import httpx

from dedalus_mcp.client.auth.failures import AuthError, said

__all__ = ("HeadlessRedirect",)

SECONDS = 20.0


class HeadlessRedirect:
    """A `Redirect` that asks for the page itself and follows it nowhere.

    Args:
        uri: The redirect URI, which is never asked for.
        http_client: Asks; None to have one made.
    """

    def __init__(
        self, uri: str = "http://localhost:3000/callback", *, http_client: httpx.AsyncClient | None = None
    ) -> None:
        self.uri = uri
        self._http_client = http_client

    @asynccontextmanager
    async def listen(self, preferred: Sequence[str]) -> AsyncGenerator[HeadlessRedirect]:
        """See `Redirect`."""
        del preferred
        yield self

    async def send(self, url: str, state: str) -> str:
        """See `Landing`."""
        del state
        try:
            with anyio.fail_after(SECONDS):
                if self._http_client is not None:
                    answer = await _asked(self._http_client, url)
                else:
                    async with httpx.AsyncClient() as http:
                        answer = await _asked(http, url)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, TimeoutError) as error:
            raise AuthError(f"the page to sign in cannot be reached: {type(error).__name__}") from error
        location = answer.headers.get("location", "")
        if not answer.is_redirect or not location.startswith(self.uri):
            where = said(url.partition("?")[0])
            raise AuthError(f"{where} answers {answer.status_code} and does not send us back to {said(self.uri)}")
        return str(location)


async def _asked(http: httpx.AsyncClient, url: str) -> httpx.Response:
    async with http.stream("GET", url, follow_redirects=False) as answer:  # whose body is of no interest
        return answer
