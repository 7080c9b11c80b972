"""Which error object an exception of a handler becomes.

    McpError                            its own code, message and data
    a group of one McpError             the same: tasks wrap what they raise
    anything else                       -32603 "Internal error", and the log has the rest

Layer: L1; imports `errors` only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from dedalus_mcp.errors import INTERNAL_ERROR, ErrorData, McpError

__all__ = ("INTERNAL", "only_mcp_error")

INTERNAL = ErrorData(INTERNAL_ERROR, "Internal error")
"""What the peer reads of a failure that is none of its business."""


def only_mcp_error(error: BaseException, *cancelled: type[BaseException]) -> McpError | None:
    """Return the one McpError that `error` is, or is a group of, cancellations aside."""
    leaves = [leaf for leaf in _leaves(error) if not isinstance(leaf, cancelled)]
    return leaves[0] if len(leaves) == 1 and isinstance(leaves[0], McpError) else None


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(inner)
    else:
        yield error
