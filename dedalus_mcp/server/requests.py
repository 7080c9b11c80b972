"""What a server asks by the protocol's own params: the part of `MCPServer` that is about questions.

`Context` has the same in shorter words: see `server.asking`.

Layer: L4.
"""

from __future__ import annotations

from msgspec import UNSET

from dedalus_mcp.server import asks, sampling
from dedalus_mcp.server.asks import Seconds
from dedalus_mcp.server.context import active_context
from dedalus_mcp.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
)

__all__ = ("Requests",)


class Requests:
    """The part of `MCPServer` that asks the client whose call is being answered."""

    async def request_elicitation(
        self,
        params: ElicitRequestParams | ElicitRequestURLParams,
        *,
        timeout: Seconds = UNSET,
        key: str | None = None,
    ) -> ElicitResult:
        """Ask the user of the client whose call is being answered, and wait for the answer.

        Args:
            params: What to ask.
            timeout: How long to wait, in seconds; None for no limit; else as configured.
            key: The author's name for the question.

        Returns:
            What the user did.  `content` comes with "accept" alone; it fits the schema, and
            has the defaults of what was not answered.

        Raises:
            AskFailed: An `McpError`.  -32601: no call is being answered (also a `RuntimeError`),
                or the client cannot be asked so.  -32602: the question is not legal, or the answer
                does not fit it.  -32603: no answer in time.  -32000: the client is gone.  Any
                other: the client's own error.

        Source: MCP 2025-06-18 and 2025-11-25, client/elicitation.
        """
        return await asks.elicit(active_context(), params, timeout=timeout, key=key)

    async def request_sampling(
        self, params: CreateMessageRequestParams, *, timeout: Seconds = UNSET, key: str | None = None
    ) -> CreateMessageResult:
        """Ask the model of the client whose call is being answered, and wait for what it says.

        Args:
            params: What to ask.
            timeout: How long to wait, in seconds; None for no limit; else as configured.
            key: The author's name for the question.

        Raises:
            AskFailed: See `request_elicitation`.

        Source: MCP 2025-11-25, client/sampling.
        """
        return await sampling.sample(active_context(), params, timeout=timeout, key=key)
