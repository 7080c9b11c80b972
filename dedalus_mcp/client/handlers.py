"""What a client does for its servers: answers their questions, hears their notices.

A server's question is answered in a task of its own.  Meanwhile no call of ours runs out of
time: who asks on whose behalf, legacy connections do not say.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

import msgspec

from dedalus_mcp.client.answers import Answers, Ask, NoAnswer
from dedalus_mcp.client.delivery import Deliveries
from dedalus_mcp.client.notices import Callbacks, Notices
from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, McpError
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Notice
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.types import (
    CreateMessageRequest,
    ElicitRequest,
    ListRootsRequest,
    Result,
)
from dedalus_mcp.types.method import Method
from dedalus_mcp.types.methods import (
    ELICITATION_CREATE,
    PING,
    ROOTS_LIST,
    SAMPLING_CREATE_MESSAGE,
)
from dedalus_mcp.types.revisions import LATEST_LEGACY, shape
from dedalus_mcp.types.rounds import InputRequest, InputResponse

__all__ = ("Handlers",)

logger = logging.getLogger("dedalus_mcp")

_QUESTIONS: Final[dict[str, tuple[Method[Any, Any], Callable[..., InputRequest]]]] = {
    ELICITATION_CREATE.name: (ELICITATION_CREATE, ElicitRequest),
    SAMPLING_CREATE_MESSAGE.name: (SAMPLING_CREATE_MESSAGE, CreateMessageRequest),
    ROOTS_LIST.name: (ROOTS_LIST, ListRootsRequest),
}


class Handlers:
    """The `Handler` of a client's peer.  Give it its peer before feeding that.

    Args:
        deliveries: Where handlers of notices run.
        answers: Answers questions; nothing is answered if not given.
        callbacks: Who is told of which notices; nobody if not given.

    Attributes:
        answers: See above.
        notices: The way to the callbacks.
        revision: The revision of the server, in whose words it is answered.
    """

    peer: Peer

    def __init__(
        self,
        deliveries: Deliveries,
        *,
        answers: Answers | None = None,
        callbacks: Callbacks | None = None,
    ) -> None:
        self.answers = answers or Answers()
        self.revision = LATEST_LEGACY
        self.notices = Notices(deliveries, callbacks or {})

    def answer(self, call: Inbound) -> Any:
        """Answer a call of the server.

        Raises:
            McpError: The error to reply with.
        """
        if call.method == PING.name:
            return Result()
        method, request = _QUESTIONS.get(call.method, (None, None))
        if method is None or request is None or not self.answers.takes(call.method):
            raise McpError(METHOD_NOT_FOUND, f"Method not found: {call.method:.80}")
        try:
            question = request(params=method.decode_params(call.params))
        except (msgspec.DecodeError, RecursionError) as error:
            raise McpError(INVALID_PARAMS, f"Invalid params: {excerpt(error)}") from None
        return self._answered(call.method, self.answers.prepare(question))

    def frees_others(self, call: Inbound) -> bool:
        """Never: a server's calls do not wait for each other here."""
        return False

    def hear(self, notice: Notice) -> None:
        """Take a notice of the server."""
        self.notices.hear(notice)

    async def _answered(self, method: str, ask: Ask) -> InputResponse:
        try:
            with self.peer.clocks_stopped():
                answer = await ask()
        except NoAnswer as error:  # which of the two is at fault the server may know, and no more
            logger.exception("a handler gave no answer to %s", method)
            raise McpError(INTERNAL_ERROR, f"The client's handler gave no legal answer to {method}") from error
        return shape(answer, self.revision)
