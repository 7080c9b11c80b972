"""OAuth for requests to one MCP server, as httpx takes it.

    request ──▶ with the token ──▶ 401 ──▶ refreshed, or got anew ──▶ again
                                   403 insufficient_scope ──▶ got anew with more scopes ──▶ again

The answer that is returned in the end is never read here, so a stream stays one.

Layer: L4; httpx.
Source: MCP 2026-07-28, basic/authorization; RFC 6750, 2.1 and 3.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import lru_cache
from typing import TypedDict

import anyio
import httpx

from dedalus_mcp.client.auth.challenge import WWWAuthenticateChallenge, token_challenge
from dedalus_mcp.client.auth.fetching import Fetcher, resolved
from dedalus_mcp.client.auth.grant import NONCE_RETRIES, Grant, Proof
from dedalus_mcp.client.auth.holder import Holder, Terms
from dedalus_mcp.client.auth.login import Login
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata, TokenResponse
from dedalus_mcp.client.auth.reach import Reach
from dedalus_mcp.client.auth.storage import MemoryTokenStorage, TokenStorage
from dedalus_mcp.client.auth.well_known import canonical, origin
from dedalus_mcp.transport import ASKING

__all__ = ("OAuth", "OAuthOptions")

MAX_AUTHORIZATIONS = 3
"""Tokens that are got for the sake of one request; a server that wants more than that never has enough."""

MAX_REFUSAL = 64 * 1024
REFUSAL_SECONDS = 1.0
"""What is read of the body of a 401 or 403, so that its connection can be used again."""


class OAuthOptions(TypedDict, total=False):
    """The options of `OAuth`, for those who hand them on."""

    scopes: Iterable[str] | None
    storage: TokenStorage | None
    issuer: str | None
    server_metadata: AuthorizationServerMetadata | None
    resource: str | None
    proof: Proof | None
    http_client: httpx.AsyncClient | None
    trusted_hosts: Iterable[str]
    clock: Callable[[], float]


class OAuth(httpx.Auth):
    """Gets tokens for one MCP server, and shows them to nobody else.

    The server is the one that the first request goes to; for another one, make another object.

    Args:
        grant: The way to get a token.
        scopes: What the token is to allow, besides what the server asks for; None to leave that to the server.
        storage: Where tokens and registrations are kept; None to keep them in memory.
        issuer: The authorization server to use, where the MCP server names several.
        server_metadata: Its metadata, if nothing is to be discovered.
        resource: What the token is for, if nothing is to be discovered.
        proof: Binds tokens to a key (DPoP).
        http_client: An `httpx.AsyncClient` of yours for requests to the authorization server, with its own
            proxies and certificates; it is not closed.  None to have one made whenever there are such requests.
        trusted_hosts: Hosts that may be asked without TLS, and at private addresses, whoever names them.
        clock: Tells the time, in seconds since the epoch.
    """

    def __init__(  # noqa: PLR0913 - how, what for, and where it is kept; who is asked, and by what
        self,
        grant: Grant,
        *,
        scopes: Iterable[str] | None = None,
        storage: TokenStorage | None = None,
        issuer: str | None = None,
        server_metadata: AuthorizationServerMetadata | None = None,
        resource: str | None = None,
        proof: Proof | None = None,
        http_client: httpx.AsyncClient | None = None,
        trusted_hosts: Iterable[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        if isinstance(scopes, str):
            scopes = scopes.split()
        if not (storage is None or (hasattr(storage, "load") and hasattr(storage, "save"))):
            raise TypeError(f"storage is a FileTokenStorage(directory) or another TokenStorage, not {storage!r:.80}")
        self._http_client = http_client
        self._trusted_hosts = tuple(trusted_hosts)
        self._proof = proof
        self._holder: Holder | None = None
        self._terms = Terms(
            grant=grant,
            storage=storage or MemoryTokenStorage(),
            fetching=self._fetching,
            clock=clock,
            scopes=tuple(scopes or ()),
            issuer=issuer,
            metadata=server_metadata,
            resource=resource,
            proof=proof,
        )

    def __repr__(self) -> str:
        server = "no server yet" if self._holder is None else self._holder.server
        return f"{type(self).__name__}({type(self._terms.grant).__name__}, {server})"

    async def get_token(self, url: str | None = None) -> TokenResponse:
        """Return a token that is good, got ahead of time if there is none yet.

        Args:
            url: The MCP server; None for the one that is known already.

        Raises:
            AuthError: There is none.
            ValueError: No server is known, or it is another one.
        """
        return (await self._holder_for(url).good()).token

    async def forget(self, url: str | None = None) -> None:
        """Forget the token, here and where it is kept; the next request gets another one.

        Args:
            url: The MCP server; None for the one that is known already, if any.

        Raises:
            AuthError: The storage fails.
            ValueError: It is another one than the one that is known.
        """
        if url is not None or self._holder is not None:
            await self._holder_for(url).forget()

    # httpx.

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        """Refuse: getting a token takes an event loop.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError(f"{type(self).__name__} works with httpx.AsyncClient only, not with httpx.Client")

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """See `httpx.Auth`.

        Raises:
            AuthError: A token is needed, and there is none.
        """
        url = str(request.url)
        holder = self._holder = self._holder or Holder(canonical(url), self._terms)
        login = await holder.usable()
        if not holder.covers(url):
            yield request
            return
        attempt = _Attempt(holder, request)
        nonces = NONCE_RETRIES
        while True:
            self._show(request, login)
            response = yield request
            challenge = self._challenge(request, response)
            if challenge is None:
                return
            if login is not None and self._proof is not None and challenge.error == "use_dpop_nonce":
                if nonces == 0:  # the token is as good as any other, so there is nothing to try
                    return
                nonces -= 1
            else:
                with nullcontext() if attempt.quiet else self._asking(request):
                    another = await attempt.after(login, response.status_code, challenge)
                if another is None:
                    return
                login = another
            await _drain(response)

    def _asking(self, request: httpx.Request) -> AbstractContextManager[None]:
        """Let the clocks of whoever waits for the answer stand still, where a person may be asked."""
        asking: Callable[[], AbstractContextManager[None]] = request.extensions.get(ASKING, nullcontext)
        return asking() if self._terms.grant.interactive else nullcontext()

    def _show(self, request: httpx.Request, login: Login | None) -> None:
        if login is None:
            return
        token = login.token.access_token
        if self._proof is None:
            request.headers["authorization"] = f"Bearer {token}"
            return
        request.headers["authorization"] = f"{self._proof.scheme} {token}"
        request.headers.update(self._proof.headers(request.method, str(request.url), token))

    def _challenge(self, request: httpx.Request, response: httpx.Response) -> WWWAuthenticateChallenge | None:
        """Return what the server wants to be shown; None if it is content, or if it is not the server that speaks."""
        refused = response.status_code in (401, 403)
        if not refused and self._proof is None:
            return None
        if origin(str(response.request.url)) != origin(str(request.url)):  # we were sent on to somebody else
            return None
        if self._proof is not None:
            self._proof.learn(str(request.url), response.headers)
        if not refused:
            return None
        headers = response.headers.get_list("www-authenticate")
        said = token_challenge(*headers, scheme="bearer" if self._proof is None else self._proof.scheme.lower())
        if response.status_code == 403:
            return said if said is not None and said.error == "insufficient_scope" else None
        return said if headers else WWWAuthenticateChallenge("Bearer")  # some only say no

    # What is asked of others.

    def _holder_for(self, url: str | None) -> Holder:
        if self._holder is None:
            if url is None:
                raise ValueError("no server is known yet: get_token(url) names it")
            self._holder = Holder(canonical(url), self._terms)
        elif url is not None and not self._holder.covers(url):
            raise ValueError(f"this object is for {self._holder.server}; make another one for another server")
        return self._holder

    @asynccontextmanager
    async def _fetching(self, server: str) -> AsyncGenerator[Fetcher]:
        reach = Reach(server, self._trusted_hosts)
        if self._http_client is not None:
            yield Fetcher(self._http_client, reach)
            return
        async with httpx.AsyncClient(verify=_tls()) as http:
            yield Fetcher(http, reach, resolve=resolved)


