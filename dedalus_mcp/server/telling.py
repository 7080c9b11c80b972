"""Telling clients that something has changed: the part of a server's face for that.

Layer: L4.
"""

from __future__ import annotations

from dedalus_mcp.server import changes
from dedalus_mcp.server.changes import SubscriptionBus

__all__ = ("Telling",)


class Telling:
    """Tells whoever listens, in every era and on every transport.

    Attributes:
        bus: Where changes are published, also from code that cannot await.
    """

    bus: SubscriptionBus

    async def notify_tools_list_changed(self) -> None:
        """Tell every client that listens that the list of tools has changed.

        Registering and removing does so by itself.  A notice goes out after
        `ServerConfig.notice_delay`, so that many changes at a time are one; where nobody listens,
        nothing is done.  From a thread without an event loop: ``server.bus.publish``, or
        `anyio.from_thread.run`.
        """
        self.bus.publish(changes.TOOLS)

    async def notify_prompts_list_changed(self) -> None:
        """Tell that the list of prompts has changed: see `notify_tools_list_changed`."""
        self.bus.publish(changes.PROMPTS)

    async def notify_resources_list_changed(self) -> None:
        """Tell that the lists of resources and templates have changed: see `notify_tools_list_changed`."""
        self.bus.publish(changes.RESOURCES)

    async def notify_resource_updated(self, uri: str) -> None:
        """Tell every client that has subscribed to a resource that it has changed: see `notify_tools_list_changed`."""
        self.bus.publish(changes.updated(uri))
