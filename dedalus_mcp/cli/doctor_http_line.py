"""A line to a server at a URL: every message is a request of HTTP, whose response is looked at as a whole.

Layer: L6; httpx, which is loaded with this module.
Source: MCP 2026-07-28 and 2025-11-25, basic/transports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

import anyio
import httpx
import msgspec

from dedalus_mcp.cli.doctor_answers import Answer, Heard, members
from dedalus_mcp.client.auth.well_known import origin
from dedalus_mcp.errors import RemoteProtocolError
from dedalus_mcp.types.meta import PROTOCOL_VERSION_KEY
from dedalus_mcp_transports.http_client import StreamableHttp
from dedalus_mcp_transports.http_headers import encode_value
from dedalus_mcp_transports.sse import Events

__all__ = ("HttpLine", "Web", "media_type")

MAX_BODY = 16 * 1024 * 1024
"""Bytes of a response that are read."""
MAX_REDIRECTS = 3
MAX_KEPT = 64 * 1024
"""Bytes of one that are kept where they are no message."""
BOTH = "application/json, text/event-stream"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Web:
    """Requests to one URL.

    Args:
        target: Where, with which headers and authentication.
        heard: Keeps what nobody asked for.
        patience: How long a response may take, in seconds.

    Attributes:
        target, patience: See above.
        url: Where requests go: the target's URL, or what it redirects to.
    """

    def __init__(self, target: StreamableHttp, heard: Heard, patience: float) -> None:
        self.target = target
        self.url = target.url
        self.patience = patience
        self._heard = heard
        self._owned = target.http_client is None
        self._client: Any = httpx.AsyncClient() if self._owned else target.http_client

    async def request(
        self,
        method: str,
        frame: bytes = b"",
        headers: Mapping[str, str | None] | None = None,
        *,
        bare: bool = False,
        url: str | None = None,
    ) -> Answer:
        """Make a request and return what came; never raises.

        Args:
            method: The HTTP method.
            frame: The body.
            headers: On top of the usual ones, in their place, or None for not at all.
            bare: Whether the target's own headers and authentication are left out.
            url: Another place.
        """
        usual = {"accept": BOTH} | ({"content-type": "application/json"} if method == "POST" else {})
        usual |= {} if bare else self.target.headers
        given = usual | {name.lower(): value for name, value in (headers or {}).items()}
        auth = None if bare else self.target.auth or httpx.USE_CLIENT_DEFAULT
        try:
            with anyio.move_on_after(self.patience):
                answer = await self._once(method, url or self.url, frame, given, auth)
                for _ in range(0 if url is not None else MAX_REDIRECTS):
                    following = self._redirected(answer)
                    if following is None:
                        break
                    self.url = following
                    answer = await self._once(method, self.url, frame, given, auth)
                return answer
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, UnicodeError) as error:
            return Answer(ended=f"{type(error).__name__}: {error}")
        return Answer(waited=self.patience)

    async def aclose(self) -> None:
        """Free what was made here."""
        if self._owned:
            await self._client.aclose()

    async def _once(self, method: str, url: str, frame: bytes, headers: Mapping[str, str | None], auth: Any) -> Answer:
        sent = {name: value for name, value in headers.items() if value is not None}
        request = self._client.build_request(method, url, content=frame, headers=sent, timeout=self.patience)
        for name in headers.keys() - sent.keys():
            request.headers.pop(name, None)
        response = await self._client.send(request, auth=auth, stream=True, follow_redirects=False)
        try:
            return await self._read(response, speaks=method == "POST")
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await response.aclose()

    def _redirected(self, answer: Answer) -> str | None:
        """Return where a request is to be made instead, as clients do it: at the same origin, with the same method."""
        location = answer.headers.get("location")
        if answer.status not in (307, 308) or location is None:
            return None
        try:
            following = urljoin(self.url, location)
            return following if following != self.url and origin(following) == origin(self.url) else None
        except ValueError:
            return None

    async def _read(self, response: Any, *, speaks: bool) -> Answer:
        status, headers = response.status_code, {name.lower(): value for name, value in response.headers.items()}
        kind = media_type(headers)
        events, body = Events(MAX_BODY), b""
        if kind == "text/event-stream" and not speaks:
            return Answer(status=status, headers=headers)
        async for chunk in response.aiter_bytes():
            if kind != "text/event-stream":
                body += chunk
                if len(body) > MAX_BODY:
                    break
                continue
            try:
                frames = [event.data for event in events.feed(chunk) if event.is_message]
            except RemoteProtocolError as error:
                return Answer(status=status, headers=headers, body=str(error).encode())
            found = [message for frame in frames for message in self._replies(frame)]
            if found:
                return Answer(found[-1], status=status, headers=headers)
        is_sure = kind == "application/json" and status < 400
        replies = self._replies(body, sure=is_sure) if speaks and body else []
        if replies:
            return Answer(replies[-1], status=status, headers=headers)
        return Answer(status=status, headers=headers, body=body[:MAX_KEPT])

    def _replies(self, frame: bytes, *, sure: bool = True) -> list[Mapping[str, Any]]:
        """Return the replies in a frame; what a refusal says, or another type, need not be one."""
        heard = self._heard if sure else Heard()
        return [message for message in heard.take(frame) if "method" not in message]


class HttpLine:
    """A line over HTTP: a legacy session, or requests that stand alone.

    Args:
        web: Makes requests.

    Attributes:
        web: See above.
        session: The id of the session; None without one, or without one that can be sent.
        given: What the server gave for one.
        version: What later requests say in `MCP-Protocol-Version`.
    """

    takes_junk = True

    def __init__(self, web: Web) -> None:
        self.web = web
        self.session: str | None = None
        self.given: str | None = None
        self.version: str | None = None

    async def exchange(self, frame: bytes, id: object) -> Answer:
        """See `Line`."""
        return await self.post(frame)

    async def send(self, frame: bytes) -> Answer:
        """See `Line`."""
        return await self.post(frame)

    async def post(self, frame: bytes, headers: Mapping[str, str | None] | None = None) -> Answer:
        """Send a frame with the headers that go with it, and others."""
        message = _decoded(frame)
        answer = await self.web.request("POST", frame, {**self.headers(message), **(headers or {})})
        if message.get("method") == "initialize" and answer.result is not None:
            self.given = answer.headers.get("mcp-session-id")
            self.session = self.given if (self.given or "").isascii() else None
            version = answer.result.get("protocolVersion")
            self.version = version if isinstance(version, str) and version.isascii() else None
        return answer

    def headers(self, message: Mapping[str, Any]) -> dict[str, str | None]:
        """Return the headers that go with a message."""
        params = members(message.get("params"))
        version = members(params.get("_meta")).get(PROTOCOL_VERSION_KEY)
        method = message.get("method")
        if isinstance(version, str) and isinstance(method, str):
            found: dict[str, str | None] = {"mcp-protocol-version": version, "mcp-method": method}
            name = params.get(NAMED.get(method, ""))
            return found | ({"mcp-name": encode_value(name)} if isinstance(name, str) else {})
        return {"mcp-session-id": self.session, "mcp-protocol-version": self.version}

    async def aclose(self) -> None:
        """See `Line`."""
        if self.session is not None:
            session, self.session = self.session, None
            headers = {"mcp-session-id": session, "mcp-protocol-version": self.version}
            await self.web.request("DELETE", headers=headers)


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type of a response, in lower case and without its parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _decoded(frame: bytes) -> Mapping[str, Any]:
    try:
        return members(msgspec.json.decode(frame))
    except msgspec.DecodeError:
        return {}
