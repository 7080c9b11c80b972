"""The notifications of every revision, as values: a `method` and its `params`.

Layer: L1; imports `messages`, `wire` and the families only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dedalus_mcp.types.elicitation import ElicitationCompleteNotificationParams
from dedalus_mcp.types.messages import NotificationParams
from dedalus_mcp.types.notices import (
    CancelledNotificationParams,
    LoggingMessageNotificationParams,
    ProgressNotificationParams,
)
from dedalus_mcp.types.resources import ResourceUpdatedNotificationParams
from dedalus_mcp.types.subscriptions import SubscriptionsAcknowledgedNotificationParams
from dedalus_mcp.types.tasks import TaskStatusNotificationParams
from dedalus_mcp.types.wire import TaggedMeta, Wire

__all__ = (
    "CancelledNotification",
    "ClientNotification",
    "ElicitationCompleteNotification",
    "InitializedNotification",
    "LoggingMessageNotification",
    "Notification",
    "ProgressNotification",
    "PromptListChangedNotification",
    "ResourceListChangedNotification",
    "ResourceUpdatedNotification",
    "RootsListChangedNotification",
    "ServerNotification",
    "SubscriptionsAcknowledgedNotification",
    "TaskStatusNotification",
    "ToolListChangedNotification",
)


class Notification(Wire, frozen=True, kw_only=True):
    """Any notification, by name, with params as they are."""

    method: str
    params: Any = None


class _TaggedNotification(Wire, frozen=True, kw_only=True, tag_field="method", tag="", metaclass=TaggedMeta):
    """What every notification of the protocol is; never on the wire itself."""


class InitializedNotification(_TaggedNotification, frozen=True, kw_only=True, tag="notifications/initialized"):
    """``notifications/initialized``."""

    if TYPE_CHECKING:
        method: Literal["notifications/initialized"] = "notifications/initialized"
    params: NotificationParams | None = None


class CancelledNotification(_TaggedNotification, frozen=True, kw_only=True, tag="notifications/cancelled"):
    """``notifications/cancelled``."""

    if TYPE_CHECKING:
        method: Literal["notifications/cancelled"] = "notifications/cancelled"
    params: CancelledNotificationParams


class ProgressNotification(_TaggedNotification, frozen=True, kw_only=True, tag="notifications/progress"):
    """``notifications/progress``."""

    if TYPE_CHECKING:
        method: Literal["notifications/progress"] = "notifications/progress"
    params: ProgressNotificationParams


class LoggingMessageNotification(_TaggedNotification, frozen=True, kw_only=True, tag="notifications/message"):
    """``notifications/message``."""

    if TYPE_CHECKING:
        method: Literal["notifications/message"] = "notifications/message"
    params: LoggingMessageNotificationParams


class ResourceUpdatedNotification(
    _TaggedNotification, frozen=True, kw_only=True, tag="notifications/resources/updated"
):
    """``notifications/resources/updated``."""

    if TYPE_CHECKING:
        method: Literal["notifications/resources/updated"] = "notifications/resources/updated"
    params: ResourceUpdatedNotificationParams


class ResourceListChangedNotification(
    _TaggedNotification, frozen=True, kw_only=True, tag="notifications/resources/list_changed"
):
    """``notifications/resources/list_changed``."""

    if TYPE_CHECKING:
        method: Literal["notifications/resources/list_changed"] = "notifications/resources/list_changed"
    params: NotificationParams | None = None


class ToolListChangedNotification(
    _TaggedNotification, frozen=True, kw_only=True, tag="notifications/tools/list_changed"
):
    """``notifications/tools/list_changed``."""

    if TYPE_CHECKING:
        method: Literal["notifications/tools/list_changed"] = "notifications/tools/list_changed"
    params: NotificationParams | None = None


class PromptListChangedNotification(
    _TaggedNotification, frozen=True, kw_only=True, tag="notifications/prompts/list_changed"
):
    """``notifications/prompts/list_changed``."""

    if TYPE_CHECKING:
        method: Literal["notifications/prompts/list_changed"] = "notifications/prompts/list_changed"
    params: NotificationParams | None = None


class RootsListChangedNotification(
    _TaggedNotification, frozen=True, kw_only=True, tag="notifications/roots/list_changed"
):
    """``notifications/roots/list_changed``."""

    if TYPE_CHECKING:
        method: Literal["notifications/roots/list_changed"] = "notifications/roots/list_changed"
    params: NotificationParams | None = None


class ElicitationCompleteNotification(
    _TaggedNotification, frozen=True, kw_only=True, tag="notifications/elicitation/complete"
):
    """``notifications/elicitation/complete``."""

    if TYPE_CHECKING:
        method: Literal["notifications/elicitation/complete"] = "notifications/elicitation/complete"
    params: ElicitationCompleteNotificationParams


class TaskStatusNotification(_TaggedNotification, frozen=True, kw_only=True, tag="notifications/tasks/status"):
    """``notifications/tasks/status``."""

    if TYPE_CHECKING:
        method: Literal["notifications/tasks/status"] = "notifications/tasks/status"
    params: TaskStatusNotificationParams


class SubscriptionsAcknowledgedNotification(
    _TaggedNotification, frozen=True, kw_only=True, tag="notifications/subscriptions/acknowledged"
):
    """``notifications/subscriptions/acknowledged``."""

    if TYPE_CHECKING:
        method: Literal["notifications/subscriptions/acknowledged"] = "notifications/subscriptions/acknowledged"
    params: SubscriptionsAcknowledgedNotificationParams


ClientNotification: TypeAlias = (
    CancelledNotification
    | ProgressNotification
    | InitializedNotification
    | RootsListChangedNotification
    | TaskStatusNotification
)
"""What a client sends, in one revision or another."""
ServerNotification: TypeAlias = (
    CancelledNotification
    | ProgressNotification
    | LoggingMessageNotification
    | ResourceUpdatedNotification
    | ResourceListChangedNotification
    | ToolListChangedNotification
    | PromptListChangedNotification
    | ElicitationCompleteNotification
    | TaskStatusNotification
    | SubscriptionsAcknowledgedNotification
)
"""What a server sends, in one revision or another."""
