"""What is kept of calls that asked in rounds, for clients that lost the response to their last retry.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dedalus_mcp.server.binding import Binding
from dedalus_mcp.server.rounds import Rounds, Take
from dedalus_mcp.types import InputRequiredResult

__all__ = ("EndedCall", "EndedCalls")

# What one takes besides its outcome and its answers.
OVERHEAD_BYTES = 1024


class EndedCall(msgspec.Struct, gc=False):
    """A call whose handler is over.  Many are kept, so the garbage collector does not look into them.

    Attributes:
        outcome: The result, or the error to raise.
        number: Of its last round.
        rounds: The rounds that it took, packed.
        reply: What the last of them was asked with, if it waits for its answer yet.
        binding: Whose retries are told of it.
        deadline: When it is forgotten, by the event loop's clock.
        size: How many bytes it holds, about.
    """

    outcome: Raw | Exception
    number: int
    rounds: bytes
    reply: InputRequiredResult | None
    binding: Binding
    deadline: float
    size: int

    @classmethod
    def of(
        cls,
        outcome: Raw | Exception,
        rounds: Rounds,
        reply: InputRequiredResult | None,
        binding: Binding,
        deadline: float,
    ) -> EndedCall:
        """Return what is kept of a call; its rounds may be forgotten."""
        packed = rounds.packed()
        size = OVERHEAD_BYTES + len(packed) + (len(bytes(outcome)) if isinstance(outcome, Raw) else 0)
        return cls(outcome, rounds.number, packed, reply if rounds.unanswered else None, binding, deadline, size)

    def told_again(self, number: int, answers: Mapping[str, Any]) -> Any:
        """Return what a retry gets: nothing runs again.

        Raises:
            BadState: It is no retry of the last round, and none whose response may have got lost.
            McpError: -32602, an answer is no result of its method.
            Exception: What the handler raised.
        """
        rounds = Rounds.unpacked(self.rounds)
        if rounds.check_and_take(number, answers) is Take.BEFORE:
            return self.reply
        self.rounds = rounds.packed()  # it may have been the first answer to a question that came to nothing
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


class EndedCalls:
    """Those that are kept: the oldest go first.

    Args:
        max_bytes: How many bytes they may hold together.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max = max_bytes
        self._bytes = 0
        self._by_handle: dict[str, EndedCall] = {}  # the oldest first

    def keep(self, handle: str, call: EndedCall) -> None:
        """Keep one, if it fits."""
        self._by_handle[handle] = call
        self._bytes += call.size
        while self._bytes > self._max:
            self.forget(next(iter(self._by_handle)))

    def get(self, handle: str) -> EndedCall | None:
        """Return one; None if it is not kept."""
        return self._by_handle.get(handle)

    def forget(self, handle: str) -> None:
        """Keep it no more."""
        self._bytes -= self._by_handle.pop(handle).size

    def expire(self, now: float) -> None:
        """Forget those whose time is over: they stand in its order."""
        while self._by_handle:
            handle, call = next(iter(self._by_handle.items()))
            if call.deadline > now:
                return
            self.forget(handle)

    def next_deadline(self) -> float:
        """Return when the next one is forgotten; infinity if there is none."""
        return next(iter(self._by_handle.values())).deadline if self._by_handle else float("inf")
