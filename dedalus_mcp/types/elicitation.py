"""Elicitation: a server asks the client's user.

Layer: L1; imports `messages`, `wire` and `tasks` only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from dedalus_mcp.types.messages import Meta, NotificationParams, RequestParams
from dedalus_mcp.types.tasks import TaskMetadata
from dedalus_mcp.types.wire import Choice, TaggedMeta, Wire

__all__ = (
    "AnyElicitRequestParams",
    "ElicitMode",
    "ElicitRequestFormParams",
    "ElicitRequestParams",
    "ElicitRequestURLParams",
    "ElicitRequestedSchema",
    "ElicitResult",
    "ElicitationCompleteNotificationParams",
    "URLElicitationRequiredData",
)

ElicitRequestedSchema: TypeAlias = dict[str, Any]
"""A JSON Schema of the kind that `schema` checks: one flat object."""


class ElicitMode(Choice):
    """The params of `elicitation/create`: by form or by URL; absent means by form."""

    __slots__ = ()

    @classmethod
    def choose(cls, members: dict[str, Any]) -> type[Any]:
        """Tell the modes apart by `mode`."""
        mode = members.get("mode")
        if mode is None or mode == "form":
            return ElicitRequestParams
        if mode == "url":
            return ElicitRequestURLParams
        raise ValueError("Invalid value - at `$.mode`; legal are 'form' and 'url'")


class ElicitRequestParams(RequestParams, ElicitMode, frozen=True, kw_only=True, metaclass=TaggedMeta):
    """A form for the user; `mode` reads as "form" and is not written, as 2025-06-18 has none."""

    __fixed__ = ("mode", "form")

    if TYPE_CHECKING:
        mode: Literal["form"] = "form"
    message: str
    requestedSchema: ElicitRequestedSchema
    task: TaskMetadata | None = None


ElicitRequestFormParams = ElicitRequestParams


class ElicitRequestURLParams(
    RequestParams, ElicitMode, frozen=True, kw_only=True, tag_field="mode", tag="url", metaclass=TaggedMeta
):
    """A page for the user to visit (2025-11-25 and later).

    Attributes:
        elicitationId: Required by 2025-11-25, unknown to 2026-07-28.
    """

    if TYPE_CHECKING:
        mode: Literal["url"] = "url"
    message: str
    url: str
    elicitationId: str | None = None
    task: TaskMetadata | None = None


if TYPE_CHECKING:
    AnyElicitRequestParams: TypeAlias = ElicitRequestParams | ElicitRequestURLParams
else:  # absent `mode` means "form", which a tag cannot say
    AnyElicitRequestParams = ElicitMode


class ElicitResult(Wire, frozen=True, kw_only=True):
    """What the user did; `content` comes with "accept" alone."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class ElicitationCompleteNotificationParams(NotificationParams, frozen=True, kw_only=True):
    """The page of that elicitation has done its work (2025-11-25 only)."""

    elicitationId: str


class URLElicitationRequiredData(Wire, frozen=True, kw_only=True):
    """The `data` of the error -32042 (2025-11-25 only)."""

    elicitations: list[ElicitRequestURLParams]
