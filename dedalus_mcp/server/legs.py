"""The requests that a call answers at this moment: its legs, the newest of which it is attached to.

Layer: L4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dedalus_mcp.jsonrpc.tasks import signal

if TYPE_CHECKING:
    from dedalus_mcp.server.context import Context

__all__ = ("Leg", "Legs")


class Leg:
    """A retry that waits for what the call leads to.

    Attributes:
        context: The request.
        settled: Set once it is to be answered.
        outcome: With what: a result, or the error to raise.
    """

    __slots__ = ("context", "outcome", "settled")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.settled = signal()
        self.outcome: Any = None


class Legs:
    """Those of one call; the first request, whose task the handler runs in, is not one.

    A retry that joins another in a process which runs the handler again has that one for its first.

    Args:
        context: The call, as its handler sees it: what belongs to a request is that of the first
            request until it is answered, and of the newest leg from then on.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._first = context.call
        self._legs: list[Leg] = []

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._legs)

    def attach(self, retry: Context) -> Leg:
        """A retry waits from now on."""
        leg = Leg(retry)
        self._legs.append(leg)
        if self._first.finished:
            self._context.attach(retry)
        return leg

    def detach(self, leg: Leg) -> bool:
        """A retry waits no more; return whether it has no outcome, and nobody is left who waits for one."""
        if leg not in self._legs:
            return False
        self._legs.remove(leg)
        if not self._first.finished:
            return False
        if self._legs:
            self._context.attach(self._legs[-1].context)
        return not self._legs

    def settle(self, outcome: Any) -> None:
        """Answer all of them."""
        legs, self._legs = self._legs, []
        for leg in legs:
            leg.outcome = outcome
            leg.settled.set()
