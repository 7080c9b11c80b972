"""Where tokens and registrations stay between two requests, or two runs of a program.

    key    what it belongs to: "token https://host/mcp", "client https://issuer https://host/mcp"
    value  bytes with secrets in them

What is in the values, and which of them may be used with which server, is decided elsewhere
(`login`): a storage keeps and returns bytes, and shows them to nobody.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from typing import Protocol

from anyio.lowlevel import checkpoint

__all__ = ("MemoryTokenStorage", "TokenStorage", "locked")

MAX_ENTRIES = 1024
"""Entries that are kept in memory; the oldest goes first."""


class TokenStorage(Protocol):
    """Keeps tokens.  Whoever can read it can use them."""

    async def load(self, key: str) -> bytes | None:
        """Return what was saved under a key; None if there is nothing."""
        ...

    async def save(self, key: str, value: bytes | None) -> None:
        """Keep a value under a key in place of what was there; None forgets it.

        Raises:
            OSError: It cannot be kept.
        """
        ...


@asynccontextmanager
async def locked(storage: TokenStorage, key: str) -> AsyncGenerator[None]:
    """Keep others from renewing what is kept under a key, where a storage is for several processes.

    Such a storage has a method `lock`, of a key, that returns an async context manager.  Without it,
    two processes may use one refresh token at once, which many servers take for theft.

    Raises:
        OSError: It cannot be locked.
    """
    lock = getattr(storage, "lock", None)
    async with nullcontext() if lock is None else lock(key):
        yield


class MemoryTokenStorage:
    """Keeps tokens as long as the program runs."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"MemoryTokenStorage({len(self._held)} entries)"

    async def load(self, key: str) -> bytes | None:
        """See `TokenStorage`."""
        await checkpoint()
        return self._held.get(key)

    async def save(self, key: str, value: bytes | None) -> None:
        """See `TokenStorage`."""
        await checkpoint()
        self._held.pop(key, None)
        if value is not None:
            self._held[key] = value
            while len(self._held) > MAX_ENTRIES:
                del self._held[next(iter(self._held))]
