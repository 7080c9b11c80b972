"""Rounds: a result that asks for input first, and the retry that brings it (2026-07-28).

Layer: L1; imports `requests`, `wire` and the families of the three asks only.
Source: MCP 2026-07-28, basic/patterns, "Multi round-trip requests".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from dedalus_mcp.types.elicitation import ElicitResult
from dedalus_mcp.types.messages import Meta
from dedalus_mcp.types.requests import CreateMessageRequest, ElicitRequest, ListRootsRequest
from dedalus_mcp.types.roots import ListRootsResult
from dedalus_mcp.types.sampling import CreateMessageResult
from dedalus_mcp.types.wire import TaggedMeta, Wire

__all__ = ("InputRequest", "InputRequests", "InputRequiredResult", "InputResponse")

InputRequest: TypeAlias = CreateMessageRequest | ListRootsRequest | ElicitRequest
InputRequests: TypeAlias = dict[str, InputRequest]
InputResponse: TypeAlias = CreateMessageResult | ListRootsResult | ElicitResult


class InputRequiredResult(
    Wire, frozen=True, kw_only=True, tag_field="resultType", tag="input_required", metaclass=TaggedMeta
):
    """Answer these requests and call again; at least one of the two members is there.

    Attributes:
        inputRequests: Requests for the client, under keys that the answers will bear.
        requestState: To be given back verbatim.
    """

    if TYPE_CHECKING:
        resultType: Literal["input_required"] = "input_required"
    inputRequests: InputRequests | None = None
    requestState: str | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")
