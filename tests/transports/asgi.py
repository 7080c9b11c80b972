"""A web server in memory for ASGI applications: real requests and responses, with no socket between.

async with serving(server, json_only=True) as web:
    client = web.client()
    await client.open("2025-11-25")
    call = client.begin(1, "tools/call", name="echo", arguments={"text": "hi"})
    await call.ended()

What a socket does to a response can be done here at a known moment: the reader leaves (`leave`),
or reads no more for a while (`stall`).  What an application must never do is an assertion here.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup

from dedalus_mcp import MCPServer
from dedalus_mcp.run import Hosted
from dedalus_mcp.types.revisions import MODERN
from dedalus_mcp_transports.http_server import HttpApp
from dedalus_mcp_transports.http_settings import HttpSettings
from dedalus_mcp_transports.sse import Event, Events
from tests.interaction.raw import INFO, envelope

__all__ = ("BOTH", "Client", "Exchange", "Web", "initialize", "refusal", "serving", "using")

BOTH = "application/json, text/event-stream"
PATIENCE = 20.0
"""Seconds that a step of a test may take."""

NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Exchange:
    """One request and what is answered.

    Attributes:
        status: The response's status; None until it begins.
        headers: Its headers.
        chunks: The pieces of its body that were read.
        messages: The JSON-RPC messages in it, from an event stream or from one JSON body.
        events: Its events, those without a message included.
        faults: What was sent against the rules of ASGI.
        over: Whether it is complete.
        returned: Whether the application is done with it.
        refused: How many parts of the response found the connection broken.
    """

    def __init__(
        self, method: str, path: str, headers: dict[str, str], body: Sequence[bytes], *, whole: bool = True
    ) -> None:
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path.partition("?")[0],
            "query_string": path.partition("?")[2].encode("latin-1"),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
        }
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.chunks: list[bytes] = []
        self.events: list[Event] = []
        self.faults: list[Any] = []
        self.over = False
        self.returned = False
        self.refused = 0
        self._broken = False
        self._body = list(body) or [b""]
        self._parser = Events()
        self._whole = whole
        self._gone = False
        self._stalled = False
        self._changed = anyio.Event()
        self._read = 0  # messages that `message` has returned

    # What the test does.

    async def until(self, is_so: Callable[[], object]) -> None:
        """Return when it is so."""
        with anyio.fail_after(PATIENCE):
            while not is_so():
                await self._changed.wait()
        assert self.faults == []

    async def started(self) -> int:
        """Return the status once it is there."""
        await self.until(lambda: self.status is not None)
        assert self.status is not None
        return self.status

    async def ended(self) -> Exchange:
        """Return when the response is complete and the application is done with it."""
        await self.until(lambda: self.over and self.returned)
        return self

    async def done(self) -> None:
        """Return when the application is done with the request."""
        await self.until(lambda: self.returned)

    async def message(self) -> dict[str, Any]:
        """Return the next message that has not been returned yet."""
        await self.until(lambda: len(self.messages) > self._read)
        self._read += 1
        return dict(self.messages[self._read - 1])

    async def reply(self) -> Any:
        """Return the reply, which is the last message."""
        await self.ended()
        return self.messages[-1]

    def leave(self) -> None:
        """Close the connection."""
        self._gone = True
        self._change()

    def break_off(self) -> None:
        """Let what is sent find out that the connection is broken, before the application is told by `leave`."""
        self._broken = True

    def finish(self, *pieces: bytes) -> None:
        """Send the rest of a body that was begun as a part."""
        self._body += pieces
        self._whole = True
        self._change()

    def stall(self) -> None:
        """Read no more until `go_on`."""
        self._stalled = True

    def go_on(self) -> None:
        """Read again."""
        self._stalled = False
        self._change()

    @property
    def body(self) -> bytes:
        """What was read of the body."""
        return b"".join(self.chunks)

    @property
    def is_stream(self) -> bool:
        """Whether the response is an event stream."""
        return self.headers.get("content-type") == "text/event-stream"

    @property
    def messages(self) -> list[Any]:
        """The messages so far."""
        if self.is_stream:
            return [json.loads(event.data) for event in self.events if event.is_message]
        return [json.loads(self.body)] if self.over and self.body else []

    @property
    def comments(self) -> int:
        """How many comments came."""
        return self.body.count(b":\n\n")

    # What the application is given.

    async def receive(self) -> dict[str, Any]:
        """Hand over the body, and after it the end of the connection or of the response, as ASGI says."""
        while not (self._body or self._gone or self.over):
            await self._changed.wait()
        if self._body:
            chunk = self._body.pop(0)
            return {"type": "http.request", "body": chunk, "more_body": bool(self._body) or not self._whole}
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        """Take a part of the response."""
        while self._stalled and not self._gone:
            await self._changed.wait()
        if self._gone or self._broken:
            self.refused += 1
            self._change()
            raise OSError("the client has left")
        begins = message["type"] == "http.response.start"
        if self.over or begins != (self.status is None):
            self.faults.append(message)  # whoever sends may catch what is raised here
            raise RuntimeError("a response begins once, and ends once")
        if begins:
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message.get("headers", ())}
        else:
            self._take(message.get("body", b""))
            self.over = not message.get("more_body", False)
            if self.over and int(self.headers.get("content-length", len(self.body))) != len(self.body):
                self.faults.append(message)
        self._change()

    def _take(self, chunk: bytes) -> None:
        if chunk:
            self.chunks.append(chunk)
            if self.is_stream:
                self.events += self._parser.feed(chunk)

    async def run(self, app: Any) -> None:
        """Let the application serve it."""
        try:
            await app(self.scope, self.receive, self.send)
        finally:
            self.returned = True
            self._change()

    def _change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class Client:
    """Somebody who sends requests.

    Attributes:
        headers: What every request of theirs carries.
        revision: What they speak.
        app: Who serves them.
    """

    def __init__(self, app: Any, group: TaskGroup, path: str) -> None:
        self.headers = {"host": "localhost:8000", "accept": BOTH, "content-type": "application/json"}
        self.revision = ""
        self.app = app
        self._group = group
        self._path = path
        self._meta: dict[str, Any] = {}

    # HTTP.

    def send(
        self,
        method: str,
        *body: bytes,
        path: str | None = None,
        without: Sequence[str] = (),
        whole: bool = True,
        root: str = "",
        **headers: str,
    ) -> Exchange:
        """Begin a request; underscores in the names of headers stand for hyphens, `root` is where we are mounted."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        carried = {name: value for name, value in {**self.headers, **named}.items() if name not in without}
        exchange = Exchange(method, self._path if path is None else path, carried, body, whole=whole)
        if root:
            exchange.scope["root_path"] = root
        self._group.start_soon(exchange.run, self.app)
        return exchange

    def say(self, *messages: Any, **more: Any) -> Exchange:
        """Begin a POST: bytes as they are, one message, or several as a batch."""
        bodies = [each if isinstance(each, bytes) else json.dumps(_whole(each)).encode() for each in messages]
        return self.send("POST", *bodies, **more)

    async def get(self, **more: Any) -> Exchange:
        """Open a GET stream, and return when it has begun, or was refused."""
        exchange = self.send("GET", **more)
        await exchange.started()
        return exchange

    async def delete(self, **more: Any) -> Exchange:
        """End the session."""
        return await self.send("DELETE", **more).ended()

    # MCP.

    def begin(self, id: Any, method: str, params: dict[str, Any] | None = None, **members: Any) -> Exchange:
        """Begin a call in the words of the open revision."""
        given = {**(params or {}), **members}
        headers: dict[str, str] = {}
        if self._meta:
            given["_meta"] = {**self._meta, **given.get("_meta", {})}
            headers["mcp_method"] = method
            if method in NAMED:
                headers["mcp_name"] = str(given.get(NAMED[method]))
        return self.say({"id": id, "method": method, **({"params": given} if given else {})}, **headers)

    async def call(self, id: Any, method: str, params: dict[str, Any] | None = None, **members: Any) -> Any:
        """Make a call and return its reply."""
        return await self.begin(id, method, params, **members).reply()

    def tool(self, id: Any, name: str, /, meta: dict[str, Any] | None = None, **arguments: Any) -> Exchange:
        """Begin to call a tool."""
        more = {} if meta is None else {"_meta": meta}
        return self.begin(id, "tools/call", name=name, arguments=arguments, **more)

    async def use(self, id: Any, name: str, /, **arguments: Any) -> Any:
        """Call a tool and return the text of its result; None where it has none."""
        reply = await self.tool(id, name, **arguments).reply()
        return next((block["text"] for block in reply["result"]["content"]), None)

    async def notify(self, method: str, **params: Any) -> Exchange:
        """Send a notice."""
        return await self.say({"method": method, **({"params": params} if params else {})}).ended()

    async def answer(self, id: Any, result: dict[str, Any]) -> Exchange:
        """Answer a call of the server's."""
        return await self.say({"id": id, "result": result}).ended()

    async def initialize(self, revision: str, capabilities: dict[str, Any] | None = None, **headers: Any) -> Exchange:
        """Send `initialize`."""
        params = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": INFO}
        return await self.say({"id": "init", "method": "initialize", "params": params}, **headers).ended()

    async def open(self, revision: str, capabilities: dict[str, Any] | None = None) -> Client:
        """Speak a revision from now on, with a handshake where it has one."""
        self.revision = revision
        if revision in MODERN:
            self._meta = envelope(revision, capabilities)
        else:
            agreed = await self.initialize(revision, capabilities)
            assert agreed.messages[0]["result"]["protocolVersion"] == revision
            self.headers["mcp-session-id"] = agreed.headers["mcp-session-id"]
            await self.notify("notifications/initialized")
        if revision >= "2025-06-18":
            self.headers["mcp-protocol-version"] = revision
        return self

    @property
    def session(self) -> str:
        """The id of the session."""
        return self.headers["mcp-session-id"]


