"""The flat name space: everything a user of `dedalus_mcp.types` can name."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import pytest

from dedalus_mcp import errors, types
from dedalus_mcp.jsonrpc import messages

SINCE_0_7 = [
    "Annotations",
    "AudioContent",
    "BaseMetadata",
    "BlobResourceContents",
    "CONNECTION_CLOSED",
    "CallToolRequest",
    "CallToolRequestParams",
    "CallToolResult",
    "CancelledNotification",
    "CancelledNotificationParams",
    "ClientCapabilities",
    "ClientNotification",
    "ClientRequest",
    "ClientResult",
    "CompleteRequest",
    "CompleteRequestParams",
    "CompleteResult",
    "Completion",
    "CompletionArgument",
    "CompletionContext",
    "CompletionsCapability",
    "ContentBlock",
    "CreateMessageRequest",
    "CreateMessageRequestParams",
    "CreateMessageResult",
    "Cursor",
    "DEFAULT_NEGOTIATED_VERSION",
    "ElicitRequest",
    "ElicitRequestParams",
    "ElicitRequestedSchema",
    "ElicitResult",
    "ElicitationCapability",
    "EmbeddedResource",
    "EmptyResult",
    "ErrorData",
    "GetPromptRequest",
    "GetPromptRequestParams",
    "GetPromptResult",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "Icon",
    "ImageContent",
    "Implementation",
    "IncludeContext",
    "InitializeRequest",
    "InitializeRequestParams",
    "InitializeResult",
    "InitializedNotification",
    "JSONRPCError",
    "JSONRPCMessage",
    "JSONRPCNotification",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "LATEST_PROTOCOL_VERSION",
    "ListPromptsRequest",
    "ListPromptsResult",
    "ListResourceTemplatesRequest",
    "ListResourceTemplatesResult",
    "ListResourcesRequest",
    "ListResourcesResult",
    "ListRootsRequest",
    "ListRootsResult",
    "ListToolsRequest",
    "ListToolsResult",
    "LoggingCapability",
    "LoggingLevel",
    "LoggingMessageNotification",
    "LoggingMessageNotificationParams",
    "METHOD_NOT_FOUND",
    "ModelHint",
    "ModelPreferences",
    "Notification",
    "NotificationParams",
    "PARSE_ERROR",
    "PaginatedRequest",
    "PaginatedRequestParams",
    "PaginatedResult",
    "PingRequest",
    "ProgressNotification",
    "ProgressNotificationParams",
    "ProgressToken",
    "Prompt",
    "PromptArgument",
    "PromptListChangedNotification",
    "PromptMessage",
    "PromptReference",
    "PromptsCapability",
    "ReadResourceRequest",
    "ReadResourceRequestParams",
    "ReadResourceResult",
    "Request",
    "RequestId",
    "RequestParams",
    "Resource",
    "ResourceLink",
    "ResourceListChangedNotification",
    "ResourceTemplate",
    "ResourceTemplateReference",
    "ResourceUpdatedNotification",
    "ResourceUpdatedNotificationParams",
    "ResourcesCapability",
    "Result",
    "Role",
    "Root",
    "RootsCapability",
    "RootsListChangedNotification",
    "SamplingCapability",
    "SamplingMessage",
    "ServerCapabilities",
    "ServerNotification",
    "ServerRequest",
    "ServerResult",
    "SetLevelRequest",
    "SetLevelRequestParams",
    "StopReason",
    "SubscribeRequest",
    "SubscribeRequestParams",
    "TextContent",
    "TextResourceContents",
    "Tool",
    "ToolAnnotations",
    "ToolListChangedNotification",
    "ToolsCapability",
    "UnsubscribeRequest",
    "UnsubscribeRequestParams",
]


def test_every_name_of_the_last_release_is_there() -> None:
    assert [name for name in SINCE_0_7 if name not in types.__all__] == []


def test_every_exported_name_is_there_once() -> None:
    assert isinstance(types.__all__, tuple)
    assert len(types.__all__) == len(set(types.__all__))
    for name in types.__all__:
        assert getattr(types, name) is not None


def test_nothing_else_is_public() -> None:
    others = {
        name
        for name, value in vars(types).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name not in types.__all__
    }

    assert others <= {"Any", "TYPE_CHECKING", "annotations", "LATEST", "V2025_03_26"}


def test_envelopes_are_the_engines_own() -> None:
    assert types.JSONRPCRequest is messages.Call
    assert types.JSONRPCNotification is messages.Notice
    assert types.JSONRPCResponse is messages.Success
    assert types.JSONRPCError is messages.Failure
    assert types.JSONRPCMessage == messages.Message
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        types.Nonsense  # noqa: B018 - the access is the test


def test_errors_are_the_same_ones() -> None:
    assert types.ErrorData is errors.ErrorData
    assert types.METHOD_NOT_FOUND == errors.METHOD_NOT_FOUND == -32601


def test_importing_the_types_loads_no_engine() -> None:
    code = "import sys, dedalus_mcp.types.methods; print(*sys.modules)"
    env = {"PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    loaded = set(ran.stdout.split())

    assert not {"anyio", "asyncio", "httpx", "uvicorn", "dedalus_mcp.jsonrpc.messages"} & loaded
