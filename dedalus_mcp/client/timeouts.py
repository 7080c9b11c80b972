"""How long a client waits: what may be given, and what stands for nothing given.

Layer: L4.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from dedalus_mcp.jsonrpc.clock import Timeout

__all__ = ("DEFAULT", "Default", "TimeoutLike", "timeout_of")

TimeoutLike: TypeAlias = float | Timeout | None
"""Seconds, or more than that said; None for no limit."""


class Default:
    """Stands for a timeout that was not given, since None means none."""

    def __repr__(self) -> str:
        return "<the client's own>"


DEFAULT: Final = Default()


def timeout_of(timeout: TimeoutLike) -> Timeout | None:
    """Return a timeout as such.

    Raises:
        TypeError: It is none.
    """
    if timeout is None or isinstance(timeout, Timeout):
        return timeout
    if not isinstance(timeout, int | float):  # pyright: ignore[reportUnnecessaryIsInstance] - from untyped code
        raise TypeError(f"timeout is a number of seconds, a Timeout or None, not {timeout!r}")
    return Timeout(timeout)
