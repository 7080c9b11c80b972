"""A question of a server, ready to be shown to a person and answered.

Layer: L4.
Source: MCP 2025-11-25, client/elicitation.
"""

from __future__ import annotations

from typing import Any

from dedalus_mcp.errors import McpError
from dedalus_mcp.schema import forms
from dedalus_mcp.schema.fields import Field
from dedalus_mcp.types import ElicitRequestParams, ElicitResult

__all__ = ("Form",)


class Form:
    """What a server wants to know from the user.

    Args:
        params: The server's question.

    Attributes:
        message: To be shown to the user.
        fields: What to fill in, in order.

    Raises:
        McpError: -32602, the server's schema is no form.
    """

    def __init__(self, params: ElicitRequestParams) -> None:
        self.message = params.message
        self.fields: tuple[Field, ...] = forms.fields(params.requestedSchema)
        self._schema = params.requestedSchema

    def accept(self, content: dict[str, Any] | None = None, /, **values: Any) -> ElicitResult:
        """Answer with these values; defaults stand for those not given.

        Args:
            content: Values by field name, for names that are no identifiers.
            values: The same.

        Raises:
            ValueError: A value is missing or not legal; the text names the field.
        """
        try:
            return ElicitResult(action="accept", content=forms.accept({**(content or {}), **values}, self._schema))
        except McpError as error:
            raise ValueError(error.message) from None

    def decline(self) -> ElicitResult:
        """Answer that the user says no."""
        return ElicitResult(action="decline")

    def cancel(self) -> ElicitResult:
        """Answer that the user went away without choosing."""
        return ElicitResult(action="cancel")
