"""Raw peers: they say exactly what they are told, and keep every message that they get.

    async with raw_client(server) as raw:            a client by hand, of a real server
        await raw.open("2025-11-25")
        await raw.say({"id": 1, "method": "tools/call", "params": {"name": "add"}})
        await raw.expect({"id": 1, "result": {"isError": True, ...: ...}})

    async def script(raw): ...                       a server by hand, of a real client
    async with scripted_server(script) as target, MCPClient.connect(target) as client: ...

What `...` stands for is said in `dedalus_mcp.testing.expected`.

Layer: L6.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, cast

import anyio

from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp.reaching import open_target
from dedalus_mcp.testing import expected as expectations
from dedalus_mcp.transport import Duplex, Target
from dedalus_mcp.types.meta import CLIENT_CAPABILITIES_KEY, PROTOCOL_VERSION_KEY
from dedalus_mcp.types.revisions import MODERN

__all__ = ("INFO", "PATIENCE", "Message", "RawPeer", "Script", "envelope", "raw_client", "scripted_server")

PATIENCE = 10.0
"""Seconds that a raw peer waits for a message: a bound on hanging, far above what any needs."""

GRACE = 1.0
"""Seconds that a script gets to end when its connection has; then it is cancelled."""

INFO = {"name": "raw", "version": "1"}

Message: TypeAlias = dict[str, Any]


def envelope(revision: str = MODERN[-1], capabilities: Message | None = None) -> Message:
    """Return the `_meta` that a request of 2026-07-28 must carry."""
    return {PROTOCOL_VERSION_KEY: revision, CLIENT_CAPABILITIES_KEY: capabilities or {}}


class RawPeer:
    """One end of a conversation, moved by hand.

    Args:
        duplex: The connection.
        patience: How long to wait for a message, in seconds; None for ever.

    Attributes:
        heard: Every message that arrived, in order.
        frames: The same, as bytes.
    """

    def __init__(self, duplex: Duplex, *, patience: float | None = None) -> None:
        self._duplex = duplex
        self._patience = float("inf") if patience is None else patience
        self._unread: list[Any] = []
        self._meta: Message = {}
        self._barriers = 0
        self.heard: list[Any] = []
        self.frames: list[bytes] = []

    @property
    def unread(self) -> list[Any]:
        """The messages that have arrived, and that nobody has returned yet."""
        return list(self._unread)

    # One message.

    async def say(self, *messages: Any) -> None:
        """Send messages: bytes as they are, the rest as JSON; mappings get the version of JSON-RPC."""
        await self._duplex.send([_frame(message) for message in messages])

    async def hear(self) -> Any:
        """Return the next message that nobody has returned yet.

        Raises:
            AssertionError: None came in time.
            anyio.EndOfStream: The other side ended.
        """
        if not self._unread:
            with anyio.move_on_after(self._patience):
                await self._receive()
        if not self._unread:
            raise AssertionError(f"no message came within {self._patience:g} s")
        return self._unread.pop(0)

    async def expect(self, message: Any) -> Any:
        """Take the next message, and see to it that it is this one; ``"jsonrpc": "2.0"`` goes without saying.

        Returns:
            The message, with what was left open.

        Raises:
            AssertionError: It is another, and the text shows the difference; or none came.
        """
        if isinstance(message, dict):
            message = {"jsonrpc": "2.0", **cast("Message", message)}
        try:
            got = await self.hear()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            why = str(error) or "the connection is over"
            raise AssertionError(f"{why}; expected was {expectations.named(message)}") from None
        except AssertionError as error:
            raise AssertionError(f"{error}; expected was {expectations.named(message)}") from None
        expectations.check(message, got)
        return got

    async def hear_method(self, method: str) -> Message:
        """Return the next message with that method, dropping those before it."""
        while (message := await self.hear()).get("method") != method:
            pass
        return dict(message)

    # One request.

    async def begin(self, id: Any, method: str, params: Message | None = None, **members: Any) -> None:
        """Send a request in the words of the open revision, and wait for nothing."""
        given = {**(params or {}), **members}
        if self._meta:
            given["_meta"] = {**self._meta, **given.get("_meta", {})}
        await self.say({"id": id, "method": method, **({"params": given} if given else {})})

    async def reply(self, id: Any) -> Message:
        """Return the reply to a request, dropping what comes before it."""
        while not _answers(message := await self.hear(), id):
            pass
        return dict(message)

    async def call(self, id: Any, method: str, params: Message | None = None, **members: Any) -> Message:
        """Send a request and return its reply."""
        await self.begin(id, method, params, **members)
        return await self.reply(id)

    async def tool(self, id: Any, name: str, /, **arguments: Any) -> Message:
        """Call a tool and return the whole reply."""
        return await self.call(id, "tools/call", name=name, arguments=arguments)

    async def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        await self.say({"method": method, **({"params": params} if params else {})})

    # The conversation.

    async def initialize(self, revision: str, capabilities: Message | None = None, id: Any = "init") -> Message:
        """Send `initialize` and return the reply."""
        return await self.call(
            id, "initialize", protocolVersion=revision, capabilities=capabilities or {}, clientInfo=INFO
        )

    async def open(self, revision: str, capabilities: Message | None = None) -> None:
        """Speak a revision from now on, with a handshake where it has one.

        Raises:
            AssertionError: The server does not speak it.
        """
        if revision in MODERN:
            self._meta = envelope(revision, capabilities)
            return
        self._meta = {}
        agreed = await self.initialize(revision, capabilities)
        expectations.check({"result": {"protocolVersion": revision, ...: ...}, ...: ...}, agreed, "the handshake")
        await self.notify("notifications/initialized")

    async def barrier(self) -> list[Message]:
        """Return all messages that come before the answer to a question asked now."""
        self._barriers += 1
        id = f"barrier {self._barriers}"
        await self.begin(id, "server/discover" if self._meta else "ping")
        before: list[Message] = []
        while not _answers(message := await self.hear(), id):
            before.append(message)
        return before

    async def close(self) -> None:
        """End the connection."""
        await self._duplex.aclose()

    async def _receive(self) -> None:
        for frame in await self._duplex.receive():
            if not isinstance(frame, bytes):
                raise AssertionError(f"a frame arrived as {frame!r:.200}")
            self.frames.append(frame)
            self._unread.append(json.loads(frame))
            self.heard.append(self._unread[-1])


@asynccontextmanager
async def raw_client(target: Connectable, *, patience: float | None = PATIENCE) -> AsyncGenerator[RawPeer]:
    """Connect a raw client to a server, in memory or whatever `MCPClient.connect` takes.

    Args:
        target: The server.
        patience: See `RawPeer`.
    """
    raw = RawPeer(await open_target(target).open(), patience=patience)
    try:
        yield raw
    finally:
        await raw.close()


Script: TypeAlias = Callable[[RawPeer], Awaitable[None]]
"""What a scripted server does on one connection, which ends with it."""


@asynccontextmanager
async def scripted_server(*scripts: Script, patience: float | None = PATIENCE) -> AsyncGenerator[Target]:
    """Give a target for real clients whose far end is a script.

    Args:
        scripts: One for each connection, in order.
        patience: See `RawPeer`.

    Raises:
        AssertionError: What was expected did not come; or there were other connections than scripts.
        Exception: What a script raised.
    """
    server = _Scripted(scripts, patience)
    failure: Exception | None = None
    try:
        yield server
    except Exception as error:  # noqa: BLE001 - raised below, unless it is only what a failed script led to
        failure = error
    finally:
        await server.aclose()
    if server.failure is not None:
        raise server.failure from failure
    if failure is not None:
        raise failure
    if server.left:
        raise AssertionError(f"{server.left} of {len(scripts)} scripts got no connection")


class _Scripted:
    """The far ends of a scripted server's connections."""

    def __init__(self, scripts: tuple[Script, ...], patience: float | None) -> None:
        self._scripts = list(scripts)
        self._patience = patience
        self._tasks = Tasks()
        self._scopes: list[anyio.CancelScope] = []
        self._ends: list[RawPeer] = []
        self.failure: Exception | None = None

    @property
    def left(self) -> int:
        return len(self._scripts)

    async def open(self) -> Duplex:
        from dedalus_mcp_transports.memory import pair  # noqa: PLC0415 - loaded where it is used

        if not self._scripts:
            raise AssertionError("there is no script for another connection")
        script = self._scripts.pop(0)
        near, far = pair()
        raw = RawPeer(far, patience=self._patience)
        self._ends.append(raw)
        self._tasks.start(lambda: self._play(script, raw), detached=True)
        return near

    async def aclose(self) -> None:
        for raw in self._ends:
            await raw.close()
        with anyio.move_on_after(GRACE, shield=True):  # scripts that hear of the end have their say
            await self._tasks.wait()
        for scope in self._scopes:
            scope.cancel()
        with anyio.CancelScope(shield=True):  # bounded: they are cancelled
            await self._tasks.wait()

    async def _play(self, script: Script, raw: RawPeer) -> None:
        scope = anyio.CancelScope()
        self._scopes.append(scope)
        try:
            with scope:
                await script(raw)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the client has gone, which is not the script's business unless it expects something
        except Exception as error:  # noqa: BLE001 - raised by whoever opened the block
            self.failure = self.failure or error
        finally:
            await raw.close()


def _answers(message: Any, id: object) -> bool:
    if not isinstance(message, dict) or "method" in message:
        return False
    given = cast("dict[str, object]", message).get("id")
    return given == id and type(given) is type(id)  # 1 and 1.0 are equal in Python, and different ids


def _frame(message: Any) -> bytes:
    if isinstance(message, bytes):
        return message
    if isinstance(message, dict):
        message = {"jsonrpc": "2.0", **cast("Message", message)}
    return json.dumps(message).encode()
