"""The calls that are parked: found again by their state, bounded, and ended when nobody comes back.

    add ──▶ runs ──park──▶ waits for its retry ──deadline──▶ cancelled like any call
              ◀── find ──────────┘
    end ──▶ its outcome is kept for a while: the response to the last retry may have got lost

What a state is good for is checked at every use; a state that fails any check gets one answer,
and the log has the reason.

Layer: L4.
Source: MCP 2026-07-28, basic/patterns, "Multi round-trip requests".
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from hmac import compare_digest
from typing import TYPE_CHECKING

import anyio

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_PARAMS, AskFailed, McpError
from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp.server.config import ParkingConfig
from dedalus_mcp.server.parked_call import ParkedCall
from dedalus_mcp.server.request_state import BadState, State, StateWriter, request_digest
from dedalus_mcp.server.seal import Seal

if TYPE_CHECKING:
    from dedalus_mcp.server.context import Context

__all__ = ("Parking",)

logger = logging.getLogger("dedalus_mcp")

# How long handlers may take to clean up once the server has ended them, in seconds.
CLOSING_SECONDS = 1.0
# How much longer than its time a call may wait: many that expire one after the other are ended at once.
SLACK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class _Entry:
    """A call, and what its states are good for: this owner's retry of this very request."""

    call: ParkedCall
    owner: Hashable
    request: bytes


class Parking:
    """The calls of one server in one event loop that have asked, and are not over.

    Args:
        config: The bounds.
        server: The server's name.
        seal: Where states must be good in other processes, too; None where they need not.

    Attributes:
        tasks: Where the rounds of its calls are collected.
    """

    def __init__(self, config: ParkingConfig, server: str, seal: Seal | None = None) -> None:
        self.tasks = Tasks()
        self._config = config
        self._server = server
        self._states = StateWriter(server, seal)
        self._calls: dict[str, _Entry] = {}
        self._over: dict[str, _Entry] = {}  # the oldest first
        self._owners: Counter[Hashable] = Counter()
        self._outcome_bytes = 0
        self._ended: anyio.Event | None = None
        self._reaper = _Reaper(self)

    def __len__(self) -> int:
        """How many calls have asked and are not over."""
        return len(self._calls)

    @property
    def sealed(self) -> bool:
        """Whether states are good in other processes, too."""
        return self._states.seal is not None

    # The life of a call.

    def add(self, call: ParkedCall, context: Context) -> None:
        """Take a call that asks for the first time here.

        Raises:
            AskFailed: -32603, there are too many; nobody else's call makes room.
        """
        owner = _owner(context)
        if len(self._calls) >= self._config.max_parked:
            raise AskFailed(INTERNAL_ERROR, f"too many parked calls: {self._config.max_parked} are the limit")
        if owner is not None and self._owners[owner] >= self._config.max_parked_by_principal:
            limit = self._config.max_parked_by_principal
            raise AskFailed(INTERNAL_ERROR, f"too many parked calls of one client: {limit} are the limit")
        self._calls[call.handle] = _Entry(call, owner, _request(context))
        self._owners[owner] += 1

    def park(self, call: ParkedCall, context: Context) -> str:
        """A call waits for its retry from now on; return the state that this is to bring."""
        left = min(self._config.round_seconds, call.born + self._config.call_seconds - time.time())
        call.deadline = anyio.current_time() + left
        self._reaper.wake_at(call.deadline)
        outcomes = dict(call.journal.outcomes) if self.sealed else None
        state = State(call.handle, call.rounds.number, call.born, time.time() + left, call.rounds.asked, outcomes)
        return self._states.write(state, self._calls[call.handle].request, _principal(context))

    def end(self, call: ParkedCall) -> None:
        """The handler of a call is over; its outcome is kept, if a retry may still ask for it."""
        entry = self._calls.pop(call.handle)
        self._owners[entry.owner] -= 1
        if not self._owners[entry.owner]:
            del self._owners[entry.owner]
        if call.rounds.number > 0 and call.cancelled is None:
            self._over[call.handle] = entry
            self._outcome_bytes += call.outcome_bytes
            call.deadline = anyio.current_time() + self._config.outcome_seconds
            self._reaper.wake_at(call.deadline)
            while self._outcome_bytes > self._config.max_outcome_bytes:
                self._forget(next(iter(self._over)))
        if self._ended is not None:
            self._ended.set()

    async def aclose(self) -> None:
        """End the calls of HTTP clients, and return when they are over or have had their time.

        Those on a connection of its own end with that.
        """
        for entry in list(self._calls.values()):
            if entry.call.first.channel.carrier is not None:
                entry.call.give_up("the server is shutting down")
        with anyio.move_on_after(CLOSING_SECONDS, shield=True):
            while any(entry.call.cancelled for entry in self._calls.values()):
                self._ended = anyio.Event()
                await self._ended.wait()

    def _forget(self, handle: str) -> None:
        self._outcome_bytes -= self._over.pop(handle).call.outcome_bytes

    # Retries.

    def find(self, text: str, context: Context) -> tuple[ParkedCall, int]:
        """Return the call that a retry belongs to, and the round that it answers.

        A call whose `first` is the retry itself has to `take_over`, and to be run again from its top.

        Raises:
            McpError: -32602, there is none, or it is not this client's, or not this request's.
        """
        try:
            request = _request(context)
            state = self._states.read(text, request, _principal(context))
            entry = self._calls.get(state.handle) or self._over.get(state.handle)
            if entry is not None and not (entry.call.over and state.round > entry.call.rounds.number):
                self._check(entry, request, _owner(context))
                if state.outcomes is not None and state.round > entry.call.rounds.number:
                    entry.call.catch_up(state)
                return entry.call, state.round
            if state.outcomes is None:
                raise BadState("it has expired, or its call is over")
        except BadState as bad:
            raise self.rejected(str(bad)) from None
        if entry is not None:
            self._forget(state.handle)
        return ParkedCall(context, self, state), state.round

    def _check(self, entry: _Entry, request: bytes, owner: Hashable) -> None:
        if entry.owner != owner:
            raise BadState("it belongs to another client")
        if not compare_digest(entry.request, request):
            raise BadState("it belongs to a request with another method, target or arguments")
        if entry.call.cancelled is not None:
            raise BadState(f"its call is being ended: {entry.call.cancelled}")

    def rejected(self, reason: str) -> McpError:
        """Return the one error of every state that is not good, and log why it is not."""
        logger.info("server %r rejected a requestState: %s", self._server, reason)
        return McpError(INVALID_PARAMS, "Invalid or expired requestState")

    # Deadlines.

    def next_deadline(self) -> float | None:
        """Return when something expires next, by the event loop's clock; None if nothing will."""
        deadlines = [entry.call.deadline for entries in (self._calls, self._over) for entry in entries.values()]
        soonest = min(deadlines, default=float("inf"))
        return None if soonest == float("inf") else soonest

    def expire(self, now: float) -> None:
        """End what has expired, and forget the outcomes that nobody asks for any more."""
        for entry in list(self._calls.values()):
            if entry.call.deadline <= now:
                entry.call.deadline = float("inf")
                entry.call.give_up("nobody came back with an answer in time")
        for handle in [handle for handle, entry in self._over.items() if entry.call.deadline <= now]:
            self._forget(handle)


