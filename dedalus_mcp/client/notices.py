"""What a client hears of its server, and who is told.

    notice ──▶ gate ──▶ decoded ──▶ its callback, after all before it

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, UnsetType

from dedalus_mcp.client.delivery import Deliveries, Delivery, hearing
from dedalus_mcp.jsonrpc.messages import Notice
from dedalus_mcp.jsonrpc.ours import raw_params
from dedalus_mcp.types import (
    LoggingMessageNotificationParams,
    NotificationParams,
    ResourceUpdatedNotificationParams,
    ServerCapabilities,
    SubscriptionFilter,
)
from dedalus_mcp.types.method import NotificationMethod
from dedalus_mcp.types.methods import (
    MESSAGE,
    PROMPTS_LIST_CHANGED,
    RESOURCES_LIST_CHANGED,
    RESOURCES_UPDATED,
    TOOLS_LIST_CHANGED,
)

__all__ = ("Callbacks", "ListChangedHandler", "LoggingHandler", "Notices", "ResourceUpdatedHandler", "told_by")

logger = logging.getLogger("dedalus_mcp")

P = TypeVar("P")

LoggingHandler: TypeAlias = Callable[[LoggingMessageNotificationParams], Awaitable[None] | None]
"""Hears a log message.  A plain `def` must not block."""

ListChangedHandler: TypeAlias = Callable[[NotificationParams], Awaitable[None] | None]
"""Hears that a list has changed, or may have.  A plain `def` must not block."""

ResourceUpdatedHandler: TypeAlias = Callable[[ResourceUpdatedNotificationParams], Awaitable[None] | None]
"""Hears which resource has changed, or may have.  A plain `def` must not block."""

Callbacks: TypeAlias = Mapping[NotificationMethod[Any], Callable[[Any], Any] | None]
"""Who is told of what; None for nobody."""

UNASKED = (MESSAGE, PROMPTS_LIST_CHANGED, RESOURCES_LIST_CHANGED, TOOLS_LIST_CHANGED)
"""What a legacy server says at any time, without having been asked for it."""

CHANGES = frozenset(
    method.name for method in (PROMPTS_LIST_CHANGED, RESOURCES_LIST_CHANGED, RESOURCES_UPDATED, TOOLS_LIST_CHANGED)
)
"""What makes stale what was read before."""


class Notices:
    """The way from notices to callbacks.

    Args:
        deliveries: Where callbacks run.
        callbacks: Who is told of what.

    Attributes:
        gate: Looks at every notice first, and says whether it goes on; None where all do.
        changed: Told of every change before whoever listens, by its method and the URI of the resource.
    """

    def __init__(self, deliveries: Deliveries, callbacks: Callbacks) -> None:
        self.gate: Callable[[Notice], bool] | None = None
        self.changed: Callable[[str, str | None], None] | None = None
        self._deliveries = {
            method.name: Delivery(callback, deliveries)
            for method, callback in callbacks.items()
            if callback is not None
        }
        self._hearers = {
            method.name: hearing(method, self._deliveries[method.name])
            for method in callbacks
            if method.name in self._deliveries
        }

    def listens_to(self, method: NotificationMethod[Any]) -> bool:
        """Whether somebody is told of such notices."""
        return method.name in self._hearers

    def wanted(self, server: ServerCapabilities) -> SubscriptionFilter:
        """What a server says that it tells of, as far as somebody is told of it."""
        told = told_by(server)
        deaf: dict[str, Any] = {flag: None for flag, method in _LISTS.items() if not self.listens_to(method)}
        return msgspec.structs.replace(told, **deaf)

    @property
    def unasked(self) -> bool:
        """Whether somebody is told of what a legacy server says at any time."""
        return any(self.listens_to(method) for method in UNASKED)

    def hear(self, notice: Notice) -> None:
        """Take a notice of the server."""
        if self.gate is not None and not self.gate(notice):
            return
        if self.changed is not None and notice.method in CHANGES:
            self.changed(notice.method, _uri(notice.params))
        hear = self._hearers.get(notice.method)
        if hear is None:
            logger.debug("nobody listens to %.80r", notice.method)
        else:
            hear(notice.params)

    def tell(self, method: NotificationMethod[P], params: P) -> None:
        """Tell whoever listens, as if the server had said it."""
        if self.changed is not None and method.name in CHANGES:
            self.changed(method.name, getattr(params, "uri", None))
        delivery = self._deliveries.get(method.name)
        if delivery is not None:
            delivery.put(params)

    def tell_all(self, what: SubscriptionFilter) -> None:
        """Tell whoever listens that all of this may have changed: there was nobody to hear of it."""
        for flag, method in _LISTS.items():
            if getattr(what, flag):
                self.tell(method, NotificationParams())
        for uri in what.resourceSubscriptions or []:
            self.tell(RESOURCES_UPDATED, ResourceUpdatedNotificationParams(uri=uri))


def told_by(server: ServerCapabilities, uris: Sequence[str] = ()) -> SubscriptionFilter:
    """Return what a server says that it tells of, and these resources."""

    def flag(capability: Any) -> bool | None:
        return True if capability is not None and capability.listChanged else None

    return SubscriptionFilter(
        toolsListChanged=flag(server.tools),
        promptsListChanged=flag(server.prompts),
        resourcesListChanged=flag(server.resources),
        resourceSubscriptions=list(uris) or None,
    )


_LISTS: Final[dict[str, NotificationMethod[NotificationParams]]] = {
    "toolsListChanged": TOOLS_LIST_CHANGED,
    "promptsListChanged": PROMPTS_LIST_CHANGED,
    "resourcesListChanged": RESOURCES_LIST_CHANGED,
}


class _Named(msgspec.Struct):
    uri: str | None = None


_decode_named = msgspec.json.Decoder(_Named).decode


def _uri(params: Raw | UnsetType) -> str | None:
    """The resource that a notice names; a bad notice names none."""
    try:
        return _decode_named(raw_params(params)).uri
    except (msgspec.DecodeError, RecursionError):
        return None
