"""The decorators: `@tool` and `@prompt`, with and without parentheses where they need no name.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

import msgspec

from dedalus_mcp.server.specs import PromptSpec, ToolSpec, attach, icons_of
from dedalus_mcp.types import Icon, PromptArgument, ToolAnnotations

__all__ = ("prompt", "tool")

F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    name: str | None = None,
    *,
    description: str | None = None,
    title: str | None = None,
    annotations: ToolAnnotations | Mapping[str, Any] | None = None,
    icons: Sequence[Icon | Mapping[str, Any]] | None = None,
    meta: Mapping[str, Any] | None = None,
    inline: bool = False,
) -> Callable[[F], F]: ...
def tool(  # noqa: PLR0913 - the keywords of a decorator are its vocabulary
    name: Any = None,
    *,
    description: str | None = None,
    title: str | None = None,
    annotations: ToolAnnotations | Mapping[str, Any] | None = None,
    icons: Sequence[Icon | Mapping[str, Any]] | None = None,
    meta: Mapping[str, Any] | None = None,
    inline: bool = False,
) -> Any:
    """Make a function a tool that models can call.

    The function stays as it is.  Its signature gives the input schema, its return annotation
    the output schema.  A plain `def` runs in a worker thread.

    Args:
        name: What clients call it; the function's name if None.
        description: For the model; the docstring without its sections if None.
        title: For people.
        annotations: Hints on what it does.
        icons: Icons as such or as mappings with `src` (or `url`).
        meta: The tool's `_meta`.
        inline: Run a plain `def` in the event loop; it must not block.

    Raises:
        TypeError: A value is of the wrong kind.
    """
    given: object = name
    if callable(given) or isinstance(given, classmethod):
        attach(name, ToolSpec())
        return name
    if not isinstance(name, str | None):
        raise TypeError(f"a tool's name is a string, not {name!r:.80}")
    spec = ToolSpec(
        name=name,
        description=description,
        title=title,
        annotations=_annotations(annotations),
        icons=icons_of(icons),
        meta=dict(meta) if meta else None,
        inline=inline,
    )
    return _attaching(spec)


@overload
def prompt(function: F, /) -> F: ...
@overload
def prompt(
    name: str | None = None,
    *,
    description: str | None = None,
    title: str | None = None,
    arguments: Sequence[PromptArgument | Mapping[str, Any]] | None = None,
    icons: Sequence[Icon | Mapping[str, Any]] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Callable[[F], F]: ...
def prompt(
    name: Any = None,
    *,
    description: str | None = None,
    title: str | None = None,
    arguments: Sequence[PromptArgument | Mapping[str, Any]] | None = None,
    icons: Sequence[Icon | Mapping[str, Any]] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Any:
    """Make a function the renderer of a prompt that users can pick.

    The function stays as it is.  It takes the mapping of arguments, all of them strings; or
    parameters of its own, each of which is read from its string as its annotation says.  What it
    may return: see `dedalus_mcp.server.rendering`.

    Args:
        name: What clients ask for; the function's name if None.
        description: For people; the docstring without its sections if None.
        title: For people, short.
        arguments: The arguments it takes, as such or as mappings with `name`; the function's
            own parameters if None.
        icons: Icons as such or as mappings with `src` (or `url`).
        meta: The prompt's `_meta`.

    Raises:
        TypeError: A value is of the wrong kind.
    """
    if callable(name):
        attach(name, PromptSpec())
        return name
    spec = PromptSpec(
        name=name,
        description=description,
        title=title,
        arguments=[PromptArgument.of(argument) for argument in arguments] if arguments else None,
        icons=icons_of(icons),
        meta=dict(meta) if meta else None,
    )
    return _attaching(spec)


def _attaching(spec: ToolSpec | PromptSpec) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        attach(function, spec)
        return function

    return decorate


def _annotations(annotations: ToolAnnotations | Mapping[str, Any] | None) -> ToolAnnotations | None:
    if annotations is None or isinstance(annotations, ToolAnnotations):
        return annotations
    try:
        return msgspec.convert(annotations, ToolAnnotations)
    except msgspec.ValidationError as error:
        raise TypeError(f"annotations: {error}") from None