class _Reaper:
    """Expires what is parked: one task for all calls, only while there are any."""

    def __init__(self, parking: Parking) -> None:
        self._parking = parking
        self._wakes_at = float("inf")
        self._sooner: anyio.Event | None = None

    def wake_at(self, deadline: float) -> None:
        """Something expires then."""
        if self._sooner is None:
            self._sooner = anyio.Event()
            self._parking.tasks.start(self._reap, self._reaped, detached=True)
        elif deadline + SLACK_SECONDS < self._wakes_at:
            self._sooner.set()

    async def _reap(self) -> None:
        while (deadline := self._parking.next_deadline()) is not None:
            self._wakes_at = deadline + SLACK_SECONDS
            self._sooner = anyio.Event()
            with anyio.move_on_after(self._wakes_at - anyio.current_time()):
                await self._sooner.wait()
            self._parking.expire(anyio.current_time())

    def _reaped(self) -> None:
        self._sooner = None


def _owner(context: Context) -> Hashable:
    """Whose a call is: on a connection of its own the connection's, over HTTP whoever proved to have sent it."""
    carrier = context.call.channel.carrier
    return context.call.peer if carrier is None else carrier.principal


def _principal(context: Context) -> str | None:
    carrier = context.call.channel.carrier
    return None if carrier is None else carrier.principal


def _request(context: Context) -> bytes:
    return request_digest(context.call.method, context.call.params)
