"""One `subscriptions/listen` request of a client, from its start to its end (2026-07-28).

    opened ──▶ acknowledged ──▶ heard ··· over
         └──────── refused, or broken ──────┘

Layer: L4.
"""

from __future__ import annotations

import anyio

from dedalus_mcp.client.link import Link
from dedalus_mcp.errors import DedalusError, RemoteProtocolError, RequestTimeout
from dedalus_mcp.jsonrpc.messages import RequestId
from dedalus_mcp.types import SubscriptionFilter, SubscriptionsListenRequestParams
from dedalus_mcp.types.methods import SUBSCRIPTIONS_LISTEN

__all__ = ("Subscription", "missing", "uris")

# How long a server may take to acknowledge: nothing else is asked of it.
ACKNOWLEDGE_SECONDS = 10.0

_FLAGS = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")


class Subscription:
    """One request to listen.

    Args:
        asked: What for.

    Attributes:
        asked: See above.
        id: The request's id, which all of its notices carry; None before it is sent.
        granted: What the server acknowledged; None before that.
        error: What it failed by; None as long as it has not.
        over: Whether it has ended.
        began: When it was acknowledged, in seconds of the event loop's clock.
    """

    def __init__(self, asked: SubscriptionFilter) -> None:
        self.asked = asked
        self.id: RequestId | None = None
        self.granted: SubscriptionFilter | None = None
        self.error: DedalusError | None = None
        self.over = False
        self.began = 0.0
        self._scope = anyio.CancelScope()
        self._settled = anyio.Event()

    async def run(self, link: Link) -> None:
        """Listen until it is over; `error` says why it is, unless somebody wanted that."""
        try:
            with self._scope:
                params = SubscriptionsListenRequestParams(notifications=self.asked)
                await link.request(SUBSCRIPTIONS_LISTEN, params, opened=self._opened)
        except DedalusError as error:
            self.error = error
        finally:
            self.over = True
            if self.granted is None and self.error is None:
                self.error = RemoteProtocolError("the server ended the subscription without acknowledging it")
            self._settled.set()

    async def settled(self) -> None:
        """Return when it is acknowledged or has failed; one that stays open without either is ended."""
        with anyio.move_on_after(ACKNOWLEDGE_SECONDS):
            await self._settled.wait()
            return
        self.error = RequestTimeout(SUBSCRIPTIONS_LISTEN.name, ACKNOWLEDGE_SECONDS)
        self.end()

    def acknowledge(self, granted: SubscriptionFilter) -> None:
        """The server says what it will tell."""
        if self.granted is None:
            self.granted = granted
            self.began = anyio.current_time()
            self._settled.set()

    def end(self) -> None:
        """Stop listening.  Idempotent."""
        self._scope.cancel()

    def _opened(self, id: RequestId) -> None:
        self.id = id


def uris(of: SubscriptionFilter) -> list[str]:
    """Return the resources that a filter names."""
    return of.resourceSubscriptions or []


def missing(subscription: Subscription) -> list[str]:
    """Return what was asked for and not granted, each in a word (SUB-04)."""
    asked, granted = subscription.asked, subscription.granted or SubscriptionFilter()
    flags = [flag for flag in _FLAGS if getattr(asked, flag) and not getattr(granted, flag)]
    told = set(uris(granted))
    return flags + [uri for uri in uris(asked) if uri not in told]
