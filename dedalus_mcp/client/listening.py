"""Keeps a client subscribed to what it wants to hear of, on 2026-07-28: one stream, replaced and re-opened.

    wanted ──▶ listen ──▶ acknowledged ──▶ heard
      ▲                        │  what is wanted changes: another, and then this one ends
      └───── a pause ◀─────────┘  it breaks: again, and whoever listens is told that something may have changed

Layer: L4.
Source: MCP 2026-07-28, basic/patterns/subscriptions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from dedalus_mcp.client.link import Link
from dedalus_mcp.client.patience import BackOff
from dedalus_mcp.client.subscription import Subscription, missing, uris
from dedalus_mcp.complaints import Complaints
from dedalus_mcp.errors import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    ConnectionLost,
    DedalusError,
    MCPConnectionError,
    McpError,
    RequestTimeout,
)
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.messages import Notice
from dedalus_mcp.jsonrpc.ours import raw_params
from dedalus_mcp.types import (
    ServerCapabilities,
    SubscriptionFilter,
)
from dedalus_mcp.types.meta import SUBSCRIPTION_ID_KEY
from dedalus_mcp.types.methods import (
    CANCELLED,
    PROMPTS_LIST_CHANGED,
    RESOURCES_LIST_CHANGED,
    RESOURCES_UPDATED,
    SUBSCRIPTIONS_ACKNOWLEDGED,
    SUBSCRIPTIONS_LISTEN,
    TOOLS_LIST_CHANGED,
)

__all__ = ("Listening",)

logger = logging.getLogger("dedalus_mcp")

# A stream that was open so long, in seconds, did its work: what ended it was some proxy's limit.
LONG_LIVED = 30.0

# How long connecting waits for the first acknowledgement, so that what is listed afterwards is watched.
BEGIN_SECONDS = 1.0

_TAGGED = (PROMPTS_LIST_CHANGED.name, RESOURCES_LIST_CHANGED.name, RESOURCES_UPDATED.name, TOOLS_LIST_CHANGED.name)


class _Wish:
    """Somebody waits until a resource is listened to, or not any more."""

    def __init__(self, uri: str, *, is_new: bool = False) -> None:
        self.uri = uri
        self.is_new = is_new
        self.error: DedalusError | None = None
        self.done = anyio.Event()


class Listening:
    """What one client listens to.

    Args:
        link: The connection.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._back_off = BackOff()
        self._complaints = Complaints()
        self._flags = SubscriptionFilter()
        self._uris: dict[str, None] = {}  # in order
        self._heard: Subscription | None = None
        self._next: Subscription | None = None
        self._refused: SubscriptionFilter | None = None  # what there is no point in asking for again
        self._wishes: list[_Wish] = []
        self._news = anyio.Event()
        self._running = False
        self._begun = anyio.Event()

    def start(self, server: ServerCapabilities) -> None:
        """Listen to the changes of lists that there are callbacks for, as far as the server tells of them."""
        self._link.notices.gate = self.passes
        self._flags = self._link.notices.wanted(server)
        if self._wanted() != SubscriptionFilter():
            self._wake()

    def take_over(self, server: ServerCapabilities, uris: list[str]) -> None:
        """Do the same where the server was a legacy one before, which had these subscriptions."""
        self._uris.update(dict.fromkeys(uris))
        self.start(server)

    async def begun(self) -> None:
        """Return when the changes that `start` is about are heard, or will not be, or it takes too long."""
        if self._running:
            with anyio.move_on_after(BEGIN_SECONDS):
                await self._begun.wait()

    async def subscribe(self, uri: str, timeout: Timeout | None) -> None:
        """Hear of changes of a resource; return when the server has agreed.

        Raises:
            McpError: The server refuses, or does not tell of this resource.
            RequestTimeout, ConnectionLost, RemoteProtocolError, MCPConnectionError: See `MCPClient.request`.
        """
        is_new = uri not in self._uris
        self._uris[uri] = None
        try:
            await self._come_true(_Wish(uri, is_new=is_new), timeout)
        except BaseException:
            if is_new and not any(wish.uri == uri for wish in self._wishes):
                self._uris.pop(uri, None)
                self._wake()
            raise

    async def unsubscribe(self, uri: str, timeout: Timeout | None) -> None:
        """Hear of them no more.

        Raises:
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError, MCPConnectionError: See `subscribe`.
        """
        if uri in self._uris:
            del self._uris[uri]
            await self._come_true(_Wish(uri), timeout)

    def passes(self, notice: Notice) -> bool:
        """Whether a notice goes on to the callbacks: all do, but changes only as part of a subscription (SUB-06)."""
        if notice.method == CANCELLED.name:
            self._cancelled(notice)
            return False
        if notice.method == SUBSCRIPTIONS_ACKNOWLEDGED.name:
            self._acknowledged(notice)
            return False
        if notice.method not in _TAGGED:
            return True
        subscription = self._subscription(notice)
        if subscription is None or subscription.granted is None:
            logger.debug("dropped a %s of no subscription of ours", notice.method)
            return False
        self._back_off.succeeded()
        return True

    # Keeping it open.

    def _wanted(self) -> SubscriptionFilter:
        return msgspec.structs.replace(self._flags, resourceSubscriptions=list(self._uris) or None)

    def _wake(self) -> None:
        self._news.set()
        self._news = anyio.Event()
        if not self._running:
            self._running = True
            self._link.deliveries.start(self._keep)

    async def _keep(self) -> None:
        try:
            while self._goes_on():
                async with anyio.create_task_group() as group:
                    while self._goes_on():
                        await self._step(group)
                    group.cancel_scope.cancel()
                self._heard = None
                self._settle(None, lambda wish: wish.uri not in self._uris)
        finally:
            self._running, self._heard = False, None
            self._settle(ConnectionLost(self._link.ended or "the client was closed"))

    def _goes_on(self) -> bool:
        return self._link.ended is None and self._wanted() != SubscriptionFilter()

    async def _step(self, group: TaskGroup) -> None:
        """Do what there is to do now, or wait until there is something."""
        news, heard = self._news, self._heard
        broke = heard is not None and heard.over
        is_as_wanted = heard is not None and not broke and heard.asked == self._wanted()
        if is_as_wanted:
            self._settle(None)
        if is_as_wanted or self._wanted() == self._refused:
            await news.wait()
            return
        if heard is not None and broke and anyio.current_time() - heard.began >= LONG_LIVED:
            self._back_off.succeeded()
        if (broke or self._back_off.attempts) and not self._wishes:
            with anyio.move_on_after(self._back_off.pause()):
                await news.wait()  # a new wish is worth an attempt at once
        if not self._goes_on():
            return
        missed = broke if heard is not None else self._back_off.attempts > 0
        subscription = self._next = Subscription(self._wanted())
        group.start_soon(self._listen, subscription)
        await subscription.settled()
        self._begun.set()
        self._next = None
        if subscription.granted is None:
            self._took_nothing(subscription, broke=broke)
        else:
            self._took(subscription, subscription.granted, missed=missed)

    async def _listen(self, subscription: Subscription) -> None:
        await subscription.run(self._link)
        if subscription is self._heard:
            logger.debug("the subscription ended: %s", excerpt(subscription.error or "the server ended it"))
            self._wake()

    def _took(self, subscription: Subscription, granted: SubscriptionFilter, *, missed: bool) -> None:
        """Hear this one from now on."""
        before, self._heard = self._heard, subscription
        self._refused = None
        if before is not None:
            before.end()
        lacking = missing(subscription)
        if lacking:
            logger.warning("the server does not tell of everything that was asked for: %s", excerpt(", ".join(lacking)))
        asked, told = set(uris(subscription.asked)), set(uris(granted))
        self._settle(
            McpError(INVALID_PARAMS, "the server does not tell of changes of this resource"),
            lambda wish: wish.uri in self._uris and wish.uri in asked and wish.uri not in told,
        )
        self._settle(None, lambda wish: (wish.uri in asked) == (wish.uri in self._uris))
        if missed:
            self._link.notices.tell_all(granted)  # whatever changed in between was told to nobody (SUB-15)

    def _took_nothing(self, subscription: Subscription, *, broke: bool) -> None:
        """It was refused, or did not arrive."""
        error = subscription.error
        is_final = isinstance(error, McpError) and (not broke or error.code == METHOD_NOT_FOUND)
        if is_final:
            self._refused = subscription.asked
        if self._back_off.attempts <= 1 and not self._wishes and self._link.ended is None:
            logger.warning("nothing is heard of changes, %s: %s", "for good" if is_final else "for now", excerpt(error))
        self._back_off.failed(error.retry_after if isinstance(error, MCPConnectionError) else None)
        asked = set(uris(subscription.asked))
        self._settle(error, lambda wish: (wish.uri in asked) == (wish.uri in self._uris))

    # Those who wait.

    async def _come_true(self, wish: _Wish, timeout: Timeout | None) -> None:
        if self._link.ended is not None:
            raise ConnectionLost(self._link.ended)
        self._wishes.append(wish)
        self._refused = None
        self._wake()
        try:
            with anyio.move_on_after(None if timeout is None else timeout.seconds):
                await wish.done.wait()
        finally:
            if wish in self._wishes:
                self._wishes.remove(wish)
        if not wish.done.is_set():
            raise RequestTimeout(SUBSCRIPTIONS_LISTEN.name, 0 if timeout is None else timeout.seconds)
        if wish.error is not None:
            raise wish.error

    def _settle(self, error: DedalusError | None, concerned: Callable[[_Wish], bool] = lambda wish: True) -> None:
        settled: list[_Wish] = []
        waiting: list[_Wish] = []
        for wish in self._wishes:
            (settled if concerned(wish) else waiting).append(wish)
        self._wishes = waiting
        for wish in settled:
            if error is not None and wish.is_new:
                self._uris.pop(wish.uri, None)
            wish.error = error
            wish.done.set()

    # What the server says of it.

    def _acknowledged(self, notice: Notice) -> None:
        subscription = self._subscription(notice)
        try:
            params = SUBSCRIPTIONS_ACKNOWLEDGED.decode_params(notice.params)
        except (msgspec.DecodeError, RecursionError) as error:
            self._complaints.tell("dropped a bad %s: %s", notice.method, excerpt(error))
            return
        if subscription is not None:
            subscription.acknowledge(params.notifications)

    def _cancelled(self, notice: Notice) -> None:
        """The server may end a subscription so, with or without a result (AMB-01)."""
        try:
            id = CANCELLED.decode_params(notice.params).requestId
        except (msgspec.DecodeError, RecursionError):
            return
        subscription = self._by_id(id)
        if subscription is not None:
            subscription.end()

    def _subscription(self, notice: Notice) -> Subscription | None:
        try:
            tag = _decode_tag(raw_params(notice.params)).meta
        except (msgspec.DecodeError, RecursionError):
            return None
        return self._by_id(tag.id)

    def _by_id(self, id: object) -> Subscription | None:
        open_now = [each for each in (self._next, self._heard) if each is not None and not each.over]
        return next((each for each in open_now if each.id == id and type(each.id) is type(id)), None)


class _Tag(msgspec.Struct, rename={"id": SUBSCRIPTION_ID_KEY}):
    id: Any = None


class _Tagged(msgspec.Struct, rename={"meta": "_meta"}):
    meta: _Tag = msgspec.field(default_factory=_Tag)


_decode_tag = msgspec.json.Decoder(_Tagged).decode
