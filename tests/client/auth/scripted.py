"""An MCP server, its authorization server and a company's identity provider, which answer as they are told.

Nothing goes over a network, so these tests run on any event loop and in virtual time.
"""

from __future__ import annotations

import json
from collections import deque
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import httpx

__all__ = ("ISSUER", "SERVER", "Posted", "World")

SERVER = "https://mcp.example/mcp"
ISSUER = "https://as.example"


class Posted(NamedTuple):
    """A form that somebody got.

    Attributes:
        path: Where, as host and path.
        form: What was in it.
        headers: What came with it.
    """

    path: str
    form: dict[str, str]
    headers: httpx.Headers


class World:
    """What answers.

    Args:
        metadata: What the authorization server says of itself, besides the usual.

    Attributes:
        asked: The headers of the requests that the MCP server got, in order.
        bodies: Their bodies.
        posted: The forms that anybody got, in order.
        answers: What endpoints say next, by path; after that, a token.
        refuse: How many more requests the MCP server refuses, whatever they show.
        challenge: What it says then.
        resource: What it says of itself.
        token_type: Of the tokens that are given.
        life: For how many seconds they are good.
    """

    def __init__(self, **metadata: Any) -> None:
        self.asked: list[httpx.Headers] = []
        self.bodies: list[bytes] = []
        self.posted: list[Posted] = []
        self.answers: dict[str, deque[httpx.Response]] = {}
        self.refuse = 0
        self.challenge = "Bearer"
        self.token_type = "Bearer"
        self.life: int | None = None
        self._given = 0
        self.resource: dict[str, Any] = {"resource": SERVER, "authorization_servers": [ISSUER]}
        self._metadata = {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "registration_endpoint": f"{ISSUER}/register",
            "code_challenge_methods_supported": ["S256"],
            **metadata,
        }
        self.http = httpx.AsyncClient(transport=httpx.MockTransport(self.answer))

    def say(self, path: str, status: int, body: object, **headers: str) -> None:
        """Let an endpoint answer so, once."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.setdefault(path, deque()).append(httpx.Response(status, json=body, headers=named))

    def forms(self, path: str = "as.example/token") -> list[dict[str, str]]:
        """The forms that an endpoint got."""
        return [posted.form for posted in self.posted if posted.path == path]

    async def answer(self, request: httpx.Request) -> httpx.Response:
        """Answer whatever is asked, whoever is asked."""
        path = f"{request.url.host}{request.url.path}"
        if path == "mcp.example/mcp":
            self.asked.append(request.headers.copy())  # the request is changed for the next attempt
            self.bodies.append(request.content)
        elif request.method == "POST":
            body = request.content.decode()
            form = json.loads(body) if body.startswith("{") else dict(parse_qsl(body, keep_blank_values=True))
            self.posted.append(Posted(path, form, request.headers))
        if self.answers.get(path):
            return self.answers[path].popleft()
        if path == "mcp.example/mcp":
            return self._serve(request)
        documents = {
            "mcp.example/.well-known/oauth-protected-resource/mcp": lambda: self.resource,
            "as.example/.well-known/oauth-authorization-server": lambda: self._metadata,
            "as.example/register": lambda: {"client_id": "registered"},
            "as.example/token": self._token,
        }
        return httpx.Response(200, json=documents[path]()) if path in documents else httpx.Response(404)

    def _serve(self, request: httpx.Request) -> httpx.Response:
        shown = request.headers.get("authorization", "")
        if self.refuse or shown != f"{self.token_type} token-{self._given}":
            self.refuse = max(0, self.refuse - 1)
            return httpx.Response(401, headers={"www-authenticate": self.challenge})
        return httpx.Response(200, json={"shown": shown})

    def _token(self) -> dict[str, Any]:
        self._given += 1
        token: dict[str, Any] = {"access_token": f"token-{self._given}", "token_type": self.token_type}
        return token if self.life is None else {**token, "expires_in": self.life}
