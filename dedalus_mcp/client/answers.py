"""What a client answers its server's questions with, live and in rounds alike.

    question ──prepare──▶ refused, before anybody is asked
                   └────▶ a person, the model or the roots are asked ──▶ an answer that is legal

A plain `def` handler runs in a worker thread, since it talks to a person.

Layer: L4.
Source: MCP 2025-11-25 and 2026-07-28, client/elicitation, client/sampling, client/roots.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeGuard

from dedalus_mcp.client.form import Form
from dedalus_mcp.client.roots import RootsSource, roots_result
from dedalus_mcp.errors import INVALID_PARAMS, METHOD_NOT_FOUND, ErrorData, McpError
from dedalus_mcp.schema import forms
from dedalus_mcp.schema.page_urls import fault_of_page
from dedalus_mcp.schema.signature import is_async, parameters
from dedalus_mcp.threads import Threads
from dedalus_mcp.types import (
    Capability,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ListRootsResult,
    RootsCapability,
    SamplingCapability,
)
from dedalus_mcp.types.keys import extensions_of
from dedalus_mcp.types.rounds import InputRequest, InputResponse
from dedalus_mcp.types.turns import unbalanced

__all__ = (
    "Answers",
    "Ask",
    "ElicitationAnswer",
    "ElicitationHandler",
    "NoAnswer",
    "SamplingAnswer",
    "SamplingHandler",
    "UrlElicitationHandler",
    "legal",
)

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

SamplingAnswer: TypeAlias = CreateMessageResult | ErrorData
"""What a handler returns: what the model said, or an error to reply with (code -1: the user refused)."""

SamplingHandler: TypeAlias = Callable[[CreateMessageRequestParams], SamplingAnswer | Awaitable[SamplingAnswer]]
"""Asks the client's model."""

Ask: TypeAlias = Callable[[], Awaitable[InputResponse]]
"""Asks whoever knows, and returns the answer as it may be sent."""


class NoAnswer(TypeError, ValueError):
    """What a handler returned is no answer to what it was asked: its author's fault, not the server's."""


