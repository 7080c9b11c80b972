"""Logging, progress and cancellation: what is said while a request runs.

Layer: L1; imports `messages` only.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from dedalus_mcp.types.messages import NotificationParams, ProgressToken, RequestId, RequestParams

__all__ = (
    "CancelledNotificationParams",
    "LoggingLevel",
    "LoggingMessageNotificationParams",
    "ProgressNotificationParams",
    "SetLevelRequestParams",
)

LoggingLevel: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
"""The levels of RFC 5424, least severe first."""


class SetLevelRequestParams(RequestParams, frozen=True, kw_only=True):
    """The least severe level to send (legacy)."""

    level: LoggingLevel


class LoggingMessageNotificationParams(NotificationParams, frozen=True, kw_only=True):
    """One log message; `data` is any JSON value."""

    level: LoggingLevel
    data: Any
    logger: str | None = None


class ProgressNotificationParams(NotificationParams, frozen=True, kw_only=True):
    """How far the request with that token is; `message` is 2025-03-26 and later."""

    progressToken: ProgressToken
    progress: int | float
    total: int | float | None = None
    message: str | None = None


class CancelledNotificationParams(NotificationParams, frozen=True, kw_only=True):
    """The sender wants no answer to that request; only 2025-11-25 lets the id be absent."""

    requestId: RequestId | None = None
    reason: str | None = None
