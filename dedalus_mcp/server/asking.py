"""What a handler asks: the part of `Context` that is about questions.

Every question takes `timeout`, the seconds to wait for an answer (None for no limit, else as the
server is configured), and `key`, the author's name for it, by which an answer is found again
where a call is answered in rounds.

Layer: L4.
Source: MCP 2025-11-25, client/elicitation, client/sampling, client/roots.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from msgspec import UNSET

from dedalus_mcp.schema import one_field
from dedalus_mcp.schema.one_field import Reads
from dedalus_mcp.schema.typed_forms import typed_form
from dedalus_mcp.server import asks, roots, sampling
from dedalus_mcp.server.answers import Accepted, Answer, Cancelled, Declined
from dedalus_mcp.server.asking_call import AskingCall
from dedalus_mcp.server.asks import Seconds
from dedalus_mcp.server.awaited import to_be_awaited
from dedalus_mcp.server.sampling import Messages
from dedalus_mcp.server.visits import Visit
from dedalus_mcp.threads import wait
from dedalus_mcp.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitRequestURLParams,
    IncludeContext,
    ModelPreferences,
    Root,
    Tool,
    ToolChoice,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ("Asking",)

T = TypeVar("T")
E = TypeVar("E", bound=Enum)


class Asking:
    """The part of `Context` that asks.  A cancelled call is cancelled at its next question."""

    __slots__ = ()

    @overload
    async def elicit(
        self: AskingCall, message: str, form: type[T], *, timeout: Seconds = ..., key: str | None = ...
    ) -> Accepted[T] | Declined | Cancelled: ...
    @overload
    async def elicit(
        self: AskingCall, message: str, form: Mapping[str, Any], *, timeout: Seconds = ..., key: str | None = ...
    ) -> Accepted[dict[str, Any]] | Declined | Cancelled: ...
    @to_be_awaited
    async def elicit(
        self: AskingCall,
        message: str,
        form: type[Any] | Mapping[str, Any],
        *,
        timeout: Seconds = UNSET,
        key: str | None = None,
    ) -> Answer[Any]:
        """Ask the user to fill in a form.

        Args:
            message: What the user reads.
            form: A class of plain fields, see `TypedForm`; or a schema.
            timeout: In seconds.
            key: The author's name for it.

        Raises:
            AskFailed: See `MCPServer.request_elicitation`.
        """
        make: Callable[[Any], Reads[Any]] = asks.Content if isinstance(form, Mapping) else typed_form
        return await _answer(self, message, partial(_made, make, form), timeout, key)

    @to_be_awaited
    async def confirm(self: AskingCall, message: str, *, timeout: Seconds = UNSET, key: str | None = None) -> bool:
        """Ask the user for yes or no; no answer is no.

        Raises:
            AskFailed: See `MCPServer.request_elicitation`.
        """
        answer = await _answer(self, message, one_field.confirmation, timeout, key)
        return isinstance(answer, Accepted) and answer.data

    @overload
    async def choose(
        self: AskingCall, message: str, options: type[E], *, timeout: Seconds = ..., key: str | None = ...
    ) -> E | None: ...
    @overload
    async def choose(
        self: AskingCall, message: str, options: Mapping[T, str], *, timeout: Seconds = ..., key: str | None = ...
    ) -> T | None: ...
    @overload
    async def choose(
        self: AskingCall, message: str, options: Sequence[T], *, timeout: Seconds = ..., key: str | None = ...
    ) -> T | None: ...
    @to_be_awaited
    async def choose(
        self: AskingCall, message: str, options: Any, *, timeout: Seconds = UNSET, key: str | None = None
    ) -> Any:
        """Ask the user for one of several options; None without an answer.

        Args:
            message: What the user reads.
            options: Strings; or a mapping from values to titles; or an `Enum` class.
            timeout: In seconds.
            key: The author's name for it.

        Raises:
            AskFailed: See `MCPServer.request_elicitation`.
        """
        return _or_none(await _answer(self, message, partial(one_field.choice, options), timeout, key))

    @overload
    async def choose_many(
        self: AskingCall,
        message: str,
        options: type[E],
        *,
        minimum: int | None = ...,
        maximum: int | None = ...,
        timeout: Seconds = ...,
        key: str | None = ...,
    ) -> list[E] | None: ...
    @overload
    async def choose_many(
        self: AskingCall,
        message: str,
        options: Mapping[T, str],
        *,
        minimum: int | None = ...,
        maximum: int | None = ...,
        timeout: Seconds = ...,
        key: str | None = ...,
    ) -> list[T] | None: ...
    @overload
    async def choose_many(
        self: AskingCall,
        message: str,
        options: Sequence[T],
        *,
        minimum: int | None = ...,
        maximum: int | None = ...,
        timeout: Seconds = ...,
        key: str | None = ...,
    ) -> list[T] | None: ...
    @to_be_awaited
    async def choose_many(
        self: AskingCall,
        message: str,
        options: Any,
        *,
        minimum: int | None = None,
        maximum: int | None = None,
        timeout: Seconds = UNSET,
        key: str | None = None,
    ) -> list[Any] | None:
        """Ask the user for any number of several options; None without an answer.

        Where the revision has no multiple choice (2025-06-18), each option is a yes or no of its own.

        Args:
            message: What the user reads.
            options: As `choose` takes them.
            minimum: How many must be chosen.
            maximum: How many may be.
            timeout: In seconds.
            key: The author's name for it.

        Raises:
            AskFailed: See `MCPServer.request_elicitation`.
        """
        limits = {"minItems": minimum, "maxItems": maximum}
        make = partial(one_field.choices, options, limits)
        return _or_none(await _answer(self, message, make, timeout, key))

    @to_be_awaited
    async def text(  # noqa: PLR0913 - the keywords of a question are its vocabulary
        self: AskingCall,
        message: str,
        *,
        min_length: int | None = None,
        max_length: int | None = None,
        format: Literal["email", "uri", "date", "date-time"] | None = None,
        default: str | None = None,
        timeout: Seconds = UNSET,
        key: str | None = None,
    ) -> str | None:
        """Ask the user for a text; None without an answer.

        Raises:
            AskFailed: See `MCPServer.request_elicitation`.
        """
        limits = {"minLength": min_length, "maxLength": max_length, "format": format}
        return _or_none(await _answer(self, message, partial(one_field.text, default, limits), timeout, key))

    @to_be_awaited
    async def number(
        self: AskingCall,
        message: str,
        *,
        minimum: float | None = None,
        maximum: float | None = None,
        default: float | None = None,
        timeout: Seconds = UNSET,
        key: str | None = None,
    ) -> float | None:
        """Ask the user for a number; None without an answer.

        Raises:
            AskFailed: See `MCPServer.request_elicitation`.
        """
        limits = {"minimum": minimum, "maximum": maximum}
        form = partial(one_field.number, float, default, limits)
        return _or_none(await _answer(self, message, form, timeout, key))

    @to_be_awaited
    async def integer(
        self: AskingCall,
        message: str,
        *,
        minimum: int | None = None,
        maximum: int | None = None,
        default: int | None = None,
        timeout: Seconds = UNSET,
        key: str | None = None,
    ) -> int | None:
        """Ask the user for a whole number; None without an answer.

        Raises:
            AskFailed: See `MCPServer.request_elicitation`.
        """
        limits = {"minimum": minimum, "maximum": maximum}
        form = partial(one_field.number, int, default, limits)
        return _or_none(await _answer(self, message, form, timeout, key))

    @to_be_awaited
    async def elicit_url(
        self: AskingCall,
        message: str,
        url: str,
        *,
        elicitation_id: str | None = None,
        timeout: Seconds = UNSET,
        key: str | None = None,
    ) -> Visit:
        """Ask the user to visit a page, for what must not go through the client: secrets, payments, consents.

        Whoever opens the page must be found to be the user who was asked (ELIC-28).

        Args:
            message: What the user reads: why.
            url: The page.  It must not say who the user is, nor let anybody in (ELIC-26).
            elicitation_id: The id that the page's end is told under; made up if None.
            timeout: In seconds.
            key: The author's name for it.

        Raises:
            AskFailed: See `MCPServer.request_elicitation`.
        """
        id = elicitation_id or os.urandom(16).hex()
        params = ElicitRequestURLParams(message=message, url=url, elicitationId=id)
        return Visit(self, (await asks.visit(self, params, timeout=timeout, key=key)).action, id)

    @to_be_awaited
    async def sample(  # noqa: PLR0913 - the keywords of a question are its vocabulary
        self: AskingCall,
        messages: Messages,
        *,
        max_tokens: int = 1024,
        system_prompt: str | None = None,
        model_preferences: ModelPreferences | None = None,
        temperature: float | None = None,
        stop_sequences: Sequence[str] | None = None,
        include_context: IncludeContext | None = None,
        metadata: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] | None = None,
        tool_choice: Literal["auto", "required", "none"] | None = None,
        timeout: Seconds = UNSET,
        key: str | None = None,
    ) -> CreateMessageResult:
        """Ask the client's model.

        Args:
            messages: The conversation; a text or a content block stands for a message of the user.
            max_tokens: How long the reply may be.
            system_prompt: A wish, as all that follows but the tools.
            model_preferences: Which model would be best.
            temperature: How free the model is.
            stop_sequences: Where it stops.
            include_context: What else the model is shown; not sent where the client did not declare
                that it can (2025-11-25 and later).
            metadata: For the model's provider.
            tools: What the model may use (2025-11-25 and later): it is the caller's to run them, and
                to ask again with the results.
            tool_choice: Whether it may, must, or must not.
            timeout: In seconds.
            key: The author's name for it.

        Raises:
            AskFailed: See `MCPServer.request_elicitation`.
        """
        with asks.legally:
            params = CreateMessageRequestParams(
                messages=sampling.messages_of(messages),
                maxTokens=max_tokens,
                systemPrompt=system_prompt,
                modelPreferences=model_preferences,
                temperature=temperature,
                stopSequences=None if stop_sequences is None else list(stop_sequences),
                includeContext=include_context,
                metadata=None if metadata is None else dict(metadata),
                tools=None if tools is None else list(tools),
                toolChoice=None if tool_choice is None else ToolChoice(mode=tool_choice),
            )
        return await sampling.sample(self, params, timeout=timeout, key=key)

    @to_be_awaited
    async def list_roots(self: AskingCall, *, timeout: Seconds = UNSET, key: str | None = None) -> list[Root]:
        """Return the directories that the client works in.

        They are asked for once in a session if the client tells of changes, and again after each.

        Raises:
            AskFailed: See `MCPServer.request_elicitation`.
        """
        return await roots.list_roots(self, timeout=timeout, key=key)

    @to_be_awaited
    async def require_within_roots(self: AskingCall, path: str | os.PathLike[str], *, timeout: Seconds = UNSET) -> Path:
        """Return the real path, links and `..` followed, if it is within the client's roots.

        Use what it returns: the path that was checked.  A path is taken as `open` would take it, a
        `file:` URI is decoded.

        Raises:
            McpError: -32602, it is outside.
            AskFailed: The client's roots cannot be known.
        """
        return await roots.within_roots(self, path, timeout=timeout)

    def wait(self, awaitable: Awaitable[T]) -> T:
        """Wait, in a plain `def` handler that runs in a worker thread: ``ctx.wait(ctx.confirm("Really?"))``.

        The thread's place is somebody else's as long as it waits.

        Raises:
            RuntimeError: This is no such thread: the event loop would never go on.
        """
        return wait(awaitable)


def _made(make: Callable[[Any], Reads[T]], form: Any, revision: str) -> Reads[T]:
    return make(form)


async def _answer(
    call: AskingCall, message: str, make: Callable[[str], Reads[T]], timeout: Seconds, key: str | None
) -> Accepted[T] | Declined | Cancelled:
    params = ElicitRequestParams(message=message, requestedSchema={})
    result, value = await asks.fill(call, params, make, timeout=timeout, key=key)
    if result.action == "accept":
        return Accepted(cast("T", value))
    return Declined() if result.action == "decline" else Cancelled()


def _or_none(answer: Answer[T]) -> T | None:
    return answer.data if isinstance(answer, Accepted) else None
