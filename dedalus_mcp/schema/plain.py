"""Python values as JSON has them: dictionaries, lists, strings, finite numbers, true, false, null.

Layer: L1; imports `foreign`, `shapes` and msgspec only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from dedalus_mcp.schema.foreign import encode
from dedalus_mcp.schema.shapes import is_array, is_object

__all__ = ("plain",)


def plain(value: Any, name: str) -> Any:
    """Return a value as JSON has it.

    Args:
        value: Any value.
        name: What errors call it.

    Raises:
        ValueError: It has no JSON form; the text says where.
    """
    try:
        result = msgspec.to_builtins(value, enc_hook=encode, str_keys=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from error
    except RecursionError:
        raise ValueError(f"{name}: nested too deeply, or contains itself") from None
    if not _finite(result):
        raise ValueError(f"{_culprit(result, name)}: NaN and Infinity have no JSON form")
    return result


def _finite(value: object) -> bool:
    """Whether every number is finite, in a value of built-in types only."""
    if isinstance(value, float):
        return math.isfinite(value)
    inner: Iterable[object] = ()
    if isinstance(value, dict):
        inner = cast("dict[str, object]", value).values()
    elif isinstance(value, list | tuple):
        inner = cast("list[object]", value)
    for item in inner:
        if isinstance(item, float | dict | list | tuple) and not _finite(cast("object", item)):
            return False
    return True


def _culprit(value: Any, path: str) -> str:
    """Return the path to the first number that is not finite; there is one."""
    if is_object(value):
        name = next(name for name, member in value.items() if not _finite(member))
        return _culprit(value[name], f"{path}.{name}")
    if is_array(value):
        index = next(index for index, item in enumerate(value) if not _finite(item))
        return _culprit(value[index], f"{path}[{index}]")
    return path
