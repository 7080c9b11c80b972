"""Python values as JSON has them: dictionaries, lists, strings, finite numbers, true, false, null.

Layer: L1; imports `foreign` and msgspec only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

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
    if (path := _not_finite(result, name)) is not None:
        raise ValueError(f"{path}: NaN and Infinity have no JSON form")
    return result


def _not_finite(value: Any, path: str) -> str | None:
    """Return the path to a number that is not finite; paths are built on the way back only."""
    if isinstance(value, float):
        return None if math.isfinite(value) else path
    members: Iterable[tuple[Any, Any]]
    if is_object(value):
        members, form = value.items(), "{}.{}"
    elif is_array(value):
        members, form = enumerate(value), "{}[{}]"
    else:
        return None
    for key, member in members:
        if isinstance(member, float | dict | list | tuple) and (found := _not_finite(member, "")) is not None:
            return form.format(path, key) + found
    return None
