"""The codes of `ToolError` that most tools need, so that models read the same word for the same failure.

Layer: L0; imports nothing of this package.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ("ToolErrorCode",)


class ToolErrorCode(StrEnum):
    """Why a tool failed: `ToolError(message, code=ToolErrorCode.NOT_FOUND)`.

    No more than words that are spelt right: any other string is a code, too.
    """

    NOT_FOUND = "NOT_FOUND"
    """What was asked for is not there."""
    UNAUTHORIZED = "UNAUTHORIZED"
    """Whoever asks has not shown that he may."""
    INVALID_INPUT = "INVALID_INPUT"
    """The arguments make no sense together, though each fits the schema."""
    RATE_LIMITED = "RATE_LIMITED"
    """It was asked too often; later it may work."""
    INTERNAL = "INTERNAL"
    """Something else failed, which is not the caller's fault."""
