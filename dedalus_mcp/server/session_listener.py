"""A legacy session that hears of changes: of the lists from its beginning, of resources as it subscribes.

    tell(change) ──▶ the session's own channel
                 ──▶ kept, once each, while that is full ──▶ sent when there is room

Layer: L4.
Source: MCP 2025-11-25, server/resources, "Subscriptions"; "List Changed Notification" of each capability.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from dedalus_mcp.errors import INVALID_REQUEST, McpError
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp.server.changes import Change, updated
from dedalus_mcp.server.listeners import Listeners
from dedalus_mcp.types import ResourceUpdatedNotificationParams

__all__ = ("SessionListener",)

# More than any client shows.
MAX_SUBSCRIPTIONS = 10_000
# In all their URIs: so many of a hundred each, or a few as long as a body may be.
MAX_CHARACTERS = 1 << 20


class SessionListener:
    """What one session hears of; a `Listener`.

    Args:
        listeners: The others, whom it joins.
        peer: Whom to tell.
        lists: The changes of lists to hear of, as they were advertised.
    """

    __slots__ = ("_characters", "_listeners", "_lists", "_peer", "_sending", "_subscribed", "_tasks", "_waiting")

    def __init__(self, listeners: Listeners, peer: Peer, lists: Iterable[Change]) -> None:
        self._listeners = listeners
        self._peer = peer
        self._lists = tuple(lists)
        self._subscribed: dict[Change, None] = {}
        self._characters = 0
        self._waiting: dict[Change, None] = {}
        self._sending = False
        self._tasks = Tasks()
        for change in self._lists:
            listeners.join(self, change)

    def hears(self, uri: str) -> bool:
        """Whether the session has subscribed to a resource."""
        return updated(uri) in self._subscribed

    def subscribe(self, uri: str) -> None:
        """Hear of the changes of a resource; once more changes nothing.

        Raises:
            McpError: -32600, the session hears of `MAX_SUBSCRIPTIONS` already, or of so long URIs.
        """
        change = updated(uri)
        if change not in self._subscribed:
            if len(self._subscribed) >= MAX_SUBSCRIPTIONS or self._characters + len(uri) > MAX_CHARACTERS:
                limits = f"{MAX_SUBSCRIPTIONS} subscriptions, and {MAX_CHARACTERS} characters in all their URIs"
                raise McpError(INVALID_REQUEST, f"Invalid request: {limits}, are the limit")
            self._subscribed[change] = None
            self._characters += len(uri)
        self._listeners.join(self, change)

    def unsubscribe(self, uri: str) -> None:
        """Hear of them no more; nothing happens if it did not."""
        change = updated(uri)
        if change in self._subscribed:
            del self._subscribed[change]
            self._characters -= len(uri)
        self._listeners.leave(self, change)
        self._waiting.pop(change, None)

    def leave(self) -> None:
        """Hear of nothing any more: the session is over."""
        for change in (*self._lists, *self._subscribed):
            self._listeners.leave(self, change)
        self._waiting.clear()

    def tell(self, change: Change) -> None:
        """Send a notice, or keep it until there is room."""
        self._waiting[change] = None
        if self._sending:
            return
        if not self._peer.channel.full:
            self._send()
        if self._waiting or self._peer.channel.unsent:
            self._sending = True
            self._tasks.start(self._send_later, detached=True)

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for change in waiting:
            params = UNSET if change.uri is None else ResourceUpdatedNotificationParams(uri=change.uri)
            self._peer.notify(change.method, params)

    async def _send_later(self) -> None:
        channel = self._peer.channel
        try:
            while self._waiting or channel.unsent:
                if channel.full:
                    await channel.ready()
                self._send()
                if channel.unsent:
                    await channel.flush()
        finally:
            self._sending = False
