"""Which parameters of a handler are its `Context`, and what they are given.

Layer: L4.
"""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from msgspec import UNSET

from dedalus_mcp.server.context import Context, active_context, get_context

__all__ = ("context_for", "is_context")


def is_context(annotation: Any, default: Any = UNSET) -> bool:
    """Whether a parameter annotated so is given the `Context`, `Context[...]` too."""
    origin = get_origin(annotation)
    kind = annotation if origin is None else origin
    if isinstance(kind, type) and issubclass(kind, Context):
        return True
    if origin is Annotated:
        return is_context(get_args(annotation)[0])  # what else it has is anything
    return origin in {Union, UnionType} and any(is_context(part) for part in get_args(annotation))


def context_for(annotation: Any) -> Context | None:
    """Return the context for a parameter annotated so.

    Raises:
        LookupError: There is none, and the parameter cannot do without.
    """
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return context_for(parts[0])
    return active_context() if origin in {Union, UnionType} and NoneType in parts else get_context()
