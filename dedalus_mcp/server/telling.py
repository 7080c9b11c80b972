"""Telling clients of what they have not asked for: the part of a server's face for that.

Layer: L4.
"""

from __future__ import annotations

import logging

from dedalus_mcp.server import changes
from dedalus_mcp.server.changes import SubscriptionBus
from dedalus_mcp.server.context import Context, active_context
from dedalus_mcp.server.log_forwarding import ClientLogHandler, named

__all__ = ("Telling",)


class Telling:
    """Tells whoever listens, in every era and on every transport.

    Attributes:
        bus: Where changes are published, also from code that cannot await.
        forwards_logs: Whether `forward_logs` has been called.
    """

    bus: SubscriptionBus
    forwards_logs: bool = False

    def forward_logs(self, *names: str, level: int = logging.NOTSET) -> ClientLogHandler:
        """Send what these loggers are told within calls to the clients of those calls, from the next call on.

        Nothing else is changed about the loggers, so they have to be enabled for what is to be
        heard.  `logging.Logger.removeHandler` undoes it.  See `dedalus_mcp.server.log_forwarding`.

        Args:
            names: Names of loggers as in `logging`, each for those beneath it as well.
            level: From which level on, as in `logging`; every client has a threshold of its own.

        Raises:
            ValueError: There are no names.
        """

        def find() -> Context | None:
            context = active_context()
            if context is None:
                return None
            ours = context.server is self or any(home.server is self for home in context.homes)
            return context if ours else None

        handler = ClientLogHandler(find, level)
        for logger in named(names):
            logger.addHandler(handler)
        self.forwarding()
        return handler

    def forwarding(self) -> None:
        """Logs are forwarded from the next call on."""
        self.forwards_logs = True

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
