"""`subscriptions/listen`: a call that lasts, on whose stream changes are told (2026-07-28).

    call ──▶ granted: what was asked for, and is there ──▶ acknowledged
         ──▶ changes as they come, each tagged with the id of the call
         ──▶ cancelled, or its client gone: nothing more
             ended here: the result, tagged likewise

A reader that stalls holds up its own stream alone: what changes meanwhile is kept once.

Layer: L4.
Source: MCP 2026-07-28, basic/patterns/subscriptions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import anyio
import msgspec
from anyio import lowlevel

from dedalus_mcp.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    McpError,
    ResourceNotFound,
)
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.server.capabilities import promised
from dedalus_mcp.server.changes import PROMPTS, RESOURCES, TOOLS, Change, updated
from dedalus_mcp.server.context import Context
from dedalus_mcp.server.resources import Resources
from dedalus_mcp.types import (
    CancelledNotificationParams,
    NotificationParams,
    ResourceUpdatedNotificationParams,
    ServerCapabilities,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from dedalus_mcp.types.meta import SUBSCRIPTION_ID_KEY
from dedalus_mcp.types.methods import CANCELLED, SUBSCRIPTIONS_ACKNOWLEDGED

if TYPE_CHECKING:
    from dedalus_mcp.server.server import MCPServer

__all__ = ("listen",)

# One stream can tell of everything; a client that has a few for its parts is still far below.
MAX_STREAMS = 64
# More than a client shows, and with the next few enough to keep what a stream holds small.
MAX_URIS = 1000
MAX_URI_CHARACTERS = 256 * 1024
# How long the last words of a stream may take, once it is ended here.
ENDING_SECONDS = 1.0
ENDED = "the server is shutting down"


async def listen(context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
    """Tell of changes until the call is cancelled, or the conversation drains.

    Raises:
        McpError: -32601, there is no stream for them here; -32600, the call came in a batch; -32602,
            too many resources; -32603, too many streams.
    """
    call, server = context.call, context.server
    streams = server.listeners.streams
    _admit(call, len(streams), server.config.max_listens)
    granted = _granted(params.notifications, server.capabilities, server.resources)
    changes = list(_changes(granted))
    stream = _Stream(call)
    streams.add(stream)
    call.peer.release(call, stream.end)
    for change in changes:
        server.listeners.join(stream, change)
    try:
        return await stream.run(await _watched(granted, server))
    finally:
        streams.discard(stream)
        for change in changes:
            server.listeners.leave(stream, change)


def _admit(call: Inbound, streams: int, limit: int) -> None:
    if not call.channel.takes_calls:
        why = "it needs an event stream, and here calls are answered in single JSON replies"
        raise McpError(METHOD_NOT_FOUND, f"Method not found: {call.method}: {why}")
    if call.batch is not None:
        raise McpError(INVALID_REQUEST, f"Invalid request: `{call.method}` stands alone, never in a batch")
    if call.peer.lasting >= MAX_STREAMS:
        raise McpError(INTERNAL_ERROR, f"Too many subscriptions: {MAX_STREAMS} are open here, which is the limit")
    if streams >= limit:
        raise McpError(INTERNAL_ERROR, "Too many subscriptions: the server has no room for one more; try again later")


def _granted(asked: SubscriptionFilter, capabilities: ServerCapabilities, resources: Resources) -> SubscriptionFilter:
    """What of the filter can be honoured: the kinds that are advertised, the resources that are there."""
    lists = promised(capabilities)
    uris = list(dict.fromkeys(asked.resourceSubscriptions or ()))
    if len(uris) > MAX_URIS or sum(map(len, uris)) > MAX_URI_CHARACTERS:
        limits = f"at most {MAX_URIS} URIs, of {MAX_URI_CHARACTERS} characters in all"
        raise McpError(INVALID_PARAMS, f"Invalid params: `resourceSubscriptions` takes {limits}")
    return SubscriptionFilter(
        toolsListChanged=True if asked.toolsListChanged and TOOLS in lists else None,
        promptsListChanged=True if asked.promptsListChanged and PROMPTS in lists else None,
        resourcesListChanged=True if asked.resourcesListChanged and RESOURCES in lists else None,
        resourceSubscriptions=[uri for uri in uris if _is_there(uri, resources)] or None,
    )


async def _watched(granted: SubscriptionFilter, server: MCPServer) -> SubscriptionFilter:
    """What remains of it once those who have resources elsewhere have said whether they tell of them."""
    told: list[str] = []
    for uri in granted.resourceSubscriptions or ():
        try:
            await server.watching.begun(uri)
        except McpError:
            continue
        told.append(uri)
    return msgspec.structs.replace(granted, resourceSubscriptions=told or None)


def _is_there(uri: str, resources: Resources) -> bool:
    try:
        resources.check(uri)
    except ResourceNotFound:
        return False
    return True


def _changes(granted: SubscriptionFilter) -> Iterator[Change]:
    if granted.toolsListChanged:
        yield TOOLS
    if granted.promptsListChanged:
        yield PROMPTS
    if granted.resourcesListChanged:
        yield RESOURCES
    yield from map(updated, granted.resourceSubscriptions or ())


class _Stream:
    """What goes out for one call; a `Listener`."""

    def __init__(self, call: Inbound) -> None:
        self._call = call
        self._tag = {SUBSCRIPTION_ID_KEY: call.id}
        self._waiting: dict[Change, None] = {}
        self._news = anyio.Event()
        self._ended = False
        self._scope = anyio.CancelScope()

    def tell(self, change: Change) -> None:
        """Keep a change until it is sent."""
        self._waiting[change] = None
        self._news.set()

    def end(self) -> None:
        """End the stream, with what waits and the result."""
        self._ended = True
        self._news.set()
        self._scope.deadline = anyio.current_time() + ENDING_SECONDS

    async def run(self, granted: SubscriptionFilter) -> SubscriptionsListenResult:
        """Send what there is to be sent, until the stream is ended."""
        call, channel = self._call, self._call.channel
        with self._scope:
            if channel.full:
                await channel.ready()
            acknowledged = SubscriptionsAcknowledgedNotificationParams(notifications=granted, meta=self._tag)
            call.peer.notify(SUBSCRIPTIONS_ACKNOWLEDGED.name, acknowledged, channel=channel)
            if channel.unsent:
                await channel.flush()
            while not self._ended or self._waiting:
                await self._news.wait()
                self._news = anyio.Event()
                await self._send()
            if channel.carrier is None:  # CANC-05; over HTTP the stream itself ends
                params = CancelledNotificationParams(requestId=call.id, reason=ENDED, meta=self._tag)
                call.peer.notify(CANCELLED.name, params, channel=channel)
        if self._scope.cancelled_caught:  # nobody reads, so there is nobody to be told
            call.cancel(ENDED)
            await lowlevel.checkpoint()
        return SubscriptionsListenResult(meta=self._tag)

    async def _send(self) -> None:
        channel = self._call.channel
        if channel.full:
            await channel.ready()
        waiting, self._waiting = self._waiting, {}
        for change in waiting:
            self._call.peer.notify(change.method, self._params(change), channel=channel)
        if channel.unsent:
            await channel.flush()

    def _params(self, change: Change) -> NotificationParams:
        if change.uri is None:
            return NotificationParams(meta=self._tag)
        return ResourceUpdatedNotificationParams(uri=change.uri, meta=self._tag)
