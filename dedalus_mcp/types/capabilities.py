"""What each side can do, as it tells the other.

A capability without settings is an object that is there: an empty `Capability`, never a bare
mapping, so that ``if capabilities.logging:`` asks the right question.

Layer: L1; imports `wire` only.
"""

from __future__ import annotations

from typing import Any

from dedalus_mcp.types.wire import Wire

__all__ = (
    "Capability",
    "ClientCapabilities",
    "ClientTasksCapability",
    "ClientTasksRequests",
    "CompletionsCapability",
    "ElicitationCapability",
    "LoggingCapability",
    "MissingRequiredClientCapabilityData",
    "PromptsCapability",
    "ResourcesCapability",
    "RootsCapability",
    "SamplingCapability",
    "ServerCapabilities",
    "ServerTasksCapability",
    "ServerTasksRequests",
    "TasksElicitation",
    "TasksSampling",
    "TasksTools",
    "ToolsCapability",
)


class Capability(Wire, frozen=True, kw_only=True):
    """A capability without settings: it is there, and that is all it says."""


class RootsCapability(Wire, frozen=True, kw_only=True):
    """The client answers ``roots/list``; `listChanged`: and tells when they change (legacy)."""

    listChanged: bool | None = None


class SamplingCapability(Wire, frozen=True, kw_only=True):
    """The client asks its model; `tools`, `context`: also with these (2025-11-25 and later)."""

    context: Capability | None = None
    tools: Capability | None = None


class ElicitationCapability(Wire, frozen=True, kw_only=True):
    """The client asks its user, by form or by URL; neither said means by form."""

    form: Capability | None = None
    url: Capability | None = None


class TasksSampling(Wire, frozen=True, kw_only=True):
    """Which sampling requests the client runs as tasks."""

    createMessage: Capability | None = None


class TasksElicitation(Wire, frozen=True, kw_only=True):
    """Which elicitation requests the client runs as tasks."""

    create: Capability | None = None


class ClientTasksRequests(Wire, frozen=True, kw_only=True):
    """Which requests the client runs as tasks."""

    sampling: TasksSampling | None = None
    elicitation: TasksElicitation | None = None


class ClientTasksCapability(Wire, frozen=True, kw_only=True):
    """What the client does with tasks (2025-11-25 only)."""

    list: Capability | None = None
    cancel: Capability | None = None
    requests: ClientTasksRequests | None = None


class ClientCapabilities(Wire, frozen=True, kw_only=True):
    """What the client can do."""

    experimental: dict[str, Any] | None = None
    roots: RootsCapability | None = None
    sampling: SamplingCapability | None = None
    elicitation: ElicitationCapability | None = None
    tasks: ClientTasksCapability | None = None
    extensions: dict[str, Any] | None = None


class MissingRequiredClientCapabilityData(Wire, frozen=True, kw_only=True):
    """The `data` of the error -32021: what the client would have had to declare."""

    requiredCapabilities: ClientCapabilities


class LoggingCapability(Capability, frozen=True, kw_only=True):
    """The server sends log messages."""


class CompletionsCapability(Capability, frozen=True, kw_only=True):
    """The server completes arguments."""


class PromptsCapability(Wire, frozen=True, kw_only=True):
    """The server has prompts."""

    listChanged: bool | None = None


class ResourcesCapability(Wire, frozen=True, kw_only=True):
    """The server has resources; `subscribe`: and tells when one changes."""

    subscribe: bool | None = None
    listChanged: bool | None = None


class ToolsCapability(Wire, frozen=True, kw_only=True):
    """The server has tools."""

    listChanged: bool | None = None


class TasksTools(Wire, frozen=True, kw_only=True):
    """Which tool requests the server runs as tasks."""

    call: Capability | None = None


class ServerTasksRequests(Wire, frozen=True, kw_only=True):
    """Which requests the server runs as tasks."""

    tools: TasksTools | None = None


class ServerTasksCapability(Wire, frozen=True, kw_only=True):
    """What the server does with tasks (2025-11-25 only)."""

    list: Capability | None = None
    cancel: Capability | None = None
    requests: ServerTasksRequests | None = None


class ServerCapabilities(Wire, frozen=True, kw_only=True):
    """What the server can do."""

    experimental: dict[str, Any] | None = None
    logging: LoggingCapability | None = None
    completions: CompletionsCapability | None = None
    prompts: PromptsCapability | None = None
    resources: ResourcesCapability | None = None
    tools: ToolsCapability | None = None
    tasks: ServerTasksCapability | None = None
    extensions: dict[str, Any] | None = None
