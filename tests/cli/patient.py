"""A server that keeps every rule by hand, or breaks the one that it is told to; with nothing of the package.

    Model("ping").take(frame)     the frames that it answers
    Ward("ping")                  a target for clients, in memory
    app("http-origin")            the same as a raw ASGI application

As a program, `python -m tests.cli.patient FAULT`, it speaks on stdio.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio

__all__ = ("Model", "Ward", "app")

LEGACY, MODERN = "2025-11-25", "2026-07-28"
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
HINTS = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
OBJECT: Any = {"type": "object"}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
Json = dict[str, Any]

DOUBLED: Json = {f"{level}": {"anyOf": [{"$ref": f"#/$defs/{level + 1}"}] * 2} for level in range(40)}
ENDLESS = {"type": "object", "properties": {"n": {"$ref": "#/$defs/0"}}, "$defs": DOUBLED | {"40": {"type": "null"}}}
"""It takes hours to find out that no number fits."""


def tools() -> list[Json]:
    return [
        {
            "name": "look",
            "inputSchema": {"type": "object"},
            "outputSchema": NUMBER,
            "annotations": {"readOnlyHint": True},
        },
        {"name": "write", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}},
    ]


BROKEN_TOOLS: dict[str, Json] = {
    "tool-names": {"name": "a tool"},
    "input-schemas": {"inputSchema": {"type": "string"}},
    "input-schemas:invalid": {"inputSchema": {"type": "object", "properties": {"a": {"type": "text"}}}},
    "output-schemas": {"outputSchema": {"type": 7}},
    "remote-references": {"inputSchema": {"type": "object", "properties": {"a": {"$ref": "https://a.example/s"}}}},
    "x-mcp-header": {"inputSchema": {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "A"}}}},
    "annotations": {"annotations": {"readOnlyHint": True, "destructiveHint": True}},
    "annotations:type": {"annotations": {"readOnlyHint": "yes"}},
    "listed-shapes": {"inputSchema": None},
    "listed-shapes:name": {"name": ""},
    "unique-names": {"name": "look"},
}
"""What is wrong with the second tool, by fault."""


class Refusal(Exception):
    """An error of the protocol."""

    def __init__(self, code: int, data: Any = None) -> None:
        super().__init__(code)
        self.error: Json = {"code": code, "message": "refused", **({} if data is None else {"data": data})}


class Silence(Exception):
    """No answer at all."""


class Model:
    """One connection of the server.

    Args:
        fault: The rule that it breaks; empty for none.
    """

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.dead = False
        self._listed = 0

    def take(self, frame: bytes) -> list[bytes]:
        """Return what it says to a frame."""
        before: list[bytes] = []
        if self.fault == "server-requests" and b"server/discover" in frame:
            before = [b'{"jsonrpc": "2.0", "id": 1, "method": "roots/list"}']
        try:
            message = json.loads(frame)
        except ValueError:
            self.dead = self.fault == "malformed"
            silent = self.fault in ("malformed", "malformed:silent")
            return [] if silent else [self._frame({"id": None, "error": Refusal(-32700).error})]
        reply = self.answer(message)
        return before if reply is None else [*before, self._frame(reply)]

    def answer(self, message: Json) -> Json | None:
        """Return the reply to a message; None without one."""
        method, params = message.get("method", ""), message.get("params", {})
        if not method:
            return None
        if "id" not in message:
            unknown = self.fault == "notifications" and "doctor" in method
            stray = self.fault == "cancel-unknown" and method == "notifications/cancelled"
            return {"id": None, "error": Refusal(-32601).error} if unknown or stray else None
        if self.fault == "ids" and isinstance(message["id"], str):
            message["id"] = int(message["id"]) if message["id"].isdigit() else message["id"]
        try:
            return {"id": message["id"], "result": self._result(method, params, modern="_meta" in params)}
        except Refusal as refusal:
            return {"id": message["id"], "error": refusal.error}
        except Silence:
            return None

    def _frame(self, reply: Json) -> bytes:
        version = {} if self.fault == "messages" and "result" in reply else {"jsonrpc": "2.0"}
        return json.dumps({**version, **reply}).encode()

    def _result(self, method: str, params: Json, *, modern: bool) -> Json:
        if modern:
            self._check_envelope(params["_meta"])
        if method == "ping" and not modern and self.fault != "ping":
            return {"pong": 1} if self.fault == "ping:full" else {}
        if method.endswith("/list"):
            return self._list(method, params, modern=modern)
        code = -32002 if method == "resources/read" and not modern else -32602
        known: dict[str, Callable[[], Json]] = {
            "initialize": lambda: self._initialized(params),
            "tools/call": lambda: self._called(params["name"]),
            "resources/read": lambda: self._unknown(method, code),
            "prompts/get": lambda: self._unknown(method, code),
        }
        if modern:
            known["server/discover"] = self._discovered
        if self.fault == "unknown-method":
            known["doctor/no-such-method"] = dict
        if method not in known:
            raise Refusal(-32601)
        return known[method]()

    def _check_envelope(self, meta: Json) -> None:
        if CAPABILITIES not in meta and self.fault != "envelope":
            raise Refusal(-32602)
        if meta[VERSION] != MODERN and self.fault != "unsupported-version":
            raise Refusal(-32022, {"supported": [MODERN], "requested": meta[VERSION]})

    def _capabilities(self) -> Json:
        found: Json = {"tools": {}, "resources": {}, "prompts": {}}
        if self.fault == "capabilities":
            del found["prompts"]
        if self.fault == "capabilities:logging":
            found["completions"] = {}
        return found

    def _initialized(self, params: Json) -> Json:
        asked = params["protocolVersion"]
        info = {"name": "model"} if self.fault == "initialize" else {"name": "model", "version": "1"}
        version = asked if self.fault == "negotiation" and asked < "2000" else LEGACY
        if self.fault == "negotiation:refused" and asked < "2000":
            raise Refusal(-32602)
        return {"protocolVersion": version, "capabilities": self._capabilities(), "serverInfo": info}

    def _discovered(self) -> Json:
        found = {"supportedVersions": [MODERN], "capabilities": self._capabilities(), **HINTS}
        if self.fault == "discover":
            found["ttlMs"] = -1
        return found

    def _list(self, method: str, params: Json, *, modern: bool) -> Json:
        listed: dict[str, list[Json]] = {
            "tools": tools(),
            "resources": [{"uri": "a:1", "name": "one"}, {"uri": "a:2", "name": "two"}],
            "resourceTemplates": [],
            "prompts": [{"name": "p", "arguments": [{"name": "x"}]}],
        }
        listed["tools"][1].update(BROKEN_TOOLS.get(self.fault, {}))
        if self.fault == "endless":
            listed["tools"][0]["outputSchema"] = ENDLESS
        if self.fault == "unique-names:arguments":
            listed["prompts"][0]["arguments"] *= 2
        member = "resourceTemplates" if "templates" in method else method.partition("/")[0]
        if member not in listed:
            raise Refusal(-32601)
        hints = {} if not modern or self.fault == "caching" else HINTS
        if member != "resources":
            if params.get("cursor") is not None:
                raise Refusal(-32602)
            return {member: self._ordered(listed[member]), **hints}
        return self._page(listed[member], params.get("cursor"), hints)

    def _page(self, items: list[Json], cursor: object, hints: Json) -> Json:
        """Two pages of one each."""
        at = {None: 0, "1": 1}.get(cursor)  # type: ignore[call-overload]  # whatever came
        if at is None:
            if self.fault != "bad-cursor":
                raise Refusal(-32602)
            at = 0
        following: Json = {"nextCursor": "1"} if at == 0 or self.fault == "pages" else {}
        if self.fault == "pages:type":
            following = {"nextCursor": None}
        scope = {"cacheScope": "public"} if self.fault == "caching:scope" and at else {}
        return {"resources": items[at : at + 1], **following, **hints, **scope}

    def _ordered(self, items: list[Json]) -> list[Json]:
        self._listed += 1
        return items[::-1] if self.fault == "order" and self._listed % 2 else items

    def _called(self, name: str) -> Json:
        content = [{"type": "text", "text": "1"}]
        if name == "write":
            return {"content": content, "resultType": "complete"}
        if name != "look":
            return self._unknown("tools/call", -32602)
        if self.fault == "results:slow":
            raise Silence
        if self.fault == "results":
            return {"content": content, "structuredContent": {"n": "one"}}
        if self.fault == "results:missing":
            return {"content": content}
        return {"content": content, "structuredContent": {"n": 1}, "resultType": "complete"}

    def _unknown(self, method: str, code: int) -> Json:
        name = {"tools/call": "unknown-tool", "resources/read": "unknown-resource", "prompts/get": "unknown-prompt"}[
            method
        ]
        if self.fault == f"{name}:code":
            raise Refusal(-32603)
        if self.fault == name:
            return {"content": [], "contents": [], "messages": []}
        raise Refusal(code)


class Ward:
    """A target whose connections are models.

    Args:
        fault: See `Model`.
    """

    def __init__(self, fault: str = "") -> None:
        self.fault = fault

    async def open(self) -> Bed:
        if self.fault == "reach":
            raise ConnectionRefusedError("nobody is there")
        return Bed(Model(self.fault))


class Bed:
    """One connection."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._said: list[bytes] = []
        self._changed = anyio.Event()

    async def receive(self) -> Sequence[bytes]:
        while not self._said:
            if self._model.dead or self._model.fault == "reach:silent":
                raise anyio.EndOfStream("the model died")
            await self._changed.wait()
        said, self._said = self._said, []
        return said

    async def send(self, frames: Sequence[bytes]) -> None:
        for frame in frames:
            self._said += [] if self._model.fault == "reach:silent" else self._model.take(frame)
        self._changed.set()
        self._changed = anyio.Event()

    async def aclose(self) -> None:
        self._model.dead = True


