"""What a decorator knows about a function, and how the server finds it again.

A decorator returns the function as it was and attaches a *spec*.  The function is registered by
`server.collect(fn)`, or at once while `with server.binding():` is open.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Protocol, TypeAlias

import msgspec

from dedalus_mcp.schema.signature import remember
from dedalus_mcp.server.enabling import Enabled
from dedalus_mcp.server.hints import CacheHint
from dedalus_mcp.types import Annotations, Icon, PromptArgument, ToolAnnotations

__all__ = (
    "CapabilitySpec",
    "Collector",
    "CompletionSpec",
    "PromptSpec",
    "ResourceSpec",
    "ResourceTemplateSpec",
    "ToolSpec",
    "attach",
    "binding",
    "extract_spec",
    "icons_of",
    "undecorated",
)

_SPECS = "__dedalus_mcp_specs__"


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What `@tool` was told.  None: to be taken from the function."""

    name: str | None = None
    description: str | None = None
    title: str | None = None
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None
    annotations: ToolAnnotations | None = None
    icons: list[Icon] | None = None
    meta: dict[str, Any] | None = None
    inline: bool = False
    tags: frozenset[str] = frozenset()
    enabled: Enabled = True
    timeout: float | None = None
    max_concurrent: int | None = None


class PromptSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What `@prompt` was told.  None: to be taken from the function."""

    name: str | None = None
    description: str | None = None
    title: str | None = None
    arguments: list[PromptArgument] | None = None
    icons: list[Icon] | None = None
    meta: dict[str, Any] | None = None


class ResourceSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What `@resource` was told."""

    uri: str
    name: str | None = None
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None
    inline: bool = False
    hint: CacheHint | None = None


class ResourceTemplateSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What `@resource_template` was told."""

    name: str | None = None
    uri_template: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None
    any_path: bool = False
    inline: bool = False
    hint: CacheHint | None = None


class CompletionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What `@completion` was told: one of `prompt` and `resource`, and maybe one argument of it."""

    prompt: str | None = None
    resource: str | None = None
    argument: str | None = None


CapabilitySpec: TypeAlias = ToolSpec | PromptSpec | ResourceSpec | ResourceTemplateSpec | CompletionSpec
"""What a decorator attaches: one of these."""
_ORDER: tuple[type, ...] = (ToolSpec, PromptSpec, ResourceSpec, ResourceTemplateSpec, CompletionSpec)


class Collector(Protocol):
    """What functions can be registered with."""

    def collect(self, *functions: Callable[..., Any]) -> None:
        """Register decorated functions."""
        ...


binding: ContextVar[Collector | None] = ContextVar("dedalus_mcp.binding", default=None)
"""The server whose `binding()` is open."""


def attach(function: Any, spec: CapabilitySpec) -> None:
    """Remember `spec` on the function, and register it if a server is binding.

    A later spec of the same kind replaces the earlier one.

    Raises:
        TypeError: Nothing can be remembered on this kind of object.
    """
    carrier = getattr(function, "__func__", function)  # classmethod and staticmethod objects wrap one
    if isinstance(carrier, type):
        raise TypeError(f"cannot decorate {carrier!r}: a class hands on what it carries to its instances")
    try:
        # A dictionary of its own: `functools.wraps` hands on that of the wrapped function.
        setattr(carrier, _SPECS, {**getattr(carrier, _SPECS, {}), type(spec): spec})
    except (AttributeError, TypeError):
        raise TypeError(f"cannot decorate {function!r}: wrap it in a function") from None
    remember(carrier)
    collector = binding.get()
    if collector is not None:
        collector.collect(carrier if isinstance(function, staticmethod) else function)


def extract_spec(function: Any) -> CapabilitySpec | None:
    """Return the first spec on a function, in the order of `CapabilitySpec`; None if it has none."""
    specs: dict[type, CapabilitySpec] = getattr(function, _SPECS, None) or {}
    return next((specs[kind] for kind in _ORDER if kind in specs), None)


def undecorated(given: object) -> str:
    """Return why something cannot be collected, and what can be done about it."""
    name = f"{getattr(given, '__name__', given)!s:.80}"
    if isinstance(given, ModuleType):
        cure = "For all of a module there is collect_from(module)."
    elif isinstance(given, list | tuple):
        cure = "Collect its items: collect(*functions)."
    elif hasattr(given, "collect"):
        cure = "Another server is included: include(server, prefix=...)."
    else:
        cure = "Decorate with @tool, @prompt, @resource, @resource_template or @completion."
    return f"'{name}' has no Dedalus MCP metadata. {cure}"


def icons_of(icons: Sequence[Icon | Mapping[str, Any]] | None) -> list[Icon] | None:
    """Return icons given as such or as mappings; None if there are none.

    Raises:
        TypeError: One of them is no icon.
    """
    return [Icon.of(icon) for icon in icons] if icons else None
