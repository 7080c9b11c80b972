"""Ids of parameters that are the same in every run, so that a test can be named, or run in another process."""

from __future__ import annotations

import re
from typing import Any, cast

__all__ = ("shown",)


def shown(value: object) -> str:
    """Its repr, without addresses and with sets in order."""
    if isinstance(value, set | frozenset):
        value = sorted(cast("set[Any]", value), key=repr)
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
