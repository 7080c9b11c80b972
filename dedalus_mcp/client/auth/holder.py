"""The token for one MCP server: kept, renewed in time, and got anew when it is refused.

    usable() ──▶ the token, refreshed a little before its end
    renew()  ──▶ after a 401: refreshed, or got anew
    widen()  ──▶ after a 403: got anew with more scopes, once for each set of scopes

Whoever asks while a token is being got waits for that one.

Layer: L4.
Source: MCP 2026-07-28, basic/authorization; RFC 6749, 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from functools import partial

import anyio

from dedalus_mcp.client.auth.challenge import WWWAuthenticateChallenge
from dedalus_mcp.client.auth.discovery import Discovered, discover
from dedalus_mcp.client.auth.failures import AuthConfigError, DiscoveryError, TokenError
from dedalus_mcp.client.auth.fetching import Fetcher
from dedalus_mcp.client.auth.flight import Flight
from dedalus_mcp.client.auth.grant import Flow, Grant, Proof
from dedalus_mcp.client.auth.login import Login, alone, load, save
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata, TokenResponse
from dedalus_mcp.client.auth.scopes import scopes_to_ask
from dedalus_mcp.client.auth.storage import TokenStorage
from dedalus_mcp.client.auth.well_known import is_within, origin

__all__ = ("Holder", "Terms")

HOPELESS = frozenset({"invalid_grant", "invalid_client", "unauthorized_client"})
"""What an authorization server says to a refresh token, or a client, that is good for nothing any more (B136)."""

MAX_ASKED = 1024
"""Scopes that are remembered as asked for; a server that names ever others is asked for them again."""

Fetching = Callable[[str], AbstractAsyncContextManager[Fetcher]]


@dataclass(frozen=True, slots=True)
class Terms:
    """How tokens are got, whichever server they are for.

    Attributes:
        grant: The way to get one.
        storage: Where they are kept.
        fetching: Opens what sends requests on behalf of a server.
        clock: Tells the time, in seconds since the epoch.
        scopes: What the user wants them to allow.
        issuer: The authorization server to use; None for the one that the server names.
        metadata: Its metadata, if they are known beforehand.
        resource: What the tokens are for, likewise.
        proof: Binds them to a key.
    """

    grant: Grant
    storage: TokenStorage
    fetching: Fetching
    clock: Callable[[], float]
    scopes: tuple[str, ...] = ()
    issuer: str | None = None
    metadata: AuthorizationServerMetadata | None = None
    resource: str | None = None
    proof: Proof | None = None


class Holder:
    """Holds the token for one MCP server.

    Args:
        server: Its URL, as `canonical`.
        terms: See there.
    """

    def __init__(self, server: str, terms: Terms) -> None:
        self.server = server
        self._terms = terms
        self._login: Login | None = None
        self._read = False
        self._found: Discovered | None = None
        self._asked: set[str] = set()  # scopes, in this run of the program
        self._granted: Login | None = None  # the last one that came of the grant itself
        self._refreshed: Login | None = None  # the last one that came of refreshing
        self._kept: Login | None = None  # what the storage held when it was last read or written
        self._forgotten = 0  # how often
        self._reading: Flight[None] = Flight()
        self._flight: Flight[Login | None] = Flight()
        self._news: anyio.Event | None = None  # there is another login

    def covers(self, url: str) -> bool:
        """Whether the token is meant for this URL: one of the resource's, or the server's own."""
        if is_within(url, self.server):
            return True
        if self._login is None:
            return False
        if self._login.resource is None:  # 2025-03-26 knows no narrower word for it than the host
            return origin(url) == origin(self.server)
        return is_within(url, self._login.resource)

    async def usable(self) -> Login | None:
        """Return the login, renewed if it is about to end and that can be done; None if there is none.

        Raises:
            AuthError: The storage fails.
        """
        if not self._read:
            await self._reading.run(self._load)
        login = self._login
        if login is not None and login.is_ending(self._terms.clock()):
            return await self._flight.run(partial(self._renew_early, login))
        return login

    async def good(self) -> Login:
        """Return a login that has not ended, got now if there is none.

        Raises:
            AuthError: There is none.
        """
        login = await self.usable()
        if login is None or login.is_ending(self._terms.clock()):
            login = await self.renew(login, None, revision="")
            assert login is not None, "only those who ask quietly get none"
        return login

    def is_granted(self, login: Login | None) -> bool:
        """Whether a login came of the grant, and there has been none since."""
        return login is not None and login is self._granted

    def is_refreshed(self, login: Login | None) -> bool:
        """Whether a login came of refreshing, here, and there has been none of these since."""
        return login is not None and login is self._refreshed

    @property
    def asks_somebody(self) -> bool:
        """Whether a person takes part when a token is got."""
        return self._terms.grant.interactive

    async def renew(
        self,
        used: Login | None,
        challenge: WWWAuthenticateChallenge | None,
        *,
        revision: str,
        anew: bool = False,
        quiet: bool = False,
    ) -> Login | None:
        """Return a login after a 401; None if somebody would have to be asked for it and may not be.

        Args:
            used: The one that was refused.
            challenge: What the server said.
            revision: The protocol revision of the request.
            anew: Whether it is as fresh as refreshing makes one.
            quiet: Whether nobody may be asked.

        Raises:
            AuthError: There is none.
        """
        work = partial(self._renew, used, challenge, revision, anew=anew, quiet=quiet)
        login = await self._flight.run(work)
        while login is None and not quiet:  # it was the result of somebody else, who was quiet
            login = await self._flight.run(work)
        return login

    async def widen(self, used: Login, challenge: WWWAuthenticateChallenge, *, revision: str) -> Login | None:
        """Return a login that allows what the challenge names; None if asking for it has led nowhere before.

        Raises:
            AuthError: There is none.
        """
        needed = set(challenge.scopes)
        if self._login is used and needed <= self._asked:  # AUTH-44: the answer would be the same
            return None
        return await self._flight.run(partial(self._widen, used, challenge, revision))

    async def another(self, used: Login | None) -> Login:
        """Wait until somebody else has got another login than the one that was refused."""
        while self._login is None or self._login is used:
            self._news = self._news or anyio.Event()
            await self._news.wait()
        return self._login

    async def forget(self) -> None:
        """Forget the token, here and where it is kept.

        Raises:
            AuthError: The storage fails.
        """
        self._asked.clear()
        self._forgotten += 1
        await self._keep(None)

    # One at a time.

    async def _load(self) -> None:
        self._login = self._kept = await self._stored()
        self._read = True

    async def _renew_early(self, login: Login) -> Login:
        if self._login is login and self._found is not None and self._found.server.issuer == login.issuer:
            # Where it fails, the server decides: it refuses the token, and says who gives another one now.
            with suppress(AuthConfigError, DiscoveryError, TokenError):
                if login.token.refresh_token is not None:
                    return await self._refresh(self._found, login)
                if not self.asks_somebody:
                    return await self._obtain(self._found, ())
        return self._login or login

    async def _renew(
        self,
        used: Login | None,
        challenge: WWWAuthenticateChallenge | None,
        revision: str,
        *,
        anew: bool,
        quiet: bool,
    ) -> Login | None:
        if self._login is not used and self._login is not None:
            return self._login  # somebody was faster
        elsewhere = await self._newer()
        if elsewhere is not None:
            return elsewhere
        found = await self._find(challenge, revision)
        login = self._login
        if login is not None and login.token.refresh_token is not None and not anew:
            try:
                return await self._refresh(found, login)
            except TokenError as error:
                if error.code not in HOPELESS:
                    raise
        if quiet and self.asks_somebody:
            return None
        return await self._obtain(found, () if challenge is None else challenge.scopes)

    async def _widen(self, used: Login, challenge: WWWAuthenticateChallenge, revision: str) -> Login:
        if self._login is not used and self._login is not None:
            return self._login
        return await self._obtain(await self._find(challenge, revision), challenge.scopes)

    async def _find(self, challenge: WWWAuthenticateChallenge | None, revision: str) -> Discovered:
        """Find out who gives tokens now; a login of anybody else is forgotten (AUTH-30)."""
        found = self._found = await self._discover(challenge, revision)
        bound = found.resource is not None and found.resource.dpop_bound_access_tokens_required
        if self._terms.proof is None and (bound or (challenge is not None and challenge.is_for("dpop"))):
            raise AuthConfigError(f"{self.server} takes only tokens that are bound to a key: give proof=DPoP()")
        if self._login is not None and self._login.issuer != found.server.issuer:
            self._asked.clear()
            await self._keep(None)
        return found

    async def _discover(self, challenge: WWWAuthenticateChallenge | None, revision: str) -> Discovered:
        if self._terms.metadata is not None:
            return Discovered(self._terms.metadata, None)
        where = None if challenge is None else challenge.resource_metadata
        async with self._terms.fetching(self.server) as fetcher:
            return await discover(
                fetcher, self.server, resource_metadata=where, issuer=self._terms.issuer, revision=revision
            )

    async def _refresh(self, found: Discovered, login: Login) -> Login:
        async with alone(self._terms.storage, self._key):
            elsewhere = await self._newer()
            if elsewhere is not None and elsewhere.issuer == login.issuer:
                return elsewhere
            form = {"grant_type": "refresh_token", "refresh_token": login.token.refresh_token or ""}
            forgotten = self._forgotten
            try:
                async with self._terms.fetching(self.server) as fetcher:
                    flow = self._flow(found, login.requested, fetcher)
                    token = await flow.token(form, await self._terms.grant.client(flow))
            except TokenError as error:
                if error.code in HOPELESS:
                    await self._keep(login.without_refresh())
                raise
            self._refreshed = login.renewed(token, self._terms.clock())
            if self._forgotten != forgotten:  # meanwhile: it serves this request, and is not kept
                return self._refreshed
            return await self._keep_new(self._refreshed)

    async def _newer(self) -> Login | None:
        """Take a login that another process has got since, if there is one; clocks do not tell."""
        stored = await self._stored()
        if stored is None or stored == self._kept:
            return None
        self._login = self._kept = stored
        return stored

    async def _stored(self) -> Login | None:
        """Return what is kept for this server, and for tokens of this kind."""
        login = await load(self._terms.storage, self._key, Login)
        ours = login is not None and login.server == self.server and login.bound_to == self._bound_to
        return login if ours else None

    async def _obtain(self, found: Discovered, challenged: Iterable[str]) -> Login:
        grant, login = self._terms.grant, self._login
        before = () if login is None else login.requested
        scopes = scopes_to_ask(
            challenged,
            self._terms.scopes,
            before,
            resource=found.resource,
            server=found.server,
            lasting=grant.interactive,
        )
        if len(self._asked) > MAX_ASKED:
            self._asked.clear()
        self._asked.update((*scopes, *challenged))
        async with self._terms.fetching(self.server) as fetcher:
            flow = self._flow(found, scopes, fetcher)
            token = await grant.obtain(flow)
        self._granted = self._made(flow, token)
        return await self._keep_new(self._granted)

    def _flow(self, found: Discovered, scopes: tuple[str, ...], fetcher: Fetcher) -> Flow:
        named = self.server if self._terms.metadata is not None else None
        named = named if found.resource is None else found.resource.resource
        return Flow(
            server=found.server,
            url=self.server,
            resource=self._terms.resource or named,
            scopes=scopes,
            fetcher=fetcher,
            storage=self._terms.storage,
            proof=self._terms.proof,
            now=self._terms.clock(),
        )

    def _made(self, flow: Flow, token: TokenResponse) -> Login:
        return Login(
            server=self.server,
            issuer=flow.server.issuer,
            resource=flow.resource,
            requested=flow.scopes,
            token=token,
            got_at=self._terms.clock(),
            bound_to=self._bound_to,
        )

    async def _keep_new(self, login: Login) -> Login:
        await self._keep(login)
        return login

    async def _keep(self, login: Login | None) -> None:
        self._login, self._read = login, True
        if self._news is not None:
            self._news.set()
            self._news = None
        await save(self._terms.storage, self._key, login)
        self._kept = login

    @property
    def _key(self) -> str:
        return f"token {self.server}"

    @property
    def _bound_to(self) -> str | None:
        return None if self._terms.proof is None else self._terms.proof.thumbprint