Response = tuple[int, Json, bytes]
PLACE = "/.well-known/oauth-protected-resource/mcp"


def app(fault: str = "") -> Callable[[Any, Any, Any], Awaitable[None]]:
    """Return the model as an ASGI application at http://127.0.0.1/mcp.

    Args:
        fault: See `Model`; or one of HTTP, or "locked" and "locked:..." for one that wants a token.
    """
    site = _Site(fault)

    async def serve(
        scope: Json, receive: Callable[[], Awaitable[Json]], send: Callable[[Json], Awaitable[None]]
    ) -> None:
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        body = (await receive()).get("body", b"")
        status, more, content = site.respond(scope["method"], scope["path"], headers, body)
        given = [(name.encode(), value.encode("latin-1")) for name, value in more.items()]
        await send({"type": "http.response.start", "status": status, "headers": given})
        await send({"type": "http.response.body", "body": content})

    return serve


class _Site:
    """The model with the rules of HTTP round it."""

    def __init__(self, fault: str) -> None:
        self._fault = fault
        self._model = Model(fault)
        self._sessions: set[str] = set()
        self._kind = {"content-type": "text/html" if fault == "http-content-type" else "application/json"}

    def respond(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Response:
        """Return what comes of a request."""
        found = _locked(self._fault, path, headers) if self._fault.startswith("locked") else None
        found = found or self._refused(method, headers)
        if found is not None:
            return found
        try:
            message = json.loads(body)
        except ValueError:
            broken = self._fault == "malformed"
            return (500, {}, b"") if broken else (400, self._kind, self._model.take(body)[0])
        is_modern = "_meta" in message.get("params", {})
        return (self._modern if is_modern else self._legacy)(message, headers)

    def _refused(self, method: str, headers: dict[str, str]) -> Response | None:
        fault, session = self._fault, headers.get("mcp-session-id", "")
        cors: Response = (200, {"access-control-allow-origin": "*"}, b"") if fault == "http-cors" else (403, {}, b"")
        page: Response = (200, {"content-type": "text/html"}, b"hello") if fault == "http-get" else (405, {}, b"")
        if method == "DELETE":
            self._sessions.discard(session)
        rules: list[tuple[object, Response]] = [
            (method == "OPTIONS", cors),
            (headers.get("origin") and fault != "http-origin", (403, {}, b"")),
            (headers.get("host") != "127.0.0.1" and fault != "http-host", (421, {}, b"")),
            (method == "GET", page),
            (method == "DELETE", (500 if fault == "http-delete" else 204, {}, b"")),
            (headers.get("content-type") != "application/json" and fault != "http-body-type", (415, {}, b"")),
            (headers.get("accept") == "text/html", (500 if fault == "http-accept" else 406, {}, b"")),
        ]
        return next((response for breaks, response in rules if breaks), None)

    def _modern(self, message: Json, headers: dict[str, str]) -> Response:
        same = headers.get("mcp-method") == message["method"]
        same = same and headers.get("mcp-protocol-version") == message["params"]["_meta"][VERSION]
        if same or self._fault == "http-mirrored-headers":
            return self._answered(message, {})
        code = -32600 if self._fault == "http-mirrored-headers:code" else -32020
        refusal = {"jsonrpc": "2.0", "id": message["id"], "error": Refusal(code).error}
        return 400, self._kind, json.dumps(refusal).encode()

    def _legacy(self, message: Json, headers: dict[str, str]) -> Response:
        fault, session = self._fault, headers.get("mcp-session-id")
        if message["method"] == "initialize":
            made = {"http-session-id": "1", "http-session-id:bytes": "a-séssion-id-that-cannot-be-sent"}.get(
                fault, "a-session-id-that-is-long-enough"
            )
            self._sessions.add(made)
            return self._answered(message, {"mcp-session-id": made})
        if session is None and fault != "http-session-needed":
            return 400, {}, b""
        if session is not None and session not in self._sessions and fault != "http-session-unknown":
            return 404, {}, b""
        if headers.get("mcp-protocol-version", LEGACY) != LEGACY and fault != "http-version":
            return 400, {}, b""
        return self._answered(message, {})

    def _answered(self, message: Json, headers: Json) -> Response:
        said = self._model.take(json.dumps(message).encode())
        if not said:
            return (200, {}, b"ok") if self._fault == "http-notification" else (202, {}, b"")
        code = json.loads(said[-1]).get("error", {}).get("code")
        statuses = {-32601: 404, -32022: 400, -32602: 400} if "_meta" in message.get("params", {}) else {}
        return statuses.get(code, 200), {**self._kind, **headers}, said[-1]


def _locked(fault: str, path: str, headers: dict[str, str]) -> Response | None:
    where = f"http://127.0.0.1{PLACE}"
    if path == PLACE and fault != "locked:auth-metadata":
        resource = "http://127.0.0.1/other" if fault == "locked:auth-resource" else "http://127.0.0.1/mcp"
        found = {"resource": resource, "authorization_servers": ["https://auth.example"]}
        return 200, {"content-type": "application/json"}, json.dumps(found).encode()
    if "well-known" in path:
        return 404, {}, b""
    if headers.get("authorization") == "Bearer right":
        return None
    challenge = {} if fault == "locked:auth-challenge" else {"www-authenticate": f'Bearer resource_metadata="{where}"'}
    return 401, challenge, b""


def main(fault: str) -> None:
    """Speak on stdio."""
    model = Model(fault)
    if fault == "stdout":
        print("Server is running", flush=True)
    for line in sys.stdin.buffer:
        for frame in model.take(line):
            sys.stdout.buffer.write(frame + b"\n")
            sys.stdout.buffer.flush()
        if model.dead:
            raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1])