class Answers:
    """The handlers of one client that answer questions.

    Args:
        elicitation: Answers forms.
        elicitation_url: Answers requests to visit a page.
        sampling: Asks the model.
        sampling_tools: Whether that takes tools.
        roots: The roots, or what returns them.
        extensions: What else is spoken, by id, with its settings.

    Raises:
        TypeError: A root is none.
        ValueError: A root is no ``file:`` URI; or there are tools, and no handler that takes them.
    """

    def __init__(
        self,
        *,
        elicitation: ElicitationHandler | None = None,
        elicitation_url: UrlElicitationHandler | None = None,
        sampling: SamplingHandler | None = None,
        sampling_tools: bool = False,
        roots: RootsSource | None = None,
        extensions: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        if sampling_tools and sampling is None:
            raise ValueError("sampling_tools needs a sampling handler, which takes the tools")
        if roots is not None and not callable(roots):
            roots_result(roots)
        self._form: Callable[[Any], Any] | None = elicitation
        self._takes_form = elicitation is not None and _takes_form(elicitation)
        self._page: Callable[[Any], Any] | None = elicitation_url
        self._sampling: Callable[[Any], Any] | None = sampling
        self._sampling_tools = sampling_tools
        self._roots = roots
        self._extensions = extensions_of(extensions)
        self._threads = Threads(MAX_ASKED)

    @property
    def capabilities(self) -> ClientCapabilities:
        """Exactly what there are handlers for, and the extensions."""
        form = None if self._form is None else Capability()
        page = None if self._page is None else Capability()
        tools = Capability() if self._sampling_tools else None
        return ClientCapabilities(
            elicitation=ElicitationCapability(form=form, url=page) if form or page else None,
            sampling=None if self._sampling is None else SamplingCapability(tools=tools),
            roots=None if self._roots is None else RootsCapability(listChanged=True),
            extensions=self._extensions,
        )

    @property
    def asked(self) -> bool:
        """Whether there is anything that a server may ask."""
        return any(handler is not None for handler in (self._form, self._page, self._sampling, self._roots))

    def takes(self, method: str) -> bool:
        """Whether there is a handler for questions of this method."""
        handlers = {
            "elicitation/create": self._form or self._page,
            "sampling/createMessage": self._sampling,
            "roots/list": self._roots,
        }
        return handlers[method] is not None

    def prepare(self, question: InputRequest) -> Ask:
        """Check that a question may be asked here; return what asks it, which raises what `legal` does.

        Raises:
            McpError: -32601, there is no handler for it; -32602, it is not legal, or of a mode
                that was not declared.
        """
        if not self.takes(question.method):
            raise McpError(METHOD_NOT_FOUND, f"Method not found: {question.method}")
        if isinstance(question, ElicitRequest):
            return self._elicit(question, question.params)
        if isinstance(question, CreateMessageRequest):
            return self._sample(question)
        roots = self._roots
        return self._asking(question, roots if callable(roots) else lambda: roots)

    def _elicit(self, question: InputRequest, params: ElicitRequestParams | ElicitRequestURLParams) -> Ask:
        if isinstance(params, ElicitRequestURLParams):
            if self._page is None:
                raise McpError(INVALID_PARAMS, "This client does not take elicitation mode 'url'")
            if (fault := fault_of_page(params.url)) is not None:  # nobody has to look before opening it
                raise McpError(INVALID_PARAMS, f"Invalid params: url {fault}")
            return self._asking(question, self._page, params)
        if self._form is None:
            raise McpError(INVALID_PARAMS, "This client does not take elicitation mode 'form'")
        form = Form(params)  # checks the schema in any case: nobody is asked what cannot be answered
        return self._asking(question, self._form, form if self._takes_form else params)

    def _sample(self, question: CreateMessageRequest) -> Ask:
        assert self._sampling is not None, "taken"
        params = question.params
        if not self._sampling_tools and (params.tools is not None or params.toolChoice is not None):
            raise McpError(INVALID_PARAMS, "This client does not take tools in sampling")
        if (problem := unbalanced(params.messages)) is not None:
            raise McpError(INVALID_PARAMS, f"Invalid params: {problem}")
        return self._asking(question, self._sampling, params)

    def _asking(self, question: InputRequest, handler: Callable[..., Any], *shown: Any) -> Ask:
        async def ask() -> InputResponse:
            if is_async(handler):
                return legal(question, await handler(*shown))
            # Packed, since trio refuses a bare coroutine from a thread.
            (answer,) = await self._threads.run(lambda: (handler(*shown),))
            return legal(question, await answer if inspect.isawaitable(answer) else answer)

        return ask


def legal(question: InputRequest, answer: Any) -> InputResponse:
    """Return an answer as a result that keeps the protocol's rules (ELIC-16 to ELIC-18, ROOT-02).

    Args:
        question: What was asked.
        answer: What a handler for it may return.

    Raises:
        McpError: The answer is this error; or -32602, its content does not fit the form, and the
            message names the field.
        NoAnswer: It is no answer to that question, or has a root that is none.
    """
    if isinstance(answer, ErrorData):
        raise McpError(answer)
    if isinstance(question, ElicitRequest):
        return _legal_elicitation(question.params, answer)
    if isinstance(question, CreateMessageRequest):
        if not isinstance(answer, CreateMessageResult):
            raise _no_answer("a sampling", answer, "CreateMessageResult, ErrorData")
        return answer
    try:
        roots = roots_result(answer.roots if isinstance(answer, ListRootsResult) else answer)
    except (TypeError, ValueError) as error:
        raise NoAnswer(str(error)) from error
    return answer if isinstance(answer, ListRootsResult) else roots


def _legal_elicitation(params: ElicitRequestParams | ElicitRequestURLParams, answer: Any) -> ElicitResult:
    if _is_mapping(answer):
        answer = ElicitResult(action="accept", content=dict(answer))
    if not isinstance(answer, ElicitResult):
        raise _no_answer("an elicitation", answer, "ElicitResult, mapping, ErrorData")
    if answer.action != "accept" or isinstance(params, ElicitRequestURLParams):
        return ElicitResult(action=answer.action, meta=answer.meta)
    content = forms.accept(answer.content or {}, params.requestedSchema)
    return ElicitResult(action="accept", content=content, meta=answer.meta)


def _no_answer(kind: str, answer: object, expected: str) -> NoAnswer:
    return NoAnswer(f"{kind} handler returned {answer!r:.80}; legal: {expected}")


def _is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _takes_form(handler: Callable[..., Any]) -> bool:
    """Whether the handler's first parameter is annotated `Form`."""
    try:
        first = next(iter(parameters(handler)), None)
    except TypeError:  # annotations that cannot be resolved: then it is not annotated `Form`
        return False
    return first is not None and first.annotation is Form
