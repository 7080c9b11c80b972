"""One connection of a client: the conversation, in a task of its own, and what was agreed on it.

The task belongs to no caller, so a client may be opened, used and closed in different tasks.

Layer: L4.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import anyio
import msgspec
from msgspec import Raw

from dedalus_mcp.client.delivery import Deliveries
from dedalus_mcp.client.handlers import Handlers
from dedalus_mcp.errors import RemoteProtocolError, SessionExpiredError
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.duplex import Conversation
from dedalus_mcp.jsonrpc.messages import RequestId
from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp.jsonrpc.waiter import Progress
from dedalus_mcp.transport import Duplex
from dedalus_mcp.types import Implementation, InputRequiredResult, RequestParams, ServerCapabilities
from dedalus_mcp.types.meta import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LOG_LEVEL_KEY,
    PROGRESS_TOKEN_KEY,
    PROTOCOL_VERSION_KEY,
)
from dedalus_mcp.types.method import Method, NotificationMethod
from dedalus_mcp.types.methods import MESSAGE
from dedalus_mcp.types.revisions import LATEST_LEGACY, MODERN, V2025_03_26, shape

__all__ = ("Agreement", "InputRequired", "Link")

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R")


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """What client and server agreed on.

    Attributes:
        revision: The revision they speak.
        server_info: Who the server says it is.
        capabilities: What it can do.
        instructions: How to use it, for the model.
    """

    revision: str
    server_info: Implementation | None
    capabilities: ServerCapabilities
    instructions: str | None


class InputRequired(RemoteProtocolError):
    """The server wants to know something before it answers: see `rounds`.

    A violation of the protocol for whoever made a request that carries no rounds.

    Attributes:
        method: What was called.
        result: What it wants to know.
    """

    def __init__(self, method: str, result: InputRequiredResult) -> None:
        super().__init__(method, result)
        self.method = method
        self.result = result

    def __str__(self) -> str:
        return f"the server asks for input to {self.method!r}, which was not offered"


class Link:
    """A connection to a server.

    Args:
        duplex: The transport's end.
        make_handlers: Makes what answers the server.
        info: Who we are.

    Attributes:
        revision: The revision that we write and read.
        deliveries: The callbacks that hear of it.
        answers: What answers the server's questions.
        notices: What is heard of the server.
        session_lost: Told when the legacy session has ended and no call of ours noticed; None for nobody.
    """

    def __init__(self, duplex: Duplex, make_handlers: Callable[[Deliveries], Handlers], info: Implementation) -> None:
        self._tasks = Tasks()
        self.deliveries = Deliveries()
        handlers = make_handlers(self.deliveries)
        self._conversation = Conversation(handlers, duplex, answers_malformed=False)
        self._peer = handlers.peer = self._conversation.peer
        self._handlers = handlers
        self._envelope: dict[str, Any] = {}
        self._tokens = itertools.count(1)
        self.info = info
        self.answers = handlers.answers
        self.notices = handlers.notices
        hear_unasked: Callable[[], None] | None = getattr(duplex, "hear_unasked", None)
        if hear_unasked is not None and (self.notices.unasked or self.answers.asked):
            hear_unasked()
        self.session_lost: Callable[[SessionExpiredError], None] | None = None
        when_lost: Callable[[Callable[[SessionExpiredError], None]], None] | None = getattr(duplex, "when_lost", None)
        if when_lost is not None:
            when_lost(self._session_lost)
        self.revision = LATEST_LEGACY
        self._tasks.start(self._conversation.run, detached=True)

    @property
    def ended(self) -> str | None:
        """Why the connection is over; None as long as it is not."""
        return self._conversation.ended

    def speak(self, revision: str) -> None:
        """Write and read this revision from now on."""
        self.revision = self._handlers.revision = revision
        self._peer.batches = revision == V2025_03_26
        if revision in MODERN:
            self._envelope = {
                PROTOCOL_VERSION_KEY: revision,
                CLIENT_CAPABILITIES_KEY: self.capabilities_in(revision),
                CLIENT_INFO_KEY: shape(self.info, revision),
            }
            if self.notices.listens_to(MESSAGE):
                self.log_from("info")  # what legacy servers start with; here nothing comes unasked

    def capabilities_in(self, revision: str) -> Any:
        """What we declare to a server of that revision."""
        return shape(self.answers.capabilities, revision)

    def log_from(self, level: str) -> None:
        """Ask for log messages of later requests, from this level on (2026-07-28)."""
        self._envelope[LOG_LEVEL_KEY] = level

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout: Timeout | None = None,
        progress: Progress | None = None,
        opened: Callable[[RequestId], None] | None = None,
    ) -> R:
        """Make a request and return its result.

        Args:
            method: What is asked.
            params: Its params.
            timeout: How long to wait; None for no limit.
            progress: Hears how far the server is.
            opened: Told the request's id, before it is sent.

        Raises:
            McpError: The server's error.
            InputRequired: The server wants to know something first.
            RemoteProtocolError: The server's result is none of this method.
            RequestTimeout: No reply came in time.
            ConnectionLost: No reply can come.
            LocalProtocolError: The params are not JSON, or too many requests are open.
        """
        meta, heard = self._meta(params.meta, timeout, progress)
        shaped = shape(msgspec.structs.replace(params, meta=meta or None), self.revision)
        raw = await self._peer.call(method.name, shaped, timeout=timeout, progress=heard, opened=opened)
        return self._decoded(method, raw)

    async def request_any(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout: Timeout | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Make a request of which nothing is known, and return the members of its result.

        Raises:
            Exception: See `request`.
        """
        meta, heard = self._meta(params.get("_meta"), timeout, progress)
        given = {**params, "_meta": meta} if meta else dict(params)
        raw = await self._peer.call(method, given, timeout=timeout, progress=heard)
        return self._decoded(Method[Any, dict[str, Any]](method, dict[str, Any], dict[str, Any]), raw)

    def cancel_questions(self, reason: str) -> None:
        """Ask nobody any more what the server wanted to know: it does not know of that itself."""
        self._peer.cancel_theirs(reason)

    def _session_lost(self, error: SessionExpiredError) -> None:
        if self.session_lost is not None:
            self.session_lost(error)

    def _meta(
        self, given: Mapping[str, Any] | None, timeout: Timeout | None, progress: Progress | None
    ) -> tuple[dict[str, Any], tuple[Any, Progress | None] | None]:
        """The `_meta` of a request; and the token of its progress with who hears of it, where anybody cares."""
        meta = {**self._envelope, **(given or {})}
        if progress is None and (timeout is None or not timeout.reset_on_progress):
            return meta, None
        return meta, (meta.setdefault(PROGRESS_TOKEN_KEY, next(self._tokens)), progress)

    async def over(self) -> None:
        """Return when the connection is."""
        await self._tasks.wait()

    def notify(self, notification: NotificationMethod[Any], params: Any) -> None:
        """Send a notification."""
        self._peer.notify(notification.name, shape(params, self.revision))

    async def close(self, reason: str = "the client was closed") -> None:
        """End the connection; return when all of it is over.  Idempotent, from any task."""
        self._conversation.stop(reason)
        with anyio.CancelScope(shield=True):  # bounded: the conversation's own end is
            await self._tasks.wait()
            await self.deliveries.close()

    def _decoded(self, method: Method[P, R], raw: Raw) -> R:
        try:
            if self.revision not in MODERN:
                return method.decode_result(raw)
            outcome = method.decode_outcome(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RemoteProtocolError(f"the result of {method.name!r} is not legal: {excerpt(error)}") from error
        if isinstance(outcome, InputRequiredResult):
            raise InputRequired(method.name, outcome)
        return outcome
