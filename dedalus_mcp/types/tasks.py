"""Tasks: requests answered later (2025-11-25, experimental).

Layer: L1; imports `messages`, `wire` only.
Source: MCP 2025-11-25, basic/utilities/tasks.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from dedalus_mcp.types.messages import Meta, PaginatedResult, RequestParams, Result
from dedalus_mcp.types.wire import Wire

__all__ = (
    "CancelTaskResult",
    "CreateTaskResult",
    "GetTaskPayloadResult",
    "GetTaskResult",
    "ListTasksResult",
    "RelatedTaskMetadata",
    "Task",
    "TaskMetadata",
    "TaskRequestParams",
    "TaskStatus",
    "TaskStatusNotificationParams",
)

TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]


class TaskMetadata(Wire, frozen=True, kw_only=True):
    """Asks for a request to be run as a task, kept for `ttl` milliseconds."""

    ttl: int | float | None = None


class RelatedTaskMetadata(Wire, frozen=True, kw_only=True):
    """The value of the `_meta` key `RELATED_TASK_KEY`."""

    taskId: str


class Task(Wire, frozen=True, kw_only=True):
    """How a task stands.

    Attributes:
        createdAt: ISO 8601, as is `lastUpdatedAt`.
        ttl: How long it is kept from its creation, in milliseconds; None means for ever.
        pollInterval: How long to wait between two looks, in milliseconds.
    """

    taskId: str
    status: TaskStatus
    createdAt: str
    lastUpdatedAt: str
    ttl: int | float | None
    statusMessage: str | None = None
    pollInterval: int | float | None = None


class CreateTaskResult(Result, frozen=True, kw_only=True):
    """The result of a request that was made a task."""

    task: Task


class TaskRequestParams(RequestParams, frozen=True, kw_only=True):
    """The params of `tasks/get`, `tasks/result` and `tasks/cancel`."""

    taskId: str


class GetTaskResult(Task, frozen=True, kw_only=True):
    """How the task stands now."""

    meta: Meta | None = msgspec.field(default=None, name="_meta")


class CancelTaskResult(Task, frozen=True, kw_only=True):
    """How the task stands, cancelled."""

    meta: Meta | None = msgspec.field(default=None, name="_meta")


class ListTasksResult(PaginatedResult, frozen=True, kw_only=True):
    """One page of the tasks."""

    tasks: list[Task]


class TaskStatusNotificationParams(Task, frozen=True, kw_only=True):
    """The task has come to this."""

    meta: Meta | None = msgspec.field(default=None, name="_meta")


GetTaskPayloadResult: TypeAlias = dict[str, Any]
"""The members of the result that the task's request would have had."""
