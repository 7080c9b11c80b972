"""The requests of every revision, as values: a `method` and its `params`.

The engine does not need them, since `methods` has one constant for each; they are the embedded
requests of a round (`rounds`), and for programs that hold whole requests.

Layer: L1; imports `messages`, `wire` and the families only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dedalus_mcp.types.completion import CompleteRequestParams
from dedalus_mcp.types.elicitation import AnyElicitRequestParams
from dedalus_mcp.types.lifecycle import InitializeRequestParams
from dedalus_mcp.types.messages import PaginatedRequestParams, RequestParams
from dedalus_mcp.types.notices import SetLevelRequestParams
from dedalus_mcp.types.prompts import GetPromptRequestParams
from dedalus_mcp.types.resources import ReadResourceRequestParams, SubscribeRequestParams, UnsubscribeRequestParams
from dedalus_mcp.types.sampling import CreateMessageRequestParams
from dedalus_mcp.types.subscriptions import SubscriptionsListenRequestParams
from dedalus_mcp.types.tasks import TaskRequestParams
from dedalus_mcp.types.tools import CallToolRequestParams
from dedalus_mcp.types.wire import TaggedMeta, Wire

__all__ = (
    "CallToolRequest",
    "CancelTaskRequest",
    "ClientRequest",
    "CompleteRequest",
    "CreateMessageRequest",
    "DiscoverRequest",
    "ElicitRequest",
    "GetPromptRequest",
    "GetTaskPayloadRequest",
    "GetTaskRequest",
    "InitializeRequest",
    "ListPromptsRequest",
    "ListResourceTemplatesRequest",
    "ListResourcesRequest",
    "ListRootsRequest",
    "ListTasksRequest",
    "ListToolsRequest",
    "PaginatedRequest",
    "PingRequest",
    "ReadResourceRequest",
    "Request",
    "ServerRequest",
    "SetLevelRequest",
    "SubscribeRequest",
    "SubscriptionsListenRequest",
    "UnsubscribeRequest",
)


class Request(Wire, frozen=True, kw_only=True):
    """Any request, by name, with params as they are."""

    method: str
    params: Any = None


class _TaggedRequest(Wire, frozen=True, kw_only=True, tag_field="method", tag="", metaclass=TaggedMeta):
    """What every request of the protocol is; never on the wire itself."""


class InitializeRequest(_TaggedRequest, frozen=True, kw_only=True, tag="initialize"):
    """``initialize``."""

    if TYPE_CHECKING:
        method: Literal["initialize"] = "initialize"
    params: InitializeRequestParams


class PingRequest(_TaggedRequest, frozen=True, kw_only=True, tag="ping"):
    """``ping``."""

    if TYPE_CHECKING:
        method: Literal["ping"] = "ping"
    params: RequestParams | None = None


class DiscoverRequest(_TaggedRequest, frozen=True, kw_only=True, tag="server/discover"):
    """``server/discover``."""

    if TYPE_CHECKING:
        method: Literal["server/discover"] = "server/discover"
    params: RequestParams | None = None


class ListToolsRequest(_TaggedRequest, frozen=True, kw_only=True, tag="tools/list"):
    """``tools/list``."""

    if TYPE_CHECKING:
        method: Literal["tools/list"] = "tools/list"
    params: PaginatedRequestParams | None = None


class CallToolRequest(_TaggedRequest, frozen=True, kw_only=True, tag="tools/call"):
    """``tools/call``."""

    if TYPE_CHECKING:
        method: Literal["tools/call"] = "tools/call"
    params: CallToolRequestParams


class ListResourcesRequest(_TaggedRequest, frozen=True, kw_only=True, tag="resources/list"):
    """``resources/list``."""

    if TYPE_CHECKING:
        method: Literal["resources/list"] = "resources/list"
    params: PaginatedRequestParams | None = None


class ListResourceTemplatesRequest(_TaggedRequest, frozen=True, kw_only=True, tag="resources/templates/list"):
    """``resources/templates/list``."""

    if TYPE_CHECKING:
        method: Literal["resources/templates/list"] = "resources/templates/list"
    params: PaginatedRequestParams | None = None


class ReadResourceRequest(_TaggedRequest, frozen=True, kw_only=True, tag="resources/read"):
    """``resources/read``."""

    if TYPE_CHECKING:
        method: Literal["resources/read"] = "resources/read"
    params: ReadResourceRequestParams


class SubscribeRequest(_TaggedRequest, frozen=True, kw_only=True, tag="resources/subscribe"):
    """``resources/subscribe``."""

    if TYPE_CHECKING:
        method: Literal["resources/subscribe"] = "resources/subscribe"
    params: SubscribeRequestParams


class UnsubscribeRequest(_TaggedRequest, frozen=True, kw_only=True, tag="resources/unsubscribe"):
    """``resources/unsubscribe``."""

    if TYPE_CHECKING:
        method: Literal["resources/unsubscribe"] = "resources/unsubscribe"
    params: UnsubscribeRequestParams


class SubscriptionsListenRequest(_TaggedRequest, frozen=True, kw_only=True, tag="subscriptions/listen"):
    """``subscriptions/listen``."""

    if TYPE_CHECKING:
        method: Literal["subscriptions/listen"] = "subscriptions/listen"
    params: SubscriptionsListenRequestParams


class ListPromptsRequest(_TaggedRequest, frozen=True, kw_only=True, tag="prompts/list"):
    """``prompts/list``."""

    if TYPE_CHECKING:
        method: Literal["prompts/list"] = "prompts/list"
    params: PaginatedRequestParams | None = None


class GetPromptRequest(_TaggedRequest, frozen=True, kw_only=True, tag="prompts/get"):
    """``prompts/get``."""

    if TYPE_CHECKING:
        method: Literal["prompts/get"] = "prompts/get"
    params: GetPromptRequestParams


class CompleteRequest(_TaggedRequest, frozen=True, kw_only=True, tag="completion/complete"):
    """``completion/complete``."""

    if TYPE_CHECKING:
        method: Literal["completion/complete"] = "completion/complete"
    params: CompleteRequestParams


class SetLevelRequest(_TaggedRequest, frozen=True, kw_only=True, tag="logging/setLevel"):
    """``logging/setLevel``."""

    if TYPE_CHECKING:
        method: Literal["logging/setLevel"] = "logging/setLevel"
    params: SetLevelRequestParams


class ListRootsRequest(_TaggedRequest, frozen=True, kw_only=True, tag="roots/list"):
    """``roots/list``."""

    if TYPE_CHECKING:
        method: Literal["roots/list"] = "roots/list"
    params: RequestParams | None = None


class CreateMessageRequest(_TaggedRequest, frozen=True, kw_only=True, tag="sampling/createMessage"):
    """``sampling/createMessage``."""

    if TYPE_CHECKING:
        method: Literal["sampling/createMessage"] = "sampling/createMessage"
    params: CreateMessageRequestParams


class ElicitRequest(_TaggedRequest, frozen=True, kw_only=True, tag="elicitation/create"):
    """``elicitation/create``."""

    if TYPE_CHECKING:
        method: Literal["elicitation/create"] = "elicitation/create"
    params: AnyElicitRequestParams


class GetTaskRequest(_TaggedRequest, frozen=True, kw_only=True, tag="tasks/get"):
    """``tasks/get``."""

    if TYPE_CHECKING:
        method: Literal["tasks/get"] = "tasks/get"
    params: TaskRequestParams


class GetTaskPayloadRequest(_TaggedRequest, frozen=True, kw_only=True, tag="tasks/result"):
    """``tasks/result``."""

    if TYPE_CHECKING:
        method: Literal["tasks/result"] = "tasks/result"
    params: TaskRequestParams


class ListTasksRequest(_TaggedRequest, frozen=True, kw_only=True, tag="tasks/list"):
    """``tasks/list``."""

    if TYPE_CHECKING:
        method: Literal["tasks/list"] = "tasks/list"
    params: PaginatedRequestParams | None = None


class CancelTaskRequest(_TaggedRequest, frozen=True, kw_only=True, tag="tasks/cancel"):
    """``tasks/cancel``."""

    if TYPE_CHECKING:
        method: Literal["tasks/cancel"] = "tasks/cancel"
    params: TaskRequestParams


PaginatedRequest: TypeAlias = (
    ListToolsRequest | ListResourcesRequest | ListResourceTemplatesRequest | ListPromptsRequest | ListTasksRequest
)
"""A request for one page of a list."""
ClientRequest: TypeAlias = (
    InitializeRequest
    | PingRequest
    | DiscoverRequest
    | ListToolsRequest
    | CallToolRequest
    | ListResourcesRequest
    | ListResourceTemplatesRequest
    | ReadResourceRequest
    | SubscribeRequest
    | UnsubscribeRequest
    | SubscriptionsListenRequest
    | ListPromptsRequest
    | GetPromptRequest
    | CompleteRequest
    | SetLevelRequest
    | GetTaskRequest
    | GetTaskPayloadRequest
    | ListTasksRequest
    | CancelTaskRequest
)
"""What a client sends, in one revision or another."""
ServerRequest: TypeAlias = (
    PingRequest
    | ListRootsRequest
    | CreateMessageRequest
    | ElicitRequest
    | GetTaskRequest
    | GetTaskPayloadRequest
    | ListTasksRequest
    | CancelTaskRequest
)
"""What a server sends (legacy), or embeds in a round (the three asks, 2026-07-28)."""
