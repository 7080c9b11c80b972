"""The results of every revision, by the side that sends them.

Layer: L1; imports the families only.
"""

from __future__ import annotations

from typing import TypeAlias

from dedalus_mcp.types.completion import CompleteResult
from dedalus_mcp.types.elicitation import ElicitResult
from dedalus_mcp.types.lifecycle import DiscoverResult, InitializeResult
from dedalus_mcp.types.messages import Result
from dedalus_mcp.types.prompts import GetPromptResult, ListPromptsResult
from dedalus_mcp.types.resources import ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult
from dedalus_mcp.types.roots import ListRootsResult
from dedalus_mcp.types.rounds import InputRequiredResult
from dedalus_mcp.types.sampling import CreateMessageResult
from dedalus_mcp.types.subscriptions import SubscriptionsListenResult
from dedalus_mcp.types.tasks import CancelTaskResult, CreateTaskResult, GetTaskResult, ListTasksResult
from dedalus_mcp.types.tools import CallToolResult, ListToolsResult

__all__ = ("ClientResult", "ServerResult")

ClientResult: TypeAlias = (
    Result
    | CreateMessageResult
    | ListRootsResult
    | ElicitResult
    | CreateTaskResult
    | GetTaskResult
    | ListTasksResult
    | CancelTaskResult
)
"""What a client answers with, in one revision or another."""

ServerResult: TypeAlias = (
    Result
    | InitializeResult
    | DiscoverResult
    | CompleteResult
    | GetPromptResult
    | ListPromptsResult
    | ListResourcesResult
    | ListResourceTemplatesResult
    | ReadResourceResult
    | CallToolResult
    | ListToolsResult
    | SubscriptionsListenResult
    | InputRequiredResult
    | CreateTaskResult
    | GetTaskResult
    | ListTasksResult
    | CancelTaskResult
)
"""What a server answers with, in one revision or another."""
