"""Cancellations that came before their calls: each is a POST of its own, and one overtakes another.

    a cancellation ──hear──▶ its call runs: nothing to do here
                         └─▶ it does not ──▶ kept for a moment ──its call comes──▶ that is not wanted
                                                            └──nothing comes──▶ forgotten

Most of them are late instead: their calls were answered meanwhile.  That cannot be told, so none is
kept for long, and one ends no more than one call.  It is a session's own: the id of a session is a
secret, those of calls are not.

Layer: L2; imports `messages` and `http_posted` only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from dedalus_mcp.jsonrpc.codec import Decoded
from dedalus_mcp.jsonrpc.messages import Call, Malformed, Message, RequestId
from dedalus_mcp_transports.http_posted import cancellations_in, is_replied_to

__all__ = ("KEPT_SECONDS", "MAX_ID", "MAX_KEPT", "EarlyCancellations")

KEPT_SECONDS = 5.0
"""How long one is kept: calls are overtaken by milliseconds, and some clients use an id again."""
MAX_KEPT = 1024
"""How many are kept; then the oldest goes."""
MAX_ID = 256
"""Characters in the id of a call, at most, that is kept."""

_Key: TypeAlias = tuple[str, RequestId]


class EarlyCancellations:
    """Those of all sessions of one server.  One task at a time calls it: its methods never await.

    Args:
        clock: Seconds that never go back.
    """

    __slots__ = ("_clock", "_kept")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[_Key, float] = {}  # when each came, oldest first; 1 and "1" are different keys

    def __len__(self) -> int:
        return len(self._kept)

    def sift(self, session: str, message: Decoded, runs: Callable[[RequestId], bool]) -> Decoded | None:
        """Take what a POST holds before anybody else does: leave out calls as `wanted` does, and `hear` the rest."""
        left = self.wanted(session, message)
        if left is not None and not is_replied_to(left):
            self.hear(session, left, runs)
        return left

    def hear(self, session: str, message: Decoded, runs: Callable[[RequestId], bool]) -> None:
        """Keep the cancellations in a message that holds no calls.

        Args:
            session: Whose they are.
            message: The message, or batch; it is still to be taken.
            runs: Whether a call with that id runs.
        """
        for _, id in cancellations_in(message):
            if not runs(id) and not (isinstance(id, str) and len(id) > MAX_ID):
                self._keep((session, id))

    def wanted(self, session: str, message: Decoded) -> Decoded | None:
        """Return what is left of a message without the calls that were cancelled before; None if nothing is."""
        if not self._kept:
            return message
        self._forget_old()
        if not isinstance(message, list):
            return None if self._is_cancelled(session, message) else message
        left = [item for item in message if not self._is_cancelled(session, item)]
        return message if len(left) == len(message) else left or None

    def _keep(self, key: _Key) -> None:
        self._forget_old()
        self._kept.pop(key, None)
        self._kept[key] = self._clock()
        if len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]

    def _forget_old(self) -> None:
        oldest = self._clock() - KEPT_SECONDS
        while self._kept:
            key = next(iter(self._kept))
            if self._kept[key] > oldest:
                break
            del self._kept[key]

    def _is_cancelled(self, session: str, item: Message | Malformed) -> bool:
        if not isinstance(item, Call) or item.method == "initialize":  # which nobody may cancel
            return False
        return self._kept.pop((session, item.id), None) is not None
