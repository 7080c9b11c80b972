"""The JSON-RPC messages, as they lie on the wire.

A `Struct` here is wire format: its fields are the protocol's, nothing is added for our
convenience.  What leaves `codec.decode` carries `params` and `result` as `msgspec.Raw`, a
view into the frame, decoded by whoever owns the method; what goes into `codec.encode`
carries any value that encodes to a JSON object, so that a message is encoded once.

Layer: L1; imports `errors` only.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

from dedalus_mcp.errors import ErrorData

__all__ = ("Call", "Failure", "Malformed", "Message", "Notice", "Reply", "RequestId", "Success")

RequestId: TypeAlias = int | str
"""Never null, never a float or bool: MCP narrows JSON-RPC here (2026-07-28, basic, "Requests")."""


class _Wire(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="jsonrpc", tag="2.0"):
    # A tag, unlike a field with a default, is written even under omit_defaults.
    pass


class Call(_Wire, frozen=True):
    """A request, to be answered exactly once.

    Attributes:
        id: Chosen by the sender; unique among its open calls, and echoed in the reply.
        method: Case-sensitive name, for example ``tools/call``.
        params: A JSON object; UNSET when there are none.
    """

    id: RequestId
    method: str
    params: Any = UNSET


class Notice(_Wire, frozen=True):
    """A notification: never answered, not even with an error."""

    method: str
    params: Any = UNSET


class Success(_Wire, frozen=True):
    """The reply to the call `id`: it worked, and `result` is a JSON object."""

    id: RequestId
    result: Any


class Failure(_Wire, frozen=True):
    """The reply to the call `id`: it did not work.  The id is None when it could not be read."""

    id: RequestId | None
    error: ErrorData


Reply: TypeAlias = Success | Failure
Message: TypeAlias = Call | Notice | Success | Failure


class Malformed(msgspec.Struct, frozen=True):
    """A frame, or an item of a batch, that is not a message.

    Attributes:
        id: Its id, where one could be read.
        error: What is wrong with it; the reply to give where a reply is due.
        is_reply: It was meant as a reply, so it must never be answered.
        is_bare: It has an id and says nothing: no message, or a reply whose null result was
            left out on the way.
    """

    id: RequestId | None
    error: ErrorData
    is_reply: bool = False
    is_bare: bool = False
