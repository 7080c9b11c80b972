"""What can change on a server, and the bus that carries the news of it.

    publish(change) ──▶ bus ──▶ every subscriber, in this process or in another

One change is one notice, whatever made it and however often: a list that changed twice has changed.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from dedalus_mcp.types.methods import (
    PROMPTS_LIST_CHANGED,
    RESOURCES_LIST_CHANGED,
    RESOURCES_UPDATED,
    TOOLS_LIST_CHANGED,
)

__all__ = ("PROMPTS", "RESOURCES", "TOOLS", "Change", "MemoryBus", "SubscriptionBus", "updated")


class Change(msgspec.Struct, frozen=True):
    """Something that clients may want to hear of.

    Attributes:
        method: The notification that tells it.
        uri: The resource that has changed; None where a list has.
    """

    method: str
    uri: str | None = None


TOOLS = Change(TOOLS_LIST_CHANGED.name)
"""Another tool is there, or one is not."""

PROMPTS = Change(PROMPTS_LIST_CHANGED.name)
"""Another prompt is there, or one is not."""

RESOURCES = Change(RESOURCES_LIST_CHANGED.name)
"""Another resource or resource template is there, or one is not."""


def updated(uri: str) -> Change:
    """Return the change of one resource: it reads differently now."""
    return Change(RESOURCES_UPDATED.name, uri)


class SubscriptionBus(Protocol):
    """Carries changes from whoever makes them to the servers whose clients may listen.

    Several servers, in one process or in several, may share a bus: then what one of them
    publishes is told to the clients of all.
    """

    def publish(self, change: Change) -> None:
        """Tell every subscriber, this process's own included.

        Called from any thread, with an event loop or without; it must not wait, and not raise.
        """
        ...

    def subscribe(self, hear: Callable[[Change], None]) -> None:
        """Call `hear` with every change from now on.

        `hear` may be called from any thread; it never waits and never raises.
        """
        ...


class MemoryBus:
    """The bus of servers in one process: whoever publishes calls the subscribers."""

    def __init__(self) -> None:
        self._subscribers: tuple[Callable[[Change], None], ...] = ()  # replaced, never changed: threads read it

    def publish(self, change: Change) -> None:
        """Tell every subscriber."""
        for hear in self._subscribers:
            hear(change)

    def subscribe(self, hear: Callable[[Change], None]) -> None:
        """Call `hear` with every change from now on."""
        self._subscribers = (*self._subscribers, hear)
