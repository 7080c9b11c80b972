"""What a transport implements; nothing else.

A *duplex* carries frames in order both ways: stdio, memory, a socket.  The engine runs both
loops round it, so a transport is three methods and holds no task of its own.

    engine ──send(frames)──▶ duplex ──▶ the other side
    engine ◀──receive()────  duplex ◀── the other side

Errors are anyio's: `EndOfStream` (they ended cleanly), `BrokenResourceError` (they or the
world broke it), `ClosedResourceError` (we closed it).  Their text reaches the people whose
calls fail by it, so put in what explains the end: an exit code, the last lines of stderr.

An *exchange* host (streamable HTTP) feeds one inbound frame at a time to a conversation, with a
channel for what it causes.

Layer: L2; imports `codec` and `session` for their types only.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import msgspec

if TYPE_CHECKING:
    from dedalus_mcp.jsonrpc.codec import Decoded
    from dedalus_mcp.jsonrpc.messages import RequestId
    from dedalus_mcp.session import Terms

__all__ = (
    "ASKING",
    "Application",
    "Asking",
    "Carrier",
    "Channel",
    "Duplex",
    "Host",
    "Oversized",
    "Received",
    "Receiver",
    "Reply",
    "Resumable",
    "Target",
    "Undelivered",
)


class Oversized(msgspec.Struct, frozen=True):
    """Stands in `Duplex.receive()` for a frame that was longer than the limit and was dropped.

    Attributes:
        limit: The limit in bytes.
        head: The first bytes of the frame, at most 512.
        tail: The last bytes of the frame, at most 512.  With `head` the engine may find out
            whose call the frame belonged to.
    """

    limit: int
    head: bytes
    tail: bytes


class Undelivered(msgspec.Struct, frozen=True):
    """Stands in `Duplex.receive()` for the reply to one call of ours that will not come.

    Where every call travels by itself, as over HTTP, one may fail while the connection goes on.
    One that stands behind the reply to its call says nothing.

    Attributes:
        id: The call's id, as it went out.
        error: What the call raises.
    """

    id: RequestId
    error: Exception


class Asking(msgspec.Struct, frozen=True):
    """Stands in `Duplex.receive()` for nothing that came: the transport asks a person, to sign in for example.

    No clock of a call of ours runs meanwhile.

    Attributes:
        begins: True when it begins to ask, False when it is done; as often the one as the other.
    """

    begins: bool


ASKING = "dedalus_mcp.asking"
"""Under this name, HTTP requests carry for their authentication what makes a context to ask a person in."""


Received: TypeAlias = "bytes | Oversized | Undelivered | Asking"
"""A frame, or what stands for one that is not there."""


class Duplex(Protocol):
    """Frames in order, both ways, between two peers.

    One task receives and one task sends; the two may run at the same time.  Cancelling
    either call loses no frame that was not being transferred at that moment.

    Where it costs extra to hear what the other side says by itself, a method `hear_unasked()`
    is called before the first frame if somebody wants to.  Where a legacy session may end though
    the connection goes on, a method `when_lost(tell)` is given what to call then.
    """

    async def receive(self) -> Sequence[Received]:
        """Wait for the next frames and return all that are there: at least one, in order.

        A frame is the bytes of one JSON-RPC message or batch, without its delimiter.

        Raises:
            anyio.EndOfStream: The other side ended; no frame will follow.
            anyio.BrokenResourceError: The connection failed.
            anyio.ClosedResourceError: `aclose` was called here.
        """
        ...

    async def send(self, frames: Sequence[bytes]) -> None:
        """Write these frames, in order, and return when the system has taken them.

        Raises:
            anyio.BrokenResourceError: The other side does not read any more.
            anyio.ClosedResourceError: `aclose` was called here.
        """
        ...

    async def aclose(self) -> None:
        """End the connection and free what it holds, within a bounded time.  Idempotent."""
        ...


class Target(Protocol):
    """Something that a client can connect to, again and again.

    Where every call is answered, if only by a refusal, `never_silent = True` says so: silence is
    then a failure, and no sign of an old server (AMB-09).  Where many objects stand for one
    server, `era_key` is a string that they share: what a client finds out of one holds for all; and
    `cache_key` one for what their server answers to everybody, so that clients may share that.
    Where a server may have an older transport instead, `older` is that as a target, to be tried
    when `initialize` is refused; `only_legacy = True` says that no modern server has such a transport.
    """

    async def open(self) -> Duplex:
        """Make a new connection.

        Raises:
            OSError: It cannot be made; the text names the target.
        """
        ...


class Carrier(Protocol):
    """The HTTP request that carried a message."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers, by lower-case name."""
        ...

    @property
    def session_id(self) -> str | None:
        """The legacy session that it belongs to; None without one."""
        ...

    @property
    def principal(self) -> str | None:
        """Who sent it, as far as that was proved; None for anybody."""
        ...


