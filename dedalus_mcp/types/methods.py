"""One constant for each request and notification: its name, types, and who may send it when.

    result = TOOLS_CALL.decode_result(raw)     # a CallToolResult, for the type checkers too
    method = REQUESTS.get("tools/call")        # by name, for a dispatcher

Layer: L1; imports the families, `method` and `revisions` only.
Source: `schema.ts` of all five revisions.
"""

from __future__ import annotations

from typing import Any, Final

from dedalus_mcp.types.completion import CompleteRequestParams, CompleteResult
from dedalus_mcp.types.elicitation import AnyElicitRequestParams, ElicitationCompleteNotificationParams, ElicitResult
from dedalus_mcp.types.lifecycle import DiscoverResult, InitializeRequestParams, InitializeResult
from dedalus_mcp.types.messages import NotificationParams, PaginatedRequestParams, RequestParams, Result
from dedalus_mcp.types.method import Method, NotificationMethod
from dedalus_mcp.types.notices import (
    CancelledNotificationParams,
    LoggingMessageNotificationParams,
    ProgressNotificationParams,
    SetLevelRequestParams,
)
from dedalus_mcp.types.prompts import GetPromptRequestParams, GetPromptResult, ListPromptsResult
from dedalus_mcp.types.resources import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceUpdatedNotificationParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from dedalus_mcp.types.revisions import LATEST_LEGACY, LEGACY, MODERN, REVISIONS, V2025_06_18
from dedalus_mcp.types.roots import ListRootsResult
from dedalus_mcp.types.sampling import CreateMessageRequestParams, CreateMessageResult
from dedalus_mcp.types.subscriptions import (
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from dedalus_mcp.types.tasks import (
    CancelTaskResult,
    GetTaskPayloadResult,
    GetTaskResult,
    ListTasksResult,
    TaskRequestParams,
    TaskStatusNotificationParams,
)
from dedalus_mcp.types.tools import CallToolRequestParams, CallToolResult, ListToolsResult

__all__ = (
    "CANCELLED",
    "COMPLETION_COMPLETE",
    "DISCOVER",
    "ELICITATION_COMPLETE",
    "ELICITATION_CREATE",
    "INITIALIZE",
    "INITIALIZED",
    "LOGGING_SET_LEVEL",
    "MESSAGE",
    "Method",
    "NOTIFICATIONS",
    "NotificationMethod",
    "PING",
    "PROGRESS",
    "PROMPTS_GET",
    "PROMPTS_LIST",
    "PROMPTS_LIST_CHANGED",
    "REQUESTS",
    "RESOURCES_LIST",
    "RESOURCES_LIST_CHANGED",
    "RESOURCES_READ",
    "RESOURCES_SUBSCRIBE",
    "RESOURCES_TEMPLATES_LIST",
    "RESOURCES_UNSUBSCRIBE",
    "RESOURCES_UPDATED",
    "ROOTS_LIST",
    "ROOTS_LIST_CHANGED",
    "SAMPLING_CREATE_MESSAGE",
    "SUBSCRIPTIONS_ACKNOWLEDGED",
    "SUBSCRIPTIONS_LISTEN",
    "TASKS_CANCEL",
    "TASKS_GET",
    "TASKS_LIST",
    "TASKS_RESULT",
    "TASKS_STATUS",
    "TOOLS_CALL",
    "TOOLS_LIST",
    "TOOLS_LIST_CHANGED",
)

_ELICITING: Final = tuple(revision for revision in LEGACY if revision >= V2025_06_18)
_ONLY_2025_11_25: Final = (LATEST_LEGACY,)

INITIALIZE: Final[Method[InitializeRequestParams, InitializeResult]] = Method(
    "initialize", InitializeRequestParams, InitializeResult, client=LEGACY
)
PING: Final[Method[RequestParams, Result]] = Method("ping", RequestParams, Result, client=LEGACY, server=LEGACY)
DISCOVER: Final[Method[RequestParams, DiscoverResult]] = Method(
    "server/discover", RequestParams, DiscoverResult, client=MODERN
)
TOOLS_LIST: Final[Method[PaginatedRequestParams, ListToolsResult]] = Method(
    "tools/list", PaginatedRequestParams, ListToolsResult, client=REVISIONS
)
TOOLS_CALL: Final[Method[CallToolRequestParams, CallToolResult]] = Method(
    "tools/call", CallToolRequestParams, CallToolResult, client=REVISIONS, named_by="name", carries_rounds=True
)
RESOURCES_LIST: Final[Method[PaginatedRequestParams, ListResourcesResult]] = Method(
    "resources/list", PaginatedRequestParams, ListResourcesResult, client=REVISIONS
)
RESOURCES_TEMPLATES_LIST: Final[Method[PaginatedRequestParams, ListResourceTemplatesResult]] = Method(
    "resources/templates/list", PaginatedRequestParams, ListResourceTemplatesResult, client=REVISIONS
)
RESOURCES_READ: Final[Method[ReadResourceRequestParams, ReadResourceResult]] = Method(
    "resources/read",
    ReadResourceRequestParams,
    ReadResourceResult,
    client=REVISIONS,
    named_by="uri",
    carries_rounds=True,
)
RESOURCES_SUBSCRIBE: Final[Method[SubscribeRequestParams, Result]] = Method(
    "resources/subscribe", SubscribeRequestParams, Result, client=LEGACY
)
RESOURCES_UNSUBSCRIBE: Final[Method[UnsubscribeRequestParams, Result]] = Method(
    "resources/unsubscribe", UnsubscribeRequestParams, Result, client=LEGACY
)
SUBSCRIPTIONS_LISTEN: Final[Method[SubscriptionsListenRequestParams, SubscriptionsListenResult]] = Method(
    "subscriptions/listen", SubscriptionsListenRequestParams, SubscriptionsListenResult, client=MODERN
)
PROMPTS_LIST: Final[Method[PaginatedRequestParams, ListPromptsResult]] = Method(
    "prompts/list", PaginatedRequestParams, ListPromptsResult, client=REVISIONS
)
PROMPTS_GET: Final[Method[GetPromptRequestParams, GetPromptResult]] = Method(
    "prompts/get", GetPromptRequestParams, GetPromptResult, client=REVISIONS, named_by="name", carries_rounds=True
)
COMPLETION_COMPLETE: Final[Method[CompleteRequestParams, CompleteResult]] = Method(
    "completion/complete", CompleteRequestParams, CompleteResult, client=REVISIONS
)
LOGGING_SET_LEVEL: Final[Method[SetLevelRequestParams, Result]] = Method(
    "logging/setLevel", SetLevelRequestParams, Result, client=LEGACY
)
ROOTS_LIST: Final[Method[RequestParams, ListRootsResult]] = Method(
    "roots/list", RequestParams, ListRootsResult, server=LEGACY, embedded=True
)
SAMPLING_CREATE_MESSAGE: Final[Method[CreateMessageRequestParams, CreateMessageResult]] = Method(
    "sampling/createMessage", CreateMessageRequestParams, CreateMessageResult, server=LEGACY, embedded=True
)
ELICITATION_CREATE: Final[Method[AnyElicitRequestParams, ElicitResult]] = Method(
    "elicitation/create", AnyElicitRequestParams, ElicitResult, server=_ELICITING, embedded=True
)
TASKS_GET: Final[Method[TaskRequestParams, GetTaskResult]] = Method(
    "tasks/get", TaskRequestParams, GetTaskResult, client=_ONLY_2025_11_25, server=_ONLY_2025_11_25
)
TASKS_RESULT: Final[Method[TaskRequestParams, GetTaskPayloadResult]] = Method(
    "tasks/result", TaskRequestParams, GetTaskPayloadResult, client=_ONLY_2025_11_25, server=_ONLY_2025_11_25
)
TASKS_LIST: Final[Method[PaginatedRequestParams, ListTasksResult]] = Method(
    "tasks/list", PaginatedRequestParams, ListTasksResult, client=_ONLY_2025_11_25, server=_ONLY_2025_11_25
)
TASKS_CANCEL: Final[Method[TaskRequestParams, CancelTaskResult]] = Method(
    "tasks/cancel", TaskRequestParams, CancelTaskResult, client=_ONLY_2025_11_25, server=_ONLY_2025_11_25
)

INITIALIZED: Final[NotificationMethod[NotificationParams]] = NotificationMethod(
    "notifications/initialized", NotificationParams, client=LEGACY
)
CANCELLED: Final[NotificationMethod[CancelledNotificationParams]] = NotificationMethod(
    "notifications/cancelled", CancelledNotificationParams, client=REVISIONS, server=REVISIONS
)
PROGRESS: Final[NotificationMethod[ProgressNotificationParams]] = NotificationMethod(
    "notifications/progress", ProgressNotificationParams, client=LEGACY, server=REVISIONS
)
MESSAGE: Final[NotificationMethod[LoggingMessageNotificationParams]] = NotificationMethod(
    "notifications/message", LoggingMessageNotificationParams, server=REVISIONS
)
RESOURCES_UPDATED: Final[NotificationMethod[ResourceUpdatedNotificationParams]] = NotificationMethod(
    "notifications/resources/updated", ResourceUpdatedNotificationParams, server=REVISIONS
)
RESOURCES_LIST_CHANGED: Final[NotificationMethod[NotificationParams]] = NotificationMethod(
    "notifications/resources/list_changed", NotificationParams, server=REVISIONS
)
TOOLS_LIST_CHANGED: Final[NotificationMethod[NotificationParams]] = NotificationMethod(
    "notifications/tools/list_changed", NotificationParams, server=REVISIONS
)
PROMPTS_LIST_CHANGED: Final[NotificationMethod[NotificationParams]] = NotificationMethod(
    "notifications/prompts/list_changed", NotificationParams, server=REVISIONS
)
ROOTS_LIST_CHANGED: Final[NotificationMethod[NotificationParams]] = NotificationMethod(
    "notifications/roots/list_changed", NotificationParams, client=LEGACY
)
ELICITATION_COMPLETE: Final[NotificationMethod[ElicitationCompleteNotificationParams]] = NotificationMethod(
    "notifications/elicitation/complete", ElicitationCompleteNotificationParams, server=_ONLY_2025_11_25
)
TASKS_STATUS: Final[NotificationMethod[TaskStatusNotificationParams]] = NotificationMethod(
    "notifications/tasks/status", TaskStatusNotificationParams, client=_ONLY_2025_11_25, server=_ONLY_2025_11_25
)
SUBSCRIPTIONS_ACKNOWLEDGED: Final[NotificationMethod[SubscriptionsAcknowledgedNotificationParams]] = NotificationMethod(
    "notifications/subscriptions/acknowledged", SubscriptionsAcknowledgedNotificationParams, server=MODERN
)

REQUESTS: Final[dict[str, Method[Any, Any]]] = {
    method.name: method
    for method in (
        INITIALIZE,
        PING,
        DISCOVER,
        TOOLS_LIST,
        TOOLS_CALL,
        RESOURCES_LIST,
        RESOURCES_TEMPLATES_LIST,
        RESOURCES_READ,
        RESOURCES_SUBSCRIBE,
        RESOURCES_UNSUBSCRIBE,
        SUBSCRIPTIONS_LISTEN,
        PROMPTS_LIST,
        PROMPTS_GET,
        COMPLETION_COMPLETE,
        LOGGING_SET_LEVEL,
        ROOTS_LIST,
        SAMPLING_CREATE_MESSAGE,
        ELICITATION_CREATE,
        TASKS_GET,
        TASKS_RESULT,
        TASKS_LIST,
        TASKS_CANCEL,
    )
}
"""Every request by its name."""

CARRIERS: Final = frozenset({TOOLS_CALL.name, PROMPTS_GET.name, RESOURCES_READ.name})
"""The methods whose results may ask for input (MRTR-02, MRTR-03)."""

NOTIFICATIONS: Final[dict[str, NotificationMethod[Any]]] = {
    method.name: method
    for method in (
        INITIALIZED,
        CANCELLED,
        PROGRESS,
        MESSAGE,
        RESOURCES_UPDATED,
        RESOURCES_LIST_CHANGED,
        TOOLS_LIST_CHANGED,
        PROMPTS_LIST_CHANGED,
        ROOTS_LIST_CHANGED,
        ELICITATION_COMPLETE,
        TASKS_STATUS,
        SUBSCRIPTIONS_ACKNOWLEDGED,
    )
}
"""Every notification by its name."""
