"""The decorators: `@tool`, `@prompt`, `@resource`, `@resource_template` and `@completion`.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast, overload

from dedalus_mcp.server.dependencies import Dependency
from dedalus_mcp.server.enabling import Enabled
from dedalus_mcp.server.hints import hint_of
from dedalus_mcp.server.pace import count_of, seconds_of
from dedalus_mcp.server.rendering import is_mapping
from dedalus_mcp.server.specs import (
    CapabilitySpec,
    CompletionSpec,
    PromptSpec,
    ResourceSpec,
    ResourceTemplateSpec,
    ToolSpec,
    attach,
    icons_of,
)
from dedalus_mcp.server.uri_templates import UriTemplate
from dedalus_mcp.types import Annotations, Icon, PromptArgument, ToolAnnotations
from dedalus_mcp.types.keys import meta_of
from dedalus_mcp.types.messages import CacheScope
from dedalus_mcp.types.wire import from_members, members_of

__all__ = ("completion", "prompt", "resource", "resource_template", "tool")

F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A", ToolAnnotations, Annotations)


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    name: str | None = None,
    *,
    description: str | None = None,
    title: str | None = None,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    annotations: ToolAnnotations | Mapping[str, Any] | None = None,
    icons: Sequence[Icon | Mapping[str, Any]] | None = None,
    meta: Mapping[str, Any] | None = None,
    inline: bool = False,
    tags: Iterable[str] = (),
    enabled: Enabled = True,
    timeout: float | None = None,
    max_concurrent: int | None = None,
) -> Callable[[F], F]: ...
def tool(  # noqa: PLR0913 - the keywords of a decorator are its vocabulary
    name: Any = None,
    *,
    description: str | None = None,
    title: str | None = None,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    annotations: ToolAnnotations | Mapping[str, Any] | None = None,
    icons: Sequence[Icon | Mapping[str, Any]] | None = None,
    meta: Mapping[str, Any] | None = None,
    inline: bool = False,
    tags: Iterable[str] = (),
    enabled: Enabled = True,
    timeout: float | None = None,
    max_concurrent: int | None = None,
) -> Any:
    """Make a function a tool that models can call.

    The function stays as it is.  Its signature gives the input schema, its return annotation
    the output schema.  A plain `def` runs in a worker thread.

    Args:
        name: What clients call it; the function's name if None.
        description: For the model; the docstring without its sections if None.
        title: For people.
        input_schema: A JSON Schema of the arguments, to be published as it is and enforced, in
            place of the signature's.  A function of one parameter that is no property takes all
            arguments as one mapping.  This and the next need the extra `dedalus-mcp[schema]`.
        output_schema: A JSON Schema of what it returns, likewise.
        annotations: Hints on what it does.
        icons: Icons as such or as mappings with `src` (or `url`).
        meta: The tool's `_meta`.
        inline: Run a plain `def` in the event loop; it must not block.
        tags: Words to choose tools by: see `MCPServer.allow_tools`.  Clients find them in `_meta`.
        enabled: False for a tool that is neither listed nor called; or a function, sync or async, that
            is asked each time with the server, or with the `Context` of who asks; or `Depends(...)`.
        timeout: How long a call may run, in seconds, what it depends on included; None for no limit.  Time
            in which the client is asked does not count.  A plain `def` is given up then: its thread
            runs on to its end.
        max_concurrent: How many calls may run at once; None for no limit.  The others wait, and their
            time begins later.  A call that asks the client lets others run meanwhile.

    Raises:
        TypeError: A value is of the wrong kind.
        ValueError: A bound leaves no room for one call, or a key of `meta` is none.
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
        input_schema=_schema(input_schema, "input_schema"),
        output_schema=_schema(output_schema, "output_schema"),
        annotations=_annotations(annotations, ToolAnnotations),
        icons=icons_of(icons),
        meta=meta_of(meta),
        inline=inline,
        tags=_tags(tags),
        enabled=_enabled(enabled),
        timeout=seconds_of(timeout),
        max_concurrent=count_of(max_concurrent),
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
        ValueError: A key of `meta` is none.
    """
    given: object = name
    if callable(given) or isinstance(given, classmethod):
        attach(name, PromptSpec())
        return name
    if not isinstance(name, str | None):
        raise TypeError(f"a prompt's name is a string, not {name!r:.80}")
    spec = PromptSpec(
        name=name,
        description=description,
        title=title,
        arguments=[PromptArgument.of(argument) for argument in arguments] if arguments else None,
        icons=icons_of(icons),
        meta=meta_of(meta),
    )
    return _attaching(spec)


def resource(  # noqa: PLR0913 - the keywords of a decorator are its vocabulary
    uri: str,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    mime_type: str | None = None,
    size: int | None = None,
    icons: Sequence[Icon | Mapping[str, Any]] | None = None,
    annotations: Annotations | Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
    inline: bool = False,
    ttl: float | None = None,
    cache_scope: CacheScope | None = None,
) -> Callable[[F], F]:
    """Make a function a resource that clients can read.

    The function stays as it is.  It takes nothing but a `Context`, and returns what is in the
    resource: see `dedalus_mcp.server.contents`.  A plain `def` runs in a worker thread.

    Args:
        uri: What clients read; compared as it is written, character by character.
        name: For programs; the URI if None.
        title: For people.
        description: For the model; the docstring without its sections if None.
        mime_type: Of what it returns; else ``text/plain`` for text, ``application/octet-stream``
            for bytes, ``application/json`` for the rest.
        size: In bytes.
        icons: Icons as such or as mappings with `src` (or `url`).
        annotations: Who it is for, as such or as a mapping.
        meta: The resource's `_meta`.
        inline: Run a plain `def` in the event loop; it must not block.
        ttl: How long a client of 2026-07-28 may keep what it read, in seconds; as configured if None.
        cache_scope: "public" if everybody reads the same, so that users may share it.

    Raises:
        TypeError: A value is of the wrong kind.
        ValueError: `uri` or a key of `meta` is none, or what is said of caching is not legal.
    """
    spec = ResourceSpec(
        uri=_uri(uri, "@resource('scheme://path')"),
        name=name,
        title=title,
        description=description,
        mime_type=mime_type,
        size=size,
        icons=icons_of(icons),
        annotations=_annotations(annotations, Annotations),
        meta=meta_of(meta),
        inline=inline,
        hint=hint_of(ttl, cache_scope),
    )
    return _attaching(spec)


def resource_template(  # noqa: PLR0913 - the keywords of a decorator are its vocabulary
    name: str,
    *,
    uri_template: str | None = None,
    title: str | None = None,
    description: str | None = None,
    mime_type: str | None = None,
    icons: Sequence[Icon | Mapping[str, Any]] | None = None,
    annotations: Annotations | Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
    any_path: bool = False,
    inline: bool = False,
    ttl: float | None = None,
    cache_scope: CacheScope | None = None,
) -> Callable[[F], F]:
    """Make a function a family of resources, one for each URI that fits a template.

    The function stays as it is.  Its parameters are the template's variables, decoded by their
    annotations; those of a query have defaults.  For what it returns see `resource`.  Where it
    raises `ResourceNotFound.of(uri)`, there is no such resource.

    Args:
        name: For programs; or the template itself, and then the name is the function's.
        uri_template: ``scheme://{x}``, where `{x}` is one segment, `{+x}` and `{x*}` are segments
            with slashes, and `{?x,y}` is a query: see `dedalus_mcp.server.uri_templates`.
        title: For people.
        description: For the model; the docstring without its sections if None.
        mime_type: See `resource`.
        icons: Icons as such or as mappings with `src` (or `url`).
        annotations: Who they are for, as such or as a mapping.
        meta: The template's `_meta`.
        any_path: Let `{+x}`, `{x*}` and the query be any text: else none is a way out of a
            directory, as ``../x`` and ``/x`` are, which are not found.
        inline: Run a plain `def` in the event loop; it must not block.
        ttl: How long a client of 2026-07-28 may keep what it read, in seconds; as configured if None.
        cache_scope: "public" if everybody reads the same, so that users may share it.

    Raises:
        TypeError: A value is of the wrong kind.
        ValueError: The template or a key of `meta` is none, or what is said of caching is not legal.
    """
    if uri_template is None:
        text, given = name, None
    else:
        text, given = uri_template, name
    UriTemplate(_uri(text, "@resource_template('name', uri_template='scheme://{x}')"))
    spec = ResourceTemplateSpec(
        name=given,
        uri_template=text,
        title=title,
        description=description,
        mime_type=mime_type,
        icons=icons_of(icons),
        annotations=_annotations(annotations, Annotations),
        meta=meta_of(meta),
        any_path=any_path,
        inline=inline,
        hint=hint_of(ttl, cache_scope),
    )
    return _attaching(spec)


@overload
def completion(*, prompt: str, argument: str | None = None) -> Callable[[F], F]: ...
@overload
def completion(*, resource: str, argument: str | None = None) -> Callable[[F], F]: ...
def completion(
    *, prompt: str | None = None, resource: str | None = None, argument: str | None = None
) -> Callable[[F], F]:
    """Make a function suggest values for the arguments of a prompt or of a resource template.

    The function stays as it is.  It takes the `CompletionArgument` that is being typed, and if it
    likes a `CompletionContext` with the arguments that are there already.  It returns the
    suggestions, best first: see `dedalus_mcp.server.completions`.  A plain `def` runs in the event
    loop: it must not block.

    Args:
        prompt: The prompt's name.
        resource: The URI template of the resource template.
        argument: The one argument that it completes; all that have no function of their own if None.

    Raises:
        ValueError: Both or none of `prompt` and `resource` are given.
    """
    if (prompt is None) == (resource is None):
        raise ValueError("Provide exactly one of 'prompt' or 'resource'.")
    return _attaching(CompletionSpec(prompt=prompt, resource=resource, argument=argument))


def _attaching(spec: CapabilitySpec) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        attach(function, spec)
        return function

    return decorate


def _annotations(annotations: A | Mapping[str, Any] | None, kind: type[A]) -> A | None:
    if annotations is None or isinstance(annotations, kind):
        return annotations
    try:
        return from_members(members_of(annotations, kind), kind)
    except TypeError as error:
        raise TypeError(f"annotations: {error}") from None


def _schema(schema: object, name: str) -> dict[str, Any] | None:
    if schema is None:
        return None
    if not is_mapping(schema):
        raise TypeError(f"{name} is a mapping, not {schema!r:.80}")
    return dict(schema)


def _tags(tags: object) -> frozenset[str]:
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise TypeError(f"tags are several strings, not {tags!r:.80}")
    words = list(cast("Iterable[object]", tags))
    if wrong := [word for word in words if not isinstance(word, str)]:
        raise TypeError(f"tags are strings; {wrong[0]!r:.80} is none")
    return frozenset(filter(None, (str(word).strip() for word in words)))


def _enabled(enabled: object) -> Enabled:
    if not (isinstance(enabled, bool | Dependency) or callable(enabled)):
        raise TypeError(f"enabled is True, False, a function that tells or Depends(...), not {enabled!r:.80}")
    return cast("Enabled", enabled)


def _uri(text: object, usage: str) -> str:
    if not isinstance(text, str):  # the decorator without parentheses
        raise TypeError(f"a resource needs a URI: {usage}, not {text!r:.80}")
    scheme, mark, _ = text.partition(":")
    legal = scheme[:1].isalpha() and scheme.isascii() and scheme.translate(_SCHEME_MARKS).isalnum()
    if not (mark and legal and text.isprintable()):
        raise ValueError(f"{text!r:.200} is no URI, which begins with a scheme (RFC 3986): {usage}")
    return text


_SCHEME_MARKS = str.maketrans("", "", "+-.")
