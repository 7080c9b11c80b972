"""What a client does for its servers: answers their questions, hears their notices.

A server's question is answered in a task of its own; a plain `def` handler in a worker thread,
since it talks to a person.  While a person is asked, no call of ours runs out of time.

Layer: L4.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeAlias, TypeGuard

import msgspec

from dedalus_mcp.client.delivery import Deliveries, Delivery, hearing
from dedalus_mcp.client.form import Form
from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, ErrorData, McpError
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Notice
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.schema import forms
from dedalus_mcp.schema.signature import is_async, parameters
from dedalus_mcp.threads import Threads
from dedalus_mcp.types import (
    Capability,
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    LoggingMessageNotificationParams,
    ResourceUpdatedNotificationParams,
    Result,
)
from dedalus_mcp.types.method import NotificationMethod
from dedalus_mcp.types.methods import ELICITATION_CREATE, MESSAGE, PING, RESOURCES_UPDATED

__all__ = (
    "ElicitationAnswer",
    "ElicitationHandler",
    "Handlers",
    "LoggingHandler",
    "ResourceUpdatedHandler",
    "UrlElicitationHandler",
)

logger = logging.getLogger("dedalus_mcp")

# Threads that ask a person at once, those included whose question the server has taken back: a
# server that asks and cancels in turn would otherwise start them without end.
MAX_ASKED = 40

ElicitationAnswer: TypeAlias = ElicitResult | Mapping[str, Any] | ErrorData
"""What a handler returns: the result, or the content of an accepting one, or an error to reply with."""

ElicitationHandler: TypeAlias = (
    Callable[[ElicitRequestParams], ElicitationAnswer | Awaitable[ElicitationAnswer]]
    | Callable[[Form], ElicitationAnswer | Awaitable[ElicitationAnswer]]
)
"""Answers a form.  A parameter annotated `Form` gets the form, any other the params."""

UrlElicitationHandler: TypeAlias = Callable[
    [ElicitRequestURLParams], ElicitResult | ErrorData | Awaitable[ElicitResult | ErrorData]
]
"""Answers whether the user goes to a page; "accept" is consent, not completion."""

LoggingHandler: TypeAlias = Callable[[LoggingMessageNotificationParams], Awaitable[None] | None]
"""Hears a log message.  A plain `def` must not block."""

ResourceUpdatedHandler: TypeAlias = Callable[[ResourceUpdatedNotificationParams], Awaitable[None] | None]
"""Hears which resource has changed.  A plain `def` must not block."""


class Handlers:
    """The `Handler` of a client's peer.  Give it its peer before feeding that.

    Args:
        deliveries: Where handlers of notices run.
        elicitation: Answers forms.
        elicitation_url: Answers requests to visit a page.
        logging: Hears log messages.
        resource_updated: Hears of changes of the resources that are subscribed to.
    """

    peer: Peer

    def __init__(
        self,
        deliveries: Deliveries,
        *,
        elicitation: ElicitationHandler | None = None,
        elicitation_url: UrlElicitationHandler | None = None,
        logging: LoggingHandler | None = None,
        resource_updated: ResourceUpdatedHandler | None = None,
    ) -> None:
        self._elicitation: Callable[[Any], Any] | None = elicitation
        self._takes_form = elicitation is not None and _takes_form(elicitation)
        self._elicitation_url: Callable[[Any], Any] | None = elicitation_url
        self._threads = Threads(MAX_ASKED)
        hearers: list[tuple[NotificationMethod[Any], Callable[[Any], Any] | None]] = [
            (MESSAGE, logging),
            (RESOURCES_UPDATED, resource_updated),
        ]
        self._hearers = {
            method.name: hearing(method, Delivery(hear, deliveries)) for method, hear in hearers if hear is not None
        }

    @property
    def capabilities(self) -> ClientCapabilities:
        """Exactly what there are handlers for."""
        if self._elicitation is None and self._elicitation_url is None:
            return ClientCapabilities()
        form = None if self._elicitation is None else Capability()
        url = None if self._elicitation_url is None else Capability()
        return ClientCapabilities(elicitation=ElicitationCapability(form=form, url=url))

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
        if call.method == ELICITATION_CREATE.name and (self._elicitation or self._elicitation_url):
            return self._elicit(_elicit_params(call))
        raise McpError(METHOD_NOT_FOUND, f"Method not found: {call.method:.80}")

    def hear(self, notice: Notice) -> None:
        """Take a notice of the server."""
        hear = self._hearers.get(notice.method)
        if hear is None:
            logger.debug("nobody listens to %.80r", notice.method)
        else:
            hear(notice.params)

    def _elicit(self, params: ElicitRequestParams | ElicitRequestURLParams) -> Coroutine[Any, Any, ElicitResult]:
        if isinstance(params, ElicitRequestURLParams):
            if self._elicitation_url is None:
                raise McpError(INVALID_PARAMS, "This client does not take elicitation mode 'url'")
            return self._asked(self._elicitation_url, params, None)
        if self._elicitation is None:
            raise McpError(INVALID_PARAMS, "This client does not take elicitation mode 'form'")
        shown = Form(params) if self._takes_form else params
        return self._asked(self._elicitation, shown, params.requestedSchema)

    async def _asked(self, handler: Callable[[Any], Any], question: Any, schema: dict[str, Any] | None) -> ElicitResult:
        with self.peer.clocks_stopped():
            if is_async(handler):
                answer = await handler(question)
            else:
                # Packed, since trio refuses a bare coroutine from a thread.
                (answer,) = await self._threads.run(lambda: (handler(question),))
                if inspect.isawaitable(answer):
                    answer = await answer
        return _legal(answer, schema)


def _legal(answer: Any, schema: dict[str, Any] | None) -> ElicitResult:
    """The handler's answer as a result that keeps the protocol's rules (ELIC-16 to ELIC-18)."""
    if isinstance(answer, ErrorData):
        raise McpError(answer)
    if _is_mapping(answer):
        answer = ElicitResult(action="accept", content=dict(answer))
    if not isinstance(answer, ElicitResult):
        logger.error("an elicitation handler returned %.80r; legal: ElicitResult, mapping, ErrorData", answer)
        raise McpError(INTERNAL_ERROR, "Internal error")
    if answer.action != "accept" or schema is None:
        return ElicitResult(action=answer.action, meta=answer.meta)
    return ElicitResult(action="accept", content=forms.accept(answer.content or {}, schema), meta=answer.meta)


def _elicit_params(call: Inbound) -> ElicitRequestParams | ElicitRequestURLParams:
    try:
        return ELICITATION_CREATE.decode_params(call.params)
    except (msgspec.DecodeError, RecursionError) as error:
        raise McpError(INVALID_PARAMS, f"Invalid params: {error!s:.200}") from None


def _is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _takes_form(handler: Callable[..., Any]) -> bool:
    """Whether the handler's first parameter is annotated `Form`."""
    try:
        first = next(iter(parameters(handler)), None)
    except TypeError:  # annotations that cannot be resolved: then it is not annotated `Form`
        return False
    return first is not None and first.annotation is Form
