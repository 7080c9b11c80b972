"""What requests, notifications and results have in common, and the words all families share.

Layer: L1; imports `wire` only.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from dedalus_mcp.types.wire import Wire

__all__ = (
    "BaseMetadata",
    "CacheScope",
    "CacheableResult",
    "Cursor",
    "EmptyResult",
    "InputResponseRequestParams",
    "Meta",
    "NotificationParams",
    "PaginatedRequestParams",
    "PaginatedResult",
    "ProgressToken",
    "RequestId",
    "RequestParams",
    "Result",
    "Role",
)

RequestId: TypeAlias = int | str
ProgressToken: TypeAlias = int | str
Cursor: TypeAlias = str
Role: TypeAlias = Literal["user", "assistant"]
CacheScope: TypeAlias = Literal["public", "private"]
Meta: TypeAlias = dict[str, Any]
"""A `_meta` object: every key survives, known or not."""


class BaseMetadata(Wire, frozen=True, kw_only=True):
    """What has a `name` for programs and a `title` for people."""

    name: str
    title: str | None = None


class RequestParams(Wire, frozen=True, kw_only=True):
    """The params of a request that takes none of its own."""

    meta: Meta | None = msgspec.field(default=None, name="_meta")


class NotificationParams(Wire, frozen=True, kw_only=True):
    """The params of a notification that takes none of its own."""

    meta: Meta | None = msgspec.field(default=None, name="_meta")


class Result(Wire, frozen=True, kw_only=True):
    """The result of a request; by itself an empty acknowledgement.

    Attributes:
        resultType: 2026-07-28 only; `revisions.complete` fills it in.  Absent means "complete".
    """

    meta: Meta | None = msgspec.field(default=None, name="_meta")
    resultType: str | None = None


EmptyResult = Result


class PaginatedRequestParams(RequestParams, frozen=True, kw_only=True):
    """The params of a list request: `cursor` is the `nextCursor` of the page before."""

    cursor: Cursor | None = None


class PaginatedResult(Result, frozen=True, kw_only=True):
    """One page of a list.  `nextCursor` is None on the last one; an empty string is a cursor."""

    nextCursor: Cursor | None = None


class CacheableResult(Result, frozen=True, kw_only=True):
    """A result that 2026-07-28 lets its reader keep.

    Attributes:
        ttlMs: How long, in milliseconds; a negative one means 0.
        cacheScope: "public" if it is the same for every user.
    """

    ttlMs: int | None = None
    cacheScope: CacheScope | None = None


class InputResponseRequestParams(RequestParams, frozen=True, kw_only=True):
    """The params of a request whose result may ask for input first (2026-07-28).

    Attributes:
        inputResponses: The answers, under the keys of `InputRequiredResult.inputRequests`.
            The member's shape follows from the request it answers: see `rounds`.
        requestState: The state of that result, verbatim.
    """

    inputResponses: dict[str, Any] | None = None
    requestState: str | None = None
