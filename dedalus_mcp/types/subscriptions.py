"""Subscriptions: one long request that change notices come on (2026-07-28).

Layer: L1; imports `messages`, `wire` only.
"""

from __future__ import annotations

from dedalus_mcp.types.messages import NotificationParams, RequestParams, Result
from dedalus_mcp.types.wire import Wire

__all__ = (
    "SubscriptionFilter",
    "SubscriptionsAcknowledgedNotificationParams",
    "SubscriptionsListenRequestParams",
    "SubscriptionsListenResult",
)


class SubscriptionFilter(Wire, frozen=True, kw_only=True):
    """Which notices are wanted, or granted.

    Attributes:
        resourceSubscriptions: The URIs of the resources to hear about.
        taskIds: Of the tasks extension.
    """

    toolsListChanged: bool | None = None
    promptsListChanged: bool | None = None
    resourcesListChanged: bool | None = None
    resourceSubscriptions: list[str] | None = None
    taskIds: list[str] | None = None


class SubscriptionsListenRequestParams(RequestParams, frozen=True, kw_only=True):
    """What to hear about."""

    notifications: SubscriptionFilter


class SubscriptionsAcknowledgedNotificationParams(NotificationParams, frozen=True, kw_only=True):
    """What will be heard about; the first message of the stream."""

    notifications: SubscriptionFilter


class SubscriptionsListenResult(Result, frozen=True, kw_only=True):
    """The stream has ended; `_meta` names it under `SUBSCRIPTION_ID_KEY`."""
