"""Cuts an input into what a target needs, so that any bytes will do and a corpus can be read by people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

__all__ = ("chunks", "headers", "json", "json_object", "lines", "parts")

CUT = b"\n---\n"

SMALL = 31
"""How many pieces a stream is cut into, about: every byte of a short one, and enough of a long one."""


def parts(data: bytes, count: int) -> list[bytes]:
    """Return what stands between lines of three hyphens: so many parts, the missing ones empty."""
    found = data.split(CUT, count - 1)
    return found + [b""] * (count - len(found))


def lines(data: bytes, count: int) -> list[str]:
    """Return so many lines as text, each byte a character; the last is all that is left."""
    found = data.decode("latin-1").split("\n", count - 1)
    return found + [""] * (count - len(found))


def headers(data: bytes) -> list[tuple[bytes, bytes]]:
    """Return the headers that stand there, one a line, as a web server hands them over."""
    pairs = (line.partition(b":") for line in data.split(b"\n") if line)
    return [(name.strip().lower(), value.strip(b" \t\r")) for name, _, value in pairs]


def chunks(data: bytes) -> Iterator[list[bytes]]:
    """Return the ways to cut a stream that are worth a try: not at all, and in small pieces first or last."""
    yield [data]
    few = len(data) % SMALL
    yield [*_cut(data[:few], 1), data[few:]]
    yield [data[:few], *_cut(data[few:], 1 + max(len(data) // SMALL, sum(data[:3]) % 5))]


def json(data: bytes) -> Any:
    """Return the JSON that stands there, as whatever comes over a wire is read; None for what is none."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None


def json_object(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that stands there; None if it is none."""
    found = json(data)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def _cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]
