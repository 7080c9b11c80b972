"""The official `mcp` package's own error, where that package is there: ours are then instances of it too.

Nothing of it is ever imported here: whether it is there is looked up when an error is raised.

Layer: L0.
"""

from __future__ import annotations

import sys
from typing import Any, TypeVar

__all__ = ("also_official", "own_class", "restore")

E = TypeVar("E", bound=Exception)

_bridges: dict[tuple[type, type], type] = {}


def also_official(cls: type[E], ours: type[Exception]) -> type[E]:
    """Return `cls`, or a subclass of it that is also the official package's error, if that is imported.

    Args:
        cls: A class of ours.
        ours: The base of all of them: what is one already needs nothing.
    """
    module = sys.modules.get("mcp.shared.exceptions")
    official: Any = getattr(module, "McpError", None) or getattr(module, "MCPError", None)
    if official is None or issubclass(cls, official) or issubclass(official, ours):
        return cls
    if (cls, official) not in _bridges:
        members = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "_bridged": cls}
        try:
            _bridges[cls, official] = type(cls.__name__, (cls, official), members)
        except TypeError:  # a class that cannot be subclassed just so; raising it must work all the same
            _bridges[cls, official] = cls
    return _bridges[cls, official]


def own_class(error: Exception) -> type[Exception]:
    """Return the class of an error without what `also_official` has made of it."""
    found: type[Exception] = vars(type(error)).get("_bridged", type(error))
    return found


def restore(cls: type[E], args: tuple[Any, ...]) -> E:
    """Make an error again without `__init__`, whose arguments a subclass may have changed: for pickle and copy."""
    return cls.__new__(cls, *args)
