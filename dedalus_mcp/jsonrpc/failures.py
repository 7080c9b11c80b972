"""Which error object an exception of a handler becomes.

    McpError                            its own code, message and data
    a group of one McpError             the same: tasks wrap what they raise
    anything else                       -32603 "Internal error", and the log has the rest

Layer: L2; imports `errors`, `messages`, `codec` and `transport` only.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import cast

import msgspec

from dedalus_mcp.errors import INTERNAL_ERROR, ErrorData, LocalProtocolError, McpError
from dedalus_mcp.jsonrpc.codec import encode
from dedalus_mcp.jsonrpc.messages import Failure, RequestId
from dedalus_mcp.transport import Reply

__all__ = ("INTERNAL", "failure", "only_mcp_error")

logger = logging.getLogger("dedalus_mcp")

INTERNAL = ErrorData(INTERNAL_ERROR, "Internal error")
"""What the peer reads of a failure that is none of its business."""


def only_mcp_error(error: BaseException, *cancelled: type[BaseException]) -> McpError | None:
    """Return the one McpError that `error` is, or is a group of, cancellations aside.

    Siblings that fail alike, as where a client cannot be asked at all, are one.
    """
    found: McpError | None = None
    for leaf in _leaves(error):
        if isinstance(leaf, cancelled):
            continue
        if not isinstance(leaf, McpError) or (found is not None and not _alike(found, leaf)):
            return None
        found = found or leaf
    return found


def _alike(one: McpError, other: McpError) -> bool:
    return (type(one), one.code, one.message) == (type(other), other.code, other.message)


def failure(id: RequestId, error: ErrorData) -> Reply:
    """Write an error reply; what is not JSON in it is left out: its data, or else all of it."""
    try:
        return Reply(encode(Failure(id, error)), error.code)
    except LocalProtocolError:
        logger.exception("the error that answers call %.80r is not JSON", id)
    return failure(id, msgspec.structs.replace(error, data=None) if error.data is not None else INTERNAL)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    left = [error]  # not by recursion: groups may be nested deeper than the stack is
    while left:
        error = left.pop()
        if isinstance(error, BaseExceptionGroup):
            left += cast("BaseExceptionGroup[BaseException]", error).exceptions
        else:
            yield error
