"""The secrets under which a server seals what its clients keep for it.

Layer: L0; imports nothing of this package.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ("MIN_KEY_BYTES", "key_bytes")

MIN_KEY_BYTES = 32
"""Bytes in a key, at least: as many as what is derived from it has."""


def key_bytes(keys: Sequence[bytes | str]) -> list[bytes]:
    """Return keys as bytes; text counts as its UTF-8.

    Raises:
        ValueError: They are no sequence of keys, or one of them is too short; the text shows none.
    """
    if isinstance(keys, bytes | str):
        raise ValueError("state_keys is a list of keys, not one key")
    found: list[bytes] = []
    for number, key in enumerate[object](keys):
        raw = key.encode() if isinstance(key, str) else key
        if not isinstance(raw, bytes):
            raise ValueError(f"state_keys[{number}] must be bytes or str, not {type(raw).__name__}")
        if len(raw) < MIN_KEY_BYTES:
            raise ValueError(f"state_keys[{number}] has {len(raw)} bytes; {MIN_KEY_BYTES} are the least")
        found.append(raw)
    return found
