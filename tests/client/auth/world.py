"""A small internet in one process: an MCP server that wants tokens, and the servers that give them.

world = World()
server = AuthorizationServer(world, "https://as.example")
guard = Guard(world, "https://mcp.example/mcp", server)
auth = AuthorizationCodeAuth(redirect=world.redirect(), http_client=world.client())
await world.client(auth).post("https://mcp.example/mcp")

Every server checks what it is sent as a strict one does, and `world.asked` holds all that was ever sent.
What a test wants to be wrong, it changes: metadata are dictionaries, answers are functions.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import anyio
import httpx

from dedalus_mcp.client.auth import HeadlessRedirect, OAuth

__all__ = ("CALLBACK", "Asked", "AuthorizationServer", "Guard", "Issued", "World", "refusal")

CALLBACK = "http://localhost:3000/callback"
CIMD = "https://client.example/metadata.json"

Answer = Callable[[httpx.Request], Awaitable[httpx.Response] | httpx.Response]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, with the fields of its query or form."""

    method: str
    url: str
    headers: httpx.Headers
    content: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    @property
    def fields(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.url).query or self.content.decode(), keep_blank_values=True))


class World(httpx.AsyncBaseTransport):
    """Every host that there is; what is elsewhere cannot be reached."""

    def __init__(self) -> None:
        self.hosts: dict[str, dict[str, Answer]] = {}
        self.asked: list[Asked] = []
        self.clients: list[httpx.AsyncClient] = []
        self._news = anyio.Event()

    def client(self, auth: OAuth | None = None, **settings: Any) -> httpx.AsyncClient:
        made = httpx.AsyncClient(transport=self, auth=auth, **settings)
        self.clients.append(made)
        return made

    def redirect(self, uri: str = CALLBACK) -> HeadlessRedirect:
        return HeadlessRedirect(uri, http_client=self.client())

    def at(self, url: str, answer: Answer) -> None:
        """Answer requests for one URL, whatever their query."""
        parts = urlsplit(url)
        self.hosts.setdefault(f"{parts.scheme}://{parts.netloc}", {})[parts.path or "/"] = answer

    def gone(self, url: str) -> None:
        parts = urlsplit(url)
        self.hosts[f"{parts.scheme}://{parts.netloc}"].pop(parts.path or "/")

    def to(self, part: str) -> list[Asked]:
        """All requests with this in their URL, in order."""
        return [asked for asked in self.asked if part in asked.url]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        await anyio.lowlevel.checkpoint()  # others go on meanwhile, as they do where there is a network
        self.asked.append(Asked(request.method, str(url), httpx.Headers(request.headers), await request.aread()))
        port = "" if url.port is None else f":{url.port}"
        host = self.hosts.get(f"{url.scheme}://{url.host}{port}")
        if host is None:
            raise httpx.ConnectError(f"there is no {url.host}")
        answer = host.get(url.path)
        if answer is None:
            return httpx.Response(404, text="nothing here")
        made = answer(request)
        made = made if isinstance(made, httpx.Response) else await made
        self._news.set()
        self._news = anyio.Event()
        return made

    async def until(self, is_so: Callable[[], object]) -> None:
        """Return when it is so; whatever changes here changes by an answer."""
        with anyio.fail_after(20):
            while not is_so():
                await self._news.wait()


@dataclass
class Issued:
    """What was given out, and for what."""

    client: str
    scopes: frozenset[str]
    resource: str | None
    challenge: str = ""
    redirect_uri: str = ""


