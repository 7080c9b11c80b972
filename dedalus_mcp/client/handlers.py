"""What a client does for its servers: answers their questions, hears their notices.

A server's question is answered in a task of its own.  Meanwhile no call of ours runs out of
time: who asks on whose behalf, legacy connections do not say.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import msgspec

from dedalus_mcp.client.answers import Answers, Ask
from dedalus_mcp.client.delivery import Deliveries, Delivery, hearing
from dedalus_mcp.errors import INVALID_PARAMS, METHOD_NOT_FOUND, McpError
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Notice
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.types import (
    CreateMessageRequest,
    ElicitRequest,
    ListRootsRequest,
    LoggingMessageNotificationParams,
    ResourceUpdatedNotificationParams,
    Result,
)
from dedalus_mcp.types.method import Method, NotificationMethod
from dedalus_mcp.types.methods import (
    ELICITATION_CREATE,
    MESSAGE,
    PING,
    RESOURCES_UPDATED,
    ROOTS_LIST,
    SAMPLING_CREATE_MESSAGE,
)
from dedalus_mcp.types.revisions import LATEST_LEGACY, shape
from dedalus_mcp.types.rounds import InputRequest, InputResponse

__all__ = ("Handlers", "LoggingHandler", "ResourceUpdatedHandler")

logger = logging.getLogger("dedalus_mcp")

LoggingHandler: TypeAlias = Callable[[LoggingMessageNotificationParams], Awaitable[None] | None]
"""Hears a log message.  A plain `def` must not block."""

ResourceUpdatedHandler: TypeAlias = Callable[[ResourceUpdatedNotificationParams], Awaitable[None] | None]
"""Hears which resource has changed.  A plain `def` must not block."""

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
        logging: Hears log messages.
        resource_updated: Hears of changes of the resources that are subscribed to.

    Attributes:
        answers: See above.
        revision: The revision of the server, in whose words it is answered.
    """

    peer: Peer

    def __init__(
        self,
        deliveries: Deliveries,
        *,
        answers: Answers | None = None,
        logging: LoggingHandler | None = None,
        resource_updated: ResourceUpdatedHandler | None = None,
    ) -> None:
        self.answers = answers or Answers()
        self.revision = LATEST_LEGACY
        hearers: list[tuple[NotificationMethod[Any], Callable[[Any], Any] | None]] = [
            (MESSAGE, logging),
            (RESOURCES_UPDATED, resource_updated),
        ]
        self._hearers = {
            method.name: hearing(method, Delivery(hear, deliveries)) for method, hear in hearers if hear is not None
        }

    @property
    def hears_logs(self) -> bool:
        """Whether somebody hears log messages."""
        return MESSAGE.name in self._hearers

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
            raise McpError(INVALID_PARAMS, f"Invalid params: {error!s:.200}") from None
        return self._answered(self.answers.prepare(question))

    def hear(self, notice: Notice) -> None:
        """Take a notice of the server."""
        hear = self._hearers.get(notice.method)
        if hear is None:
            logger.debug("nobody listens to %.80r", notice.method)
        else:
            hear(notice.params)

    async def _answered(self, ask: Ask) -> InputResponse:
        with self.peer.clocks_stopped():
            answer = await ask()
        return shape(answer, self.revision)
