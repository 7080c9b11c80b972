"""What is kept of calls that asked in rounds, for clients that lost the response to their last retry.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from dedalus_mcp.server.binding import Binding
from dedalus_mcp.server.rounds import Rounds, Take
from dedalus_mcp.types import InputRequiredResult

__all__ = ("EndedCall", "EndedCalls")

# What one takes besides its outcome and its answers.
OVERHEAD_BYTES = 1024


class EndedCall:
    """A call whose handler is over.

    Args:
        outcome: The result, or the error to raise.
        rounds: The rounds that it took; not changed any more.
        reply: What the last of them was asked with.
        binding: Whose retries are told of it.
        deadline: When it is forgotten, by the event loop's clock.

    Attributes:
        number: Of its last round.
        size: How many bytes it holds, about.
    """

    __slots__ = ("_rounds", "binding", "deadline", "number", "outcome", "reply", "size")

    def __init__(
        self,
        outcome: Raw | Exception,
        rounds: Rounds,
        reply: InputRequiredResult | None,
        binding: Binding,
        deadline: float,
    ) -> None:
        self.outcome = outcome
        self.number = rounds.number
        self.reply = reply if rounds.unanswered else None
        self._rounds = rounds.packed()
        self.binding = binding
        self.deadline = deadline
        self.size = OVERHEAD_BYTES + len(self._rounds) + (len(bytes(outcome)) if isinstance(outcome, Raw) else 0)

    def told_again(self, number: int, answers: Mapping[str, Any]) -> Any:
        """Return what a retry gets: nothing runs again.

        Raises:
            BadState: It is no retry of the last round, and none whose response may have got lost.
            McpError: -32602, an answer is no result of its method.
            Exception: What the handler raised.
        """
        rounds = Rounds.unpacked(self._rounds)
        if rounds.check_and_take(number, answers) is Take.BEFORE:
            return self.reply
        self._rounds = rounds.packed()  # it may have been the first answer to a question that came to nothing
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