class AuthorizationServer:
    """Gives tokens, if all is as the standards say.

    Attributes:
        metadata: What it says of itself.
        tokens: The access tokens that are good.
        refresh: The refresh tokens that are good.
        spent: Those that were used, each once.
        reused: Those of them that came again.
        clients: Whom it knows: id, and secret.
        lifetime: Seconds that a token lives.
        answer_user: Changes what a user is sent back with.
        answer_token: Answers a form in place of the server.
        method: How clients that register are to prove who they are.
        grants_scopes: What of the wanted scopes is granted.
    """

    def __init__(self, world: World, issuer: str, *, place: str | None = None) -> None:
        parts = urlsplit(issuer)
        base = f"{parts.scheme}://{parts.netloc}"
        self.world, self.issuer, self.base = world, issuer, base
        self.metadata: dict[str, Any] = {
            "issuer": issuer,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "registration_endpoint": f"{base}/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True,
        }
        self.place = place or f"{base}/.well-known/oauth-authorization-server{parts.path}"
        self.codes: dict[str, Issued] = {}
        self.tokens: dict[str, Issued] = {}
        self.refresh: dict[str, Issued] = {}
        self.spent: set[str] = set()
        self.reused: list[str] = []
        self.clients: dict[str, str | None] = {CIMD: None}
        self.method = "none"
        self.lifetime: float | None = 3600
        self.answer_user: Callable[[dict[str, str]], dict[str, str]] = lambda fields: fields
        self.answer_token: Callable[[dict[str, str]], httpx.Response | None] = lambda form: None
        self.grants_scopes: Callable[[set[str]], set[str]] = lambda scopes: scopes
        self.names = itertools.count(1)
        world.at(self.place, lambda request: httpx.Response(200, json=self.metadata))
        world.at(f"{base}/authorize", self._authorize)
        world.at(f"{base}/token", self._token)
        world.at(f"{base}/register", self._register)

    def knows(self, token: str) -> Issued | None:
        return self.tokens.get(token)

    def revoke_all(self) -> None:
        self.tokens.clear()

    @property
    def authorizations(self) -> list[dict[str, str]]:
        """What was asked at the authorization endpoint."""
        return [asked.fields for asked in self.world.to(f"{self.base}/authorize")]

    @property
    def redeemed(self) -> list[dict[str, str]]:
        """What was asked at the token endpoint."""
        return [asked.fields for asked in self.world.to(f"{self.base}/token")]

    @property
    def registered(self) -> list[Asked]:
        return self.world.to(f"{self.base}/register")

    def _authorize(self, request: httpx.Request) -> httpx.Response:
        query = dict(parse_qsl(request.url.query.decode()))
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        if query["client_id"] not in self.clients:
            return httpx.Response(400, text="who is that?")  # to the user alone: the client hears nothing
        code = f"code-{next(self.names)}"
        self.codes[code] = Issued(
            query["client_id"],
            frozenset(query.get("scope", "").split()),
            query.get("resource"),
            query["code_challenge"],
            query["redirect_uri"],
        )
        fields = {"code": code, "state": query["state"]}
        if self.metadata.get("authorization_response_iss_parameter_supported"):
            fields["iss"] = self.issuer
        where = f"{query['redirect_uri']}?{urlencode(self.answer_user(fields))}"
        return httpx.Response(302, headers={"location": where})

    def _token(self, request: httpx.Request) -> httpx.Response:
        form = dict(parse_qsl(request.content.decode()))
        told = self.answer_token(form)
        if told is not None:
            return told
        client = self._client(request, form)
        if client is None:
            return refusal(401, "invalid_client")
        issued = self._redeem(client, form)
        if issued is None:
            return refusal(400, "invalid_grant")
        issued.scopes = frozenset(self.grants_scopes(set(issued.scopes)))
        name = next(self.names)
        self.tokens[f"token-{name}"] = issued
        self.refresh[f"refresh-{name}"] = issued
        made = {"access_token": f"token-{name}", "token_type": "bearer", "refresh_token": f"refresh-{name}"}
        return httpx.Response(200, json={**made, **({} if self.lifetime is None else {"expires_in": self.lifetime})})

    def _client(self, request: httpx.Request, form: dict[str, str]) -> str | None:
        """Who asks, if they can prove it in a way that is taken here."""
        taken = self.metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        header = request.headers.get("authorization", "")
        if header.startswith("Basic "):
            assert "client_secret_basic" in taken
            assert "client_secret" not in form
            id, _, secret = base64.b64decode(header[6:]).decode().partition(":")
            id, secret = unquote(id), unquote(secret)
        else:
            id, secret = form.get("client_id", ""), form.get("client_secret", "")
            assert ("client_secret_post" if secret else "none") in taken
        known = id in self.clients and (self.clients[id] or "") == secret
        return id if known else None

    def _redeem(self, client: str, form: dict[str, str]) -> Issued | None:
        if form["grant_type"] == "refresh_token":
            issued = self.refresh.pop(form["refresh_token"], None)
            if form["refresh_token"] in self.spent:  # stolen, it seems: nobody keeps anything
                self.reused.append(form["refresh_token"])
                self.refresh.clear()
                self.tokens.clear()
            self.spent.add(form["refresh_token"])
            return issued if issued is not None and issued.client == client else None
        if form["grant_type"] == "client_credentials":
            return Issued(client, frozenset(form.get("scope", "").split()), form.get("resource"))
        assert form["grant_type"] == "authorization_code"
        issued = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        asked_for = (client, challenge, form["redirect_uri"], form.get("resource"))
        if issued is None or asked_for != (issued.client, issued.challenge, issued.redirect_uri, issued.resource):
            return None
        return issued

    def _register(self, request: httpx.Request) -> httpx.Response:
        id = f"client-{next(self.names)}"
        secret = None if self.method == "none" else f"s{id}:%s"
        self.clients[id] = secret
        told = {} if secret is None else {"client_secret": secret, "client_secret_expires_at": 0}
        return httpx.Response(201, json={"client_id": id, "token_endpoint_auth_method": self.method, **told})


