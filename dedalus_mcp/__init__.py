"""A Model Context Protocol runtime, server and client, on its own JSON-RPC 2.0 engine.

Names are loaded when they are first used, so a server never pays for the client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.8.0"

if TYPE_CHECKING:
    from dedalus_mcp import types as types
    from dedalus_mcp.client.cache import MemoryCache as MemoryCache
    from dedalus_mcp.client.cache import ResponseCache as ResponseCache
    from dedalus_mcp.client.client import MCPClient as MCPClient
    from dedalus_mcp.client.era import EraStore as EraStore
    from dedalus_mcp.client.form import Form as Form
    from dedalus_mcp.client.group import MCPClientGroup as MCPClientGroup
    from dedalus_mcp.client.round import Round as Round
    from dedalus_mcp.client.settings import ClientSettings as ClientSettings
    from dedalus_mcp.client.sync import SyncMCPClient as SyncMCPClient
    from dedalus_mcp.errors import AskFailed as AskFailed
    from dedalus_mcp.errors import AuthRequiredError as AuthRequiredError
    from dedalus_mcp.errors import BadRequestError as BadRequestError
    from dedalus_mcp.errors import ConnectionLost as ConnectionLost
    from dedalus_mcp.errors import DedalusError as DedalusError
    from dedalus_mcp.errors import ForbiddenError as ForbiddenError
    from dedalus_mcp.errors import InvalidOutput as InvalidOutput
    from dedalus_mcp.errors import MCPConnectionError as MCPConnectionError
    from dedalus_mcp.errors import McpError as McpError
    from dedalus_mcp.errors import RequestTimeout as RequestTimeout
    from dedalus_mcp.errors import ResourceNotFound as ResourceNotFound
    from dedalus_mcp.errors import ServerError as ServerError
    from dedalus_mcp.errors import SessionExpiredError as SessionExpiredError
    from dedalus_mcp.errors import ToolError as ToolError
    from dedalus_mcp.errors import TransportError as TransportError
    from dedalus_mcp.jsonrpc.clock import Timeout as Timeout
    from dedalus_mcp.jsonrpc.peer import Limits as Limits
    from dedalus_mcp.proxies.proxy import proxy as proxy
    from dedalus_mcp.schema.fields import Field as Field
    from dedalus_mcp.schema.typed_forms import form as form
    from dedalus_mcp.server.answers import Accepted as Accepted
    from dedalus_mcp.server.answers import Cancelled as Cancelled
    from dedalus_mcp.server.answers import Declined as Declined
    from dedalus_mcp.server.audit import AskRecord as AskRecord
    from dedalus_mcp.server.changes import SubscriptionBus as SubscriptionBus
    from dedalus_mcp.server.completions import CompletionResult as CompletionResult
    from dedalus_mcp.server.config import ElicitationConfig as ElicitationConfig
    from dedalus_mcp.server.config import ParkingConfig as ParkingConfig
    from dedalus_mcp.server.config import PingConfig as PingConfig
    from dedalus_mcp.server.config import SamplingConfig as SamplingConfig
    from dedalus_mcp.server.config import ServerConfig as ServerConfig
    from dedalus_mcp.server.context import Context as Context
    from dedalus_mcp.server.context import get_context as get_context
    from dedalus_mcp.server.context import progress as progress
    from dedalus_mcp.server.decorators import completion as completion
    from dedalus_mcp.server.decorators import prompt as prompt
    from dedalus_mcp.server.decorators import resource as resource
    from dedalus_mcp.server.decorators import resource_template as resource_template
    from dedalus_mcp.server.decorators import tool as tool
    from dedalus_mcp.server.dependencies import Depends as Depends
    from dedalus_mcp.server.files import Directory as Directory
    from dedalus_mcp.server.files import File as File
    from dedalus_mcp.server.guards import require_within_roots as require_within_roots
    from dedalus_mcp.server.hints import CacheHint as CacheHint
    from dedalus_mcp.server.middleware import CallNext as CallNext
    from dedalus_mcp.server.middleware import Incoming as Incoming
    from dedalus_mcp.server.middleware import Middleware as Middleware
    from dedalus_mcp.server.middleware import intercept as intercept
    from dedalus_mcp.server.progress_telemetry import ProgressTelemetry as ProgressTelemetry
    from dedalus_mcp.server.server import MCPServer as MCPServer
    from dedalus_mcp.server.sessions import Session as Session
    from dedalus_mcp.server.specs import CapabilitySpec as CapabilitySpec
    from dedalus_mcp.server.specs import CompletionSpec as CompletionSpec
    from dedalus_mcp.server.specs import PromptSpec as PromptSpec
    from dedalus_mcp.server.specs import ResourceSpec as ResourceSpec
    from dedalus_mcp.server.specs import ResourceTemplateSpec as ResourceTemplateSpec
    from dedalus_mcp.server.specs import ToolSpec as ToolSpec
    from dedalus_mcp.server.specs import extract_spec as extract_spec
    from dedalus_mcp.tool_error_codes import ToolErrorCode as ToolErrorCode
    from dedalus_mcp.types import Icon as Icon
    from dedalus_mcp_transports.http_client import HttpSse as HttpSse
    from dedalus_mcp_transports.http_client import StreamableHttp as StreamableHttp
    from dedalus_mcp_transports.http_security import TransportSecuritySettings as TransportSecuritySettings
    from dedalus_mcp_transports.http_serve import HttpServer as HttpServer
    from dedalus_mcp_transports.http_settings import HttpSettings as HttpSettings
    from dedalus_mcp_transports.stdio import StdioServer as StdioServer

_HOME = {
    "Accepted": "dedalus_mcp.server.answers",
    "AskFailed": "dedalus_mcp.errors",
    "AskRecord": "dedalus_mcp.server.audit",
    "AuthRequiredError": "dedalus_mcp.errors",
    "BadRequestError": "dedalus_mcp.errors",
    "CallNext": "dedalus_mcp.server.middleware",
    "Cancelled": "dedalus_mcp.server.answers",
    "CacheHint": "dedalus_mcp.server.hints",
    "CapabilitySpec": "dedalus_mcp.server.specs",
    "ClientSettings": "dedalus_mcp.client.settings",
    "CompletionResult": "dedalus_mcp.server.completions",
    "CompletionSpec": "dedalus_mcp.server.specs",
    "ConnectionLost": "dedalus_mcp.errors",
    "Context": "dedalus_mcp.server.context",
    "Declined": "dedalus_mcp.server.answers",
    "DedalusError": "dedalus_mcp.errors",
    "Depends": "dedalus_mcp.server.dependencies",
    "Directory": "dedalus_mcp.server.files",
    "ElicitationConfig": "dedalus_mcp.server.config",
    "EraStore": "dedalus_mcp.client.era",
    "Field": "dedalus_mcp.schema.fields",
    "File": "dedalus_mcp.server.files",
    "ForbiddenError": "dedalus_mcp.errors",
    "Form": "dedalus_mcp.client.form",
    "HttpServer": "dedalus_mcp_transports.http_serve",
    "HttpSettings": "dedalus_mcp_transports.http_settings",
    "HttpSse": "dedalus_mcp_transports.http_client",
    "Icon": "dedalus_mcp.types",
    "InvalidOutput": "dedalus_mcp.errors",
    "Incoming": "dedalus_mcp.server.middleware",
    "Limits": "dedalus_mcp.jsonrpc.peer",
    "MCPClient": "dedalus_mcp.client.client",
    "MCPClientGroup": "dedalus_mcp.client.group",
    "MCPConnectionError": "dedalus_mcp.errors",
    "MCPServer": "dedalus_mcp.server.server",
    "McpError": "dedalus_mcp.errors",
    "MemoryCache": "dedalus_mcp.client.cache",
    "Middleware": "dedalus_mcp.server.middleware",
    "ParkingConfig": "dedalus_mcp.server.config",
    "PingConfig": "dedalus_mcp.server.config",
    "ProgressTelemetry": "dedalus_mcp.server.progress_telemetry",
    "PromptSpec": "dedalus_mcp.server.specs",
    "RequestTimeout": "dedalus_mcp.errors",
    "ResourceNotFound": "dedalus_mcp.errors",
    "ResourceSpec": "dedalus_mcp.server.specs",
    "ResourceTemplateSpec": "dedalus_mcp.server.specs",
    "ResponseCache": "dedalus_mcp.client.cache",
    "Round": "dedalus_mcp.client.round",
    "SamplingConfig": "dedalus_mcp.server.config",
    "ServerConfig": "dedalus_mcp.server.config",
    "ServerError": "dedalus_mcp.errors",
    "Session": "dedalus_mcp.server.sessions",
    "SessionExpiredError": "dedalus_mcp.errors",
    "StdioServer": "dedalus_mcp_transports.stdio",
    "StreamableHttp": "dedalus_mcp_transports.http_client",
    "SubscriptionBus": "dedalus_mcp.server.changes",
    "SyncMCPClient": "dedalus_mcp.client.sync",
    "Timeout": "dedalus_mcp.jsonrpc.clock",
    "ToolError": "dedalus_mcp.errors",
    "ToolErrorCode": "dedalus_mcp.tool_error_codes",
    "ToolSpec": "dedalus_mcp.server.specs",
    "TransportError": "dedalus_mcp.errors",
    "TransportSecuritySettings": "dedalus_mcp_transports.http_security",
    "completion": "dedalus_mcp.server.decorators",
    "extract_spec": "dedalus_mcp.server.specs",
    "form": "dedalus_mcp.schema.typed_forms",
    "get_context": "dedalus_mcp.server.context",
    "intercept": "dedalus_mcp.server.middleware",
    "progress": "dedalus_mcp.server.context",
    "prompt": "dedalus_mcp.server.decorators",
    "proxy": "dedalus_mcp.proxies.proxy",
    "require_within_roots": "dedalus_mcp.server.guards",
    "resource": "dedalus_mcp.server.decorators",
    "resource_template": "dedalus_mcp.server.decorators",
    "tool": "dedalus_mcp.server.decorators",
    "types": "dedalus_mcp.types",
}

__all__ = (
    "__version__",
    "Accepted",
    "AskFailed",
    "AskRecord",
    "AuthRequiredError",
    "BadRequestError",
    "CallNext",
    "Cancelled",
    "CacheHint",
    "CapabilitySpec",
    "ClientSettings",
    "CompletionResult",
    "CompletionSpec",
    "ConnectionLost",
    "Context",
    "Declined",
    "DedalusError",
    "Depends",
    "Directory",
    "ElicitationConfig",
    "EraStore",
    "Field",
    "File",
    "ForbiddenError",
    "Form",
    "HttpServer",
    "HttpSettings",
    "HttpSse",
    "Icon",
    "InvalidOutput",
    "Incoming",
    "Limits",
    "MCPClient",
    "MCPClientGroup",
    "MCPConnectionError",
    "MCPServer",
    "McpError",
    "MemoryCache",
    "Middleware",
    "ParkingConfig",
    "PingConfig",
    "ProgressTelemetry",
    "PromptSpec",
    "RequestTimeout",
    "ResourceNotFound",
    "ResourceSpec",
    "ResourceTemplateSpec",
    "ResponseCache",
    "Round",
    "SamplingConfig",
    "ServerConfig",
    "ServerError",
    "Session",
    "SessionExpiredError",
    "StdioServer",
    "StreamableHttp",
    "SubscriptionBus",
    "SyncMCPClient",
    "Timeout",
    "ToolError",
    "ToolErrorCode",
    "ToolSpec",
    "TransportError",
    "TransportSecuritySettings",
    "completion",
    "extract_spec",
    "form",
    "get_context",
    "intercept",
    "progress",
    "prompt",
    "proxy",
    "require_within_roots",
    "resource",
    "resource_template",
    "tool",
    "types",
)


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 - at first use

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_HOME[name])
    value = module if name == "types" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
