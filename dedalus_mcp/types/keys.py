"""Names that several parties give without asking each other: keys of `_meta`, ids of extensions.

    com.example/name        a prefix of dotted labels, and a name
    name                    in `_meta` alone: extensions have a prefix

Layer: L1; imports nothing of this package.
Source: MCP 2026-07-28, basic, "_meta", and basic/versioning, "Extensions"; META-12, VER-17.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ("extensions_of", "is_meta_key", "meta_of")

# Strings, not compiled: most programs that import this name nothing.
_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PREFIX = rf"{_LABEL}(?:\.{_LABEL})*/"
_NAME = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"


def is_meta_key(key: str) -> bool:
    """Whether that may be a key of `_meta`."""
    return re.fullmatch(rf"(?:{_PREFIX})?{_NAME}", key) is not None


def meta_of(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the `_meta` of a definition as it was given; None if there is none.

    Raises:
        ValueError: A key is none.
    """
    for key in given or ():
        if not (isinstance(key, str) and is_meta_key(key)):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers err
            raise ValueError(f"a key of meta is a name of A-Z a-z 0-9 _ . -, or 'com.example/name', not {key!r:.80}")
    return dict(given) if given else None


def extensions_of(given: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Any] | None:
    """Return extensions, as they are declared: their settings by id; None if there are none.

    Raises:
        ValueError: An id is none.
        TypeError: The settings of one are no mapping; an empty one says that it needs none.
    """
    for id, settings in (given or {}).items():
        if not (is_meta_key(id) and "/" in id):
            raise ValueError(f"an extension's id has a prefix and a name, as 'com.example/name', unlike {id!r:.80}")
        if not isinstance(settings, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers err
            raise TypeError(f"the settings of the extension {id!r} are a mapping, not {settings!r:.80}")
    return {id: dict(settings) for id, settings in given.items()} if given else None