class Reply(NamedTuple):
    """The reply to one call, or to one batch of them.

    Attributes:
        frame: Its bytes.
        code: The code of its error; None for a result, or a batch.
    """

    frame: bytes
    code: int | None


class Channel(Protocol):
    """Where the messages that belong to one inbound call go out.

    Nothing that queues a message ever blocks.  A task that produces messages first awaits
    `ready()` when `full`, so a peer that does not read slows down its own calls and nothing
    else; and awaits `flush()` afterwards when something is `unsent`, where no loop of the
    channel's own sends it.
    """

    @property
    def carrier(self) -> Carrier | None:
        """The request that came in for what goes out here; None where there is none, as on stdio."""
        ...

    @property
    def takes_calls(self) -> bool:
        """Whether calls to the other side can go out here, and be answered."""
        ...

    @property
    def full(self) -> bool:
        """Whether more is waiting to go out than should be."""
        ...

    @property
    def unsent(self) -> bool:
        """Whether what was queued waits for `flush`."""
        ...

    def send(self, frame: bytes) -> None:
        """Queue one call or notice.  After the connection has ended, it is dropped.

        The bytes are sent in the order of the calls.
        """
        ...

    def reply(self, reply: Reply | None) -> None:
        """Queue the reply of a call of the channel's; nothing of that call follows it.

        Args:
            reply: None if none will come, since nobody waits for it any more.
        """
        ...

    async def ready(self) -> None:
        """Return when the channel is not `full` any more, or has ended."""
        ...

    async def flush(self) -> None:
        """Send what is queued.  Never raises: a connection that has ended takes nothing."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """A `Channel` whose reader may go and come again: what is sent meanwhile is kept for it."""

    async def pause(self, retry: int | None) -> None:
        """End the connection before the reply; nothing happens where its reader would not come again.

        Args:
            retry: How long the reader should wait, in milliseconds; None to say nothing.
        """
        ...


class Receiver(Protocol):
    """One conversation of an application, for a host that carries it in exchanges."""

    @property
    def agreed(self) -> Terms | None:
        """The terms that its handshake agreed on; None before, and without one."""
        ...

    @property
    def revision(self) -> str | None:
        """The legacy revision that its handshake agreed on; None before, and without one."""
        ...

    def take(self, message: Decoded, channel: Channel) -> None:
        """Take one decoded frame.  Never raises, never waits.

        Args:
            message: What `codec.decode` made of it.
            channel: Where everything goes that it causes.
        """
        ...

    def lend(self, message: Decoded, channel: Channel) -> Callable[[], Coroutine[Any, Any, None]] | None:
        """Take one decoded frame, and return what answers the call that it is.  Never raises, never waits.

        Returns:
            To be run in a task of the host's own, which it is done in: it raises nothing but cancellation.  None
            for a call that is refused, and for any other frame, which is taken as by `take`.
        """
        ...

    def runs(self, id: RequestId) -> bool:
        """Whether a call with this id is under way, whoever made it."""
        ...

    def lose(self, reason: str) -> None:
        """Nothing can come from the client any more: open calls fail, handlers go on.  Idempotent."""
        ...

    def drain(self) -> None:
        """Let calls that would go on for ever end by themselves, so that `idle` need not wait for them.  Idempotent."""
        ...

    def close(self, reason: str) -> None:
        """End it: open calls fail, handlers are cancelled.  Idempotent."""
        ...

    async def idle(self) -> None:
        """Return when no handler runs."""
        ...


class Host(Protocol):
    """Something that serves an application as a whole program, such as an HTTP server."""

    async def serve(self, application: Application) -> None:
        """Serve until the program is told to stop."""
        ...


class Application(Protocol):
    """What a host of exchanges serves."""

    def converse(self, channel: Channel) -> Receiver:
        """Begin a conversation: one for a legacy session, one for each request of 2026-07-28.

        Args:
            channel: Where calls and notices go that belong to no message of the client.
        """
        ...

    def converse_once(self, channel: Channel, agreed: Terms | None, mark: str) -> Receiver:
        """Begin a conversation of one legacy message, of which nothing is kept.

        Args:
            channel: Where calls and notices go that belong to no message of the client.
            agreed: What an earlier handshake agreed on; None for a message that is one.
            mark: What the ids of calls to the client begin with.  Their replies come as messages
                of their own, and are found by it.
        """
        ...

    def input_schema(self, tool: str) -> Mapping[str, Any] | None:
        """Return the input schema of a tool, which says what HTTP headers mirror; None if there is no such tool."""
        ...

    def running(self) -> AbstractAsyncContextManager[Any]:
        """Hold what the application has set up; entered before the first conversation."""
        ...
