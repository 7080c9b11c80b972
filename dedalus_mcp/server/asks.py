"""Asking the client in the middle of a call: what all questions have in common, and forms.

What can go wrong is checked in a fixed order, before anything is sent:

    an active call ─▶ the capability ─▶ a legal question ─▶ ask ─▶ a legal answer

How the question travels is the business of the call's asker: see `server.asker`.

Layer: L4.
Source: MCP 2025-11-25, client/elicitation.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar

import msgspec
from anyio import lowlevel
from msgspec import UNSET, UnsetType

from dedalus_mcp.errors import INVALID_PARAMS, METHOD_NOT_FOUND, AskFailed, McpError, NoActiveCall
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.tasks import being_cancelled
from dedalus_mcp.schema.forms import SELECTS, RequestedForm, form_of
from dedalus_mcp.schema.one_field import Reads
from dedalus_mcp.schema.page_urls import fault_of_page
from dedalus_mcp.server.asker import Question, check_capability, not_legal
from dedalus_mcp.server.asking_call import AskingCall
from dedalus_mcp.server.audit import Audit
from dedalus_mcp.server.journal import check_name
from dedalus_mcp.server.pace import turn
from dedalus_mcp.types import (
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
)
from dedalus_mcp.types.method import Method
from dedalus_mcp.types.methods import ELICITATION_CREATE
from dedalus_mcp.types.revisions import shape

__all__ = ("Content", "Seconds", "elicit", "fill", "legally", "put", "ready", "visit")

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

Seconds: TypeAlias = float | UnsetType | None
"""How long to wait for an answer; None for no limit, UNSET for what the server is configured to."""

Within: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, R]]], Coroutine[Any, Any, R]]
"""Asks, when it may be asked."""

_NEEDS = {"elicitation": "Elicitation needs", "sampling": "Sampling needs", "roots": "Listing roots needs"}


async def ready(call: AskingCall | None, required: Mapping[str, Mapping[str, Any]]) -> AskingCall:
    """Return the call if it may ask so; a cancelled one is cancelled here, before anything is asked.

    Raises:
        NoActiveCall: There is none, or it is over or cancelled.
        CapabilityMissing: The client did not declare what is required.
    """
    needs = _NEEDS[next(iter(required))]
    if call is None or call.finished:
        raise NoActiveCall(METHOD_NOT_FOUND, f"{needs} an active request: call it while a handler runs")
    if call.cancel_reason is not None or being_cancelled():
        await lowlevel.checkpoint()
        reason = call.cancel_reason or "the server is shutting down"
        raise NoActiveCall(METHOD_NOT_FOUND, f"{needs} an active request; this one is cancelled: {reason}")
    check_capability(call.client_capabilities, required)
    return call


async def put(
    call: AskingCall, method: Method[P, R], question: Question, timeout: Seconds, *, within: Within[R] | None = None
) -> R:
    """Put a question that is ready, and return the answer, decoded.

    Args:
        call: The call that asks.
        method: What.
        question: With what.
        timeout: How long to wait for the answer.
        within: Bounds how much is asked; called with what asks, once no place of the tool is held.

    Raises:
        AskFailed: See `Asker.ask`; or -32602, the key or the timeout is none.
    """
    if question.key is not None:
        with legally:
            check_name("the key of a question", question.key)
    if timeout is not None and timeout is not UNSET:
        with legally:
            Timeout(timeout)
    running = turn.get()
    if running is None:
        return await _ask_within(within, call, method, question, timeout)
    async with running.suspended():
        return await _ask_within(within, call, method, question, timeout)


def _ask_within(
    within: Within[R] | None, call: AskingCall, method: Method[P, R], question: Question, timeout: Seconds
) -> Coroutine[Any, Any, R]:
    if within is None:
        return _ask(call, method, question, timeout)
    return within(partial(_ask_in_turn, call, method, question, timeout))


async def _ask_in_turn(call: AskingCall, method: Method[P, R], question: Question, timeout: Seconds) -> R:
    await ready(call, question.required)  # it may be over since
    return await _ask(call, method, question, timeout)


async def _ask(call: AskingCall, method: Method[P, R], question: Question, timeout: Seconds) -> R:
    raw = await call.asker.ask(question, timeout)
    try:
        return method.decode_result(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise not_legal(question, error) from None


class _Legally:
    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, McpError) and not isinstance(error, AskFailed):
            raise AskFailed(error.error) from None
        if isinstance(error, TypeError | ValueError):
            raise AskFailed(INVALID_PARAMS, str(error)) from error


legally = _Legally()
"""Within it, what is wrong with a question, or with an answer, is a failed ask: -32602."""


_FORM: dict[str, dict[str, Any]] = {"elicitation": {"form": {}}}
_URL: dict[str, dict[str, Any]] = {"elicitation": {"url": {}}}


async def fill(
    call: AskingCall | None,
    params: ElicitRequestParams,
    make: Callable[[str], Reads[T]],
    *,
    timeout: Seconds,
    key: str | None,
) -> tuple[ElicitResult, T | None]:
    """Ask the user to fill in a form.

    Args:
        call: The call that asks.
        params: The question but for its schema.
        make: Makes the form for a revision.
        timeout: How long to wait.
        key: The author's name for the question.

    Returns:
        What the user did, and the value of what was filled in.

    Raises:
        AskFailed: See `MCPServer.request_elicitation`.
    """
    with Audit(call, "elicitation", params.message, key) as audit:
        call = await ready(call, _FORM)
        with legally:
            reads = make(call.revision)
            sent = msgspec.structs.replace(params, requestedSchema=reads.form.worded(call.revision))
        question = Question(ELICITATION_CREATE.name, shape(sent, call.revision), _FORM, key)
        result = await put(call, ELICITATION_CREATE, question, timeout)
        if result.action != "accept":
            audit.answered(result.action, None)
            return ElicitResult(action=result.action, meta=result.meta), None
        audit.answered("accept", result.content)
        with legally:
            return result, reads.build(result.content)


async def visit(
    call: AskingCall | None, params: ElicitRequestURLParams, *, timeout: Seconds, key: str | None
) -> ElicitResult:
    """Ask the user to visit a page.

    Raises:
        AskFailed: See `MCPServer.request_elicitation`.
    """
    with Audit(call, "elicitation", params.message, key) as audit:
        call = await ready(call, _URL)
        if call.revision < SELECTS:
            raise AskFailed(METHOD_NOT_FOUND, f"Elicitation by URL needs protocol revision {SELECTS} or later")
        if (fault := fault_of_page(params.url)) is not None:
            raise AskFailed(INVALID_PARAMS, f"url {fault}")
        question = Question(ELICITATION_CREATE.name, shape(params, call.revision), _URL, key)
        result = await put(call, ELICITATION_CREATE, question, timeout)
        audit.answered(result.action, None)
        return ElicitResult(action=result.action, meta=result.meta)


class Content:
    """A form whose answer is the content itself."""

    __slots__ = ("form",)

    def __init__(self, requested_schema: Any) -> None:
        self.form: RequestedForm = form_of(requested_schema)

    def build(self, content: Any) -> dict[str, Any]:
        """Return the content, checked."""
        return self.form.accept(content)


async def elicit(
    call: AskingCall | None,
    params: ElicitRequestParams | ElicitRequestURLParams,
    *,
    timeout: Seconds,
    key: str | None,
) -> ElicitResult:
    """Ask the user, by form or by URL, and return the answer as it came: see `MCPServer.request_elicitation`."""
    if isinstance(params, ElicitRequestURLParams):
        return await visit(call, params, timeout=timeout, key=key)
    schema = params.requestedSchema
    result, content = await fill(call, params, lambda _: Content(schema), timeout=timeout, key=key)
    return msgspec.structs.replace(result, content=content)
