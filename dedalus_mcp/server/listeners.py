"""Who hears of changes on a server: its legacy sessions, found again when something changes.

Layer: L4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from anyio import lowlevel

if TYPE_CHECKING:
    from dedalus_mcp.server.answering import Answering

__all__ = ("Listeners",)


class Listeners:
    """The sessions of a server's live connections.  They are held weakly: no connection has to sign off."""

    def __init__(self) -> None:
        # A server may be served in several event loops, and no loop may touch what is another's.
        self._by_loop: WeakKeyDictionary[object, WeakSet[Answering]] = WeakKeyDictionary()

    def __len__(self) -> int:
        """How many sessions there are in this event loop."""
        return len(self._by_loop.get(_loop(), ()))

    def add(self, answering: Answering) -> None:
        """A session has begun, in this event loop."""
        self._by_loop.setdefault(_loop(), WeakSet()).add(answering)

    def resource_updated(self, uri: str) -> None:
        """Tell the sessions of this event loop that have subscribed."""
        for answering in list(self._by_loop.get(_loop(), ())):
            answering.resource_updated(uri)


def _loop() -> object:
    return lowlevel.current_token().native_token