class Web:
    """An application, and those who use it."""

    def __init__(self, app: Any, group: TaskGroup, path: str = "/mcp") -> None:
        self.app = app
        self._group = group
        self._path = path

    def client(self) -> Client:
        """Somebody new."""
        return Client(self.app, self._group, self._path)

    async def open(self, revision: str, capabilities: dict[str, Any] | None = None) -> Client:
        """Somebody new who speaks this revision."""
        return await self.client().open(revision, capabilities)


@asynccontextmanager
async def serving(server: MCPServer, **settings: Any) -> AsyncGenerator[Web]:
    """Serve a server; whatever still runs at the end is ended."""
    async with using(HttpApp(Hosted(server), HttpSettings(**settings))) as web:
        yield web


@asynccontextmanager
async def using(app: HttpApp) -> AsyncGenerator[Web]:
    """Use an application; whatever still runs at the end is ended."""
    with anyio.fail_after(2 * PATIENCE):
        async with anyio.create_task_group() as group:
            yield Web(app, group)
            with anyio.fail_after(PATIENCE):
                await app.aclose()
            group.cancel_scope.cancel()


def _whole(message: dict[str, Any] | list[Any]) -> Any:
    if isinstance(message, list):
        return [_whole(each) for each in message]
    return {"jsonrpc": "2.0", **message}


def initialize() -> bytes:
    """The body of a request that begins a session."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO}
    return json.dumps({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params}).encode()


def refusal(exchange: Exchange) -> tuple[int | None, int, Any]:
    """The status, the code, and the id of what was refused."""
    (message,) = exchange.messages
    return exchange.status, message["error"]["code"], message.get("id")
