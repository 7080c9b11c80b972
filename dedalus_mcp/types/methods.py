"""One constant for each request and notification: its name, types, and who may send it when.

    result = TOOLS_CALL.decode_result(raw)     # a CallToolResult, for the type checkers too
    method = REQUESTS.get("tools/call")        # by name, for a dispatcher

Layer: L1; imports the families, `lenient` and `revisions` only.
Source: `schema.ts` of all five revisions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dedalus_mcp.types.completion import CompleteRequestParams, CompleteResult
from dedalus_mcp.types.elicitation import AnyElicitRequestParams, ElicitationCompleteNotificationParams, ElicitResult
from dedalus_mcp.types.lenient import has_blocks, lenient
from dedalus_mcp.types.lifecycle import DiscoverResult, InitializeRequestParams, InitializeResult
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
from dedalus_mcp.types.rounds import InputRequiredResult
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
from dedalus_mcp.types.wire import NotificationParams, PaginatedRequestParams, RequestParams, Result, dec_hook

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
    "Payload",
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

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


class Payload(Generic[T]):
    """The type of params or of a result, and its decoder, built when it is first used."""

    __slots__ = ("_decoder", "type")

    def __init__(self, type_: Any) -> None:
        self.type: Any = type_
        self._decoder: msgspec.json.Decoder[Any] | None = None

    def decode(self, raw: bytes | Raw) -> T:
        """Decode JSON text.

        Raises:
            msgspec.ValidationError: It is JSON, but not of this type.
            msgspec.DecodeError: It is no JSON.
            RecursionError: It is nested too deeply.
        """
        if self._decoder is None:
            self._decoder = msgspec.json.Decoder(self.type, dec_hook=dec_hook)
        try:
            value: T = self._decoder.decode(raw)
        except msgspec.ValidationError:
            if not has_blocks(self.type):
                raise
            return self.convert(msgspec.json.decode(raw))
        return value

    def convert(self, members: Any) -> T:
        """Do the same with JSON that is decoded already.

        Raises:
            msgspec.ValidationError: It is not of this type.
        """
        if has_blocks(self.type) and isinstance(members, dict):
            made: T = lenient(self.type, members)
        else:
            made = msgspec.convert(members, self.type, dec_hook=dec_hook)
        return made


class _Named(Generic[P]):
    """What requests and notifications have in common."""

    __slots__ = ("_params", "client_sends", "name", "server_sends")

    def __init__(self, name: str, params: Any, *, client: Iterable[str] = (), server: Iterable[str] = ()) -> None:
        self.name = name
        self.client_sends = frozenset(client)
        self.server_sends = frozenset(server)
        self._params: Payload[P] = Payload(params)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def params(self) -> Any:
        """The type of the params."""
        return self._params.type

    @property
    def params_required(self) -> bool:
        """Whether a member of the params has to be there (`_meta` aside)."""
        members = getattr(self.params, "__struct_fields__", ("mode",))  # a `Choice` has some in all its types
        defaults = getattr(self.params, "__struct_defaults__", ())
        return len(members) > len(defaults) or msgspec.NODEFAULT in defaults

    def decode_params(self, raw: bytes | Raw | UnsetType = UNSET) -> P:
        """Decode the params of a message; absent and null ones are an empty object.

        Raises:
            msgspec.ValidationError: A member is missing or of the wrong type.
            msgspec.DecodeError: It is no JSON.
            RecursionError: It is nested too deeply.
        """
        if raw is UNSET:
            return self._params.decode(b"{}")
        try:
            return self._params.decode(raw)
        except msgspec.ValidationError:
            if bytes(raw).strip() != b"null":
                raise
            return self._params.decode(b"{}")

    def convert_params(self, members: Any) -> P:
        """Do the same with params that are decoded already, for example an embedded request's.

        Raises:
            msgspec.ValidationError: A member is missing or of the wrong type.
        """
        return self._params.convert(members)


class NotificationMethod(_Named[P]):
    """A notification.

    Attributes:
        name: For example ``notifications/progress``.
        client_sends: The revisions in which a client may send it.
        server_sends: The revisions in which a server may send it.
    """

    __slots__ = ()


class Method(_Named[P], Generic[P, R]):
    """A request.

    Attributes:
        name: For example ``tools/call``.
        client_sends: The revisions in which a client may send it.
        server_sends: The revisions in which a server may send it as a message of its own.
        carries_rounds: Its result may ask for input first (2026-07-28).
        embedded: It may be such a question (2026-07-28).
        named_by: The member of its params that goes into the HTTP header `Mcp-Name`.
    """

    __slots__ = ("_result", "carries_rounds", "embedded", "named_by")

    def __init__(  # noqa: PLR0913 - the columns of the table below
        self,
        name: str,
        params: Any,
        result: Any,
        *,
        client: Iterable[str] = (),
        server: Iterable[str] = (),
        named_by: str | None = None,
        carries_rounds: bool = False,
        embedded: bool = False,
    ) -> None:
        super().__init__(name, params, client=client, server=server)
        self._result: Payload[R] = Payload(result)
        self.named_by = named_by
        self.carries_rounds = carries_rounds
        self.embedded = embedded

    @property
    def result(self) -> Any:
        """The type of the result."""
        return self._result.type

    def decode_result(self, raw: bytes | Raw) -> R:
        """Decode a result.

        Raises:
            msgspec.ValidationError: A member is missing or of the wrong type.
            msgspec.DecodeError: It is no JSON.
            RecursionError: It is nested too deeply.
        """
        return self._result.decode(raw)

    def convert_result(self, members: Any) -> R:
        """Do the same with a result that is decoded already, for example an input response.

        Raises:
            msgspec.ValidationError: A member is missing or of the wrong type.
        """
        return self._result.convert(members)

    def decode_outcome(self, raw: bytes | Raw) -> R | InputRequiredResult:
        """Decode a result of 2026-07-28, which may ask for input first.

        Raises:
            msgspec.ValidationError: A member is missing or of the wrong type, or the
                `resultType` is none that this method has.
            msgspec.DecodeError: It is no JSON.
            RecursionError: It is nested too deeply.
        """
        kind = _KIND.decode(raw).resultType
        if kind is None or kind == "complete":
            return self._result.decode(raw)
        if kind != "input_required" or not self.carries_rounds:
            raise msgspec.ValidationError(f"{self.name} has no resultType {kind[:64]!r}")
        return _INPUT_REQUIRED.decode(raw)


_KIND: Final[Payload[Result]] = Payload(Result)
_INPUT_REQUIRED: Final[Payload[InputRequiredResult]] = Payload(InputRequiredResult)

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