class _Attempt:
    """What has been tried for the sake of one request.

    Attributes:
        quiet: Whether nobody is asked to sign in for it.
    """

    def __init__(self, holder: Holder, request: httpx.Request) -> None:
        self.quiet = _is_background(request)
        self._waits = self.quiet and request.method != "DELETE"  # until somebody signs in for another reason
        self._holder = holder
        self._revision = request.headers.get("mcp-protocol-version", "")
        self._refused = 0
        self._left = MAX_AUTHORIZATIONS

    async def after(self, used: Login | None, status: int, challenge: WWWAuthenticateChallenge) -> Login | None:
        """Return the login to try next; None if there is no point in another one.

        Raises:
            AuthError: There is none.
        """
        if self._left == 0:
            return None
        self._left -= 1
        if status == 403 and used is not None:
            quiet = self.quiet and self._holder.asks_somebody
            return None if quiet else await self._holder.widen(used, challenge, revision=self._revision)
        self._refused += 1
        if self._refused > 1 and self._holder.is_granted(used):  # there is no fresher token than that
            return None
        anew = self._refused > 1 and self._holder.is_refreshed(used)  # else it is another process's, and perhaps old
        login = await self._holder.renew(used, challenge, revision=self._revision, anew=anew, quiet=self.quiet)
        return await self._holder.another(used) if login is None and self._waits else login


def _is_background(request: httpx.Request) -> bool:
    """Whether nobody waits for the answer: the end of a session, or a stream that is opened again and again.

    A page to sign in at that opens by itself, at night perhaps, and then once more, helps nobody.
    """
    if request.method == "GET":  # that of 2024-11-05 is where a connection begins, and has none of these
        return any(name in request.headers for name in ("mcp-session-id", "mcp-protocol-version", "last-event-id"))
    return request.method == "DELETE" or request.headers.get("mcp-method") == "subscriptions/listen"


async def _drain(response: httpx.Response) -> None:
    """Read the body of a refusal within bounds and leave nothing of it: httpx would read all there is."""
    stream = response.stream
    if not isinstance(stream, httpx.AsyncByteStream):
        return
    read = 0
    with anyio.move_on_after(REFUSAL_SECONDS) as scope:  # left by cancelling: generators end from the inside out
        async for chunk in stream:
            read += len(chunk)
            if read > MAX_REFUSAL:
                scope.cancel()
    with anyio.CancelScope(shield=True):
        await stream.aclose()
    response.stream = httpx.ByteStream(b"")


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Return the one TLS context: making it takes longer than all else together."""
    return httpx.create_ssl_context()