@dataclass
class Guard:
    """An MCP server that lets nobody in without a token for it.

    Attributes:
        server: Whose tokens it takes.
        metadata: What it says of itself; at `place`.
        says_where: Whether its challenge names that place.
        scope: What its challenge says is needed.
        needs: The scopes that a token must have, or else 403.
        inside: Answers who is let in.
    """

    world: World
    url: str
    server: AuthorizationServer
    place: str | None = None
    says_where: bool = True
    scope: str | None = None
    needs: Callable[[httpx.Request], Iterable[str]] = lambda request: ()
    inside: Answer = lambda request: httpx.Response(200, json={"in": True})
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    scheme: str = "Bearer"

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if self.place is None:
            self.place = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"
        self.metadata = {"resource": self.url, "authorization_servers": [self.server.issuer], **self.metadata}
        self.world.at(self.place, lambda request: httpx.Response(200, json=self.metadata))
        self.world.at(self.url, self.answer)

    async def answer(self, request: httpx.Request) -> httpx.Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        issued = self.server.knows(token) if scheme == self.scheme else None
        if issued is None or issued.resource not in (None, self.metadata["resource"]):
            return self._refuse(401, {"error": "invalid_token"} if token else {}, self.scope)
        needed = set(self.needs(request))
        if not needed <= issued.scopes:
            return self._refuse(403, {"error": "insufficient_scope"}, " ".join(sorted(needed)))
        made = self.inside(request)
        return made if isinstance(made, httpx.Response) else await made

    def _refuse(self, status: int, params: dict[str, str], scope: str | None) -> httpx.Response:
        if self.says_where:
            params = {**params, "resource_metadata": str(self.place)}
        if scope is not None:
            params = {**params, "scope": scope}
        said = ", ".join(f'{name}="{value}"' for name, value in params.items())
        return httpx.Response(status, headers={"www-authenticate": f"{self.scheme} {said}"}, text="no")


def refusal(status: int, code: str, **more: str) -> httpx.Response:
    """An OAuth error."""
    return httpx.Response(status, json={"error": code, **more})
