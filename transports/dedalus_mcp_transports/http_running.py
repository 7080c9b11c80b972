"""The calls of legacy clients that run without a session, and what finds them again.

    open ──▶ running ──close──▶ forgotten
               ├── a reply finds it by the mark that its question's id begins with
               └── a cancellation finds it by the session's id and its own

Marks are random, so that nobody guesses the id of another client's question.

Layer: L2; imports `errors`, `messages` and `http_session` only.
"""

from __future__ import annotations

from collections.abc import Iterable
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Generic, TypeVar

from dedalus_mcp.errors import DedalusError
from dedalus_mcp.jsonrpc.messages import RequestId
from dedalus_mcp_transports.http_session import digestible

__all__ = ("Running", "TooManyCalls")

T = TypeVar("T")

_MARK_BYTES = 18  # random: 144 bits, which nobody guesses
_PROCESS_BYTES = 6  # enough to tell the processes behind one address apart


class TooManyCalls(DedalusError):
    """As many calls run as there may.

    Attributes:
        limit: That many.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit

    def __str__(self) -> str:
        return f"Too many calls: {self.limit} are running, which is the limit; try again later"


class _Entry(Generic[T]):
    __slots__ = ("keys", "owner", "value")

    def __init__(self, value: T, owner: bytes, keys: list[tuple[str, RequestId]]) -> None:
        self.value = value
        self.owner = owner
        self.keys = keys


class Running(Generic[T]):
    """The calls that run.  One task at a time calls it: its methods never await.

    Args:
        max_running: How many POSTs may be in the making at once.
    """

    def __init__(self, max_running: int) -> None:
        self._max = max_running
        self._process = token_urlsafe(_PROCESS_BYTES)
        self._by_mark: dict[str, _Entry[T]] = {}
        self._by_id: dict[tuple[str, RequestId], _Entry[T]] = {}  # 1 and "1" are different ids, and different keys

    def __len__(self) -> int:
        return len(self._by_mark)

    @property
    def values(self) -> list[T]:
        """What runs, oldest first."""
        return [entry.value for entry in self._by_mark.values()]

    def mark(self) -> str:
        """Return a new mark.

        Raises:
            TooManyCalls: `max_running` run already.
        """
        if len(self) >= self._max:
            raise TooManyCalls(self._max)
        return f"{self._process}.{token_urlsafe(_MARK_BYTES)}."

    def open(self, mark: str, value: T, owner: str | None, session: str | None, ids: Iterable[RequestId]) -> None:
        """Remember what runs under a mark until `close`.

        Args:
            mark: What the ids of its questions begin with.
            value: What it is.
            owner: The caller that was authenticated; None where nobody is.
            session: The id of its session; None without one: then nobody can cancel it, since ids
                of calls are no secret.
            ids: The ids of its calls.  One that is another's already stays that one's.
        """
        keys = [] if session is None else [(session, id) for id in ids]
        entry = self._by_mark[mark] = _Entry(value, digestible(owner), keys)
        for key in keys:
            self._by_id.setdefault(key, entry)

    def close(self, mark: str) -> None:
        """Forget it.  Idempotent."""
        entry = self._by_mark.pop(mark, None)
        if entry is None:
            return
        for key in entry.keys:
            if self._by_id.get(key) is entry:
                del self._by_id[key]

    def clear(self) -> list[T]:
        """Forget everything, and return it, oldest first."""
        values = self.values
        self._by_mark.clear()
        self._by_id.clear()
        return values

    def asked(self, id: RequestId | None, owner: str | None) -> T | None:
        """Return what asked the question with this id; None if it is over, or was another caller's."""
        entry = self._by_mark.get(_mark_of(id))
        return entry.value if entry is not None and compare_digest(entry.owner, digestible(owner)) else None

    def is_from_here(self, id: RequestId | None) -> bool:
        """Whether a question with this id can have been asked by this process."""
        return _mark_of(id).startswith(f"{self._process}.")

    def called(self, session: str | None, id: RequestId) -> T | None:
        """Return what answers this call of a session; None if that is over, or never was."""
        entry = None if session is None else self._by_id.get((session, id))
        return None if entry is None else entry.value


def _mark_of(id: RequestId | None) -> str:
    return id[: id.rfind(".") + 1] if isinstance(id, str) else ""
