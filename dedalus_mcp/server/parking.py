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
from collections.abc import Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from msgspec import Raw

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_PARAMS, AskFailed, McpError
from dedalus_mcp.jsonrpc.tasks import Tasks, now
from dedalus_mcp.server.binding import Binding
from dedalus_mcp.server.config import ParkingConfig
from dedalus_mcp.server.ended_call import EndedCall, EndedCalls
from dedalus_mcp.server.parked_call import ParkedCall
from dedalus_mcp.server.quiet import Quiet
from dedalus_mcp.server.replaying import Handle, apart, run_apart
from dedalus_mcp.server.request_state import State, StateWriter
from dedalus_mcp.server.rounds import BadState
from dedalus_mcp.server.seal import Seal
from dedalus_mcp.types import InputRequiredResult
from dedalus_mcp.types.messages import InputResponseRequestParams

if TYPE_CHECKING:
    from dedalus_mcp.server.context import Context

__all__ = ("Parking",)

logger = logging.getLogger("dedalus_mcp")

# How long handlers may take to clean up once the server has ended them, in seconds.
CLOSING_SECONDS = 1.0
# How much longer than its time a call may wait: many that expire one after the other are ended at once.
SLACK_SECONDS = 0.5


class Parking:
    """The calls of one server in one event loop that have asked, and are not over.

    Args:
        config: The bounds.
        server: The server's name.
        seal: Where states must be good in other processes, too; None where they need not.

    Attributes:
        tasks: What its calls need done besides their handlers.
        quiet: Tells its calls when their rounds are due.
    """

    def __init__(self, config: ParkingConfig, server: str, seal: Seal | None = None) -> None:
        self.tasks = Tasks()
        self.quiet = Quiet(self.tasks)
        self._config = config
        self._server = server
        self._states = StateWriter(server, seal)
        self._calls: dict[str, tuple[ParkedCall, Binding]] = {}
        self._over = EndedCalls(config.max_outcome_bytes)
        self._owners: dict[Hashable, int] = {}
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

    def begin(self, context: Context, offered: Mapping[str, Any] | None = None) -> ParkedCall:
        """Return the asker of a call.

        Args:
            context: The call, as its handler sees it.
            offered: Answers that came with the call itself, by the names of questions not asked yet.
        """
        return ParkedCall(context, self, offered=offered)

    async def begin_apart(self, context: Context, offered: Mapping[str, Any] | None, handle: Handle) -> Any:
        """Answer a call whose handler runs in a task of its own: its first request, too, ends when it is answered.

        Args:
            context: The call, as its first request sees it.
            offered: See `begin`.
            handle: Runs the handler with the context that it sees.
        """
        call = self.begin(apart(context), offered)
        call.context.park(call)
        leg = call.attach(context)
        run_apart(call.first, partial(handle, call.context), self.tasks, awaited=True)
        try:
            return await call.outcome_for(leg)
        finally:
            if not call.over and context.call.channel.carrier is None:
                context.peer.leave_apart(call.first)

    def add(self, call: ParkedCall, context: Context) -> None:
        """Take a call that asks for the first time here.

        Raises:
            AskFailed: -32603, there are too many; nobody else's call makes room.
        """
        binding = Binding.of(context)
        if len(self._calls) >= self._config.max_parked:
            raise AskFailed(INTERNAL_ERROR, f"too many parked calls: {self._config.max_parked} are the limit")
        limit = self._config.max_parked_by_principal
        parked = self._owners.get(binding.principal, 0)
        if binding.principal is not None and parked >= limit:
            raise AskFailed(INTERNAL_ERROR, f"too many parked calls of one client: {limit} are the limit")
        self._calls[call.handle] = call, binding
        self._owners[binding.principal] = parked + 1

    def park(self, call: ParkedCall) -> str:
        """A call waits for its retry from now on; return the state that this is to bring."""
        left = min(self._config.round_seconds, call.born + self._config.call_seconds - time.time())
        call.deadline = now() + left
        self._reaper.wake_at(call.deadline)
        outcomes = dict(call.journal.outcomes) if self.sealed else None
        state = State(call.handle, call.rounds.number, call.born, time.time() + left, call.rounds.asked, outcomes)
        _, binding = self._calls[call.handle]
        return self._states.write(state, binding.request, binding.principal)

    def end(self, call: ParkedCall, outcome: Raw | Exception | None, reply: InputRequiredResult | None) -> None:
        """The handler of a call is over.

        Args:
            call: The call.
            outcome: What a retry gets that comes after that; None where there was no round.
            reply: What its last round was asked with.
        """
        _, binding = self._calls.pop(call.handle)
        self._owners[binding.principal] -= 1
        if not self._owners[binding.principal]:
            del self._owners[binding.principal]
        if outcome is not None and call.cancelled is None:
            deadline = now() + self._config.outcome_seconds
            self._over.keep(call.handle, EndedCall.of(outcome, call.rounds, reply, binding, deadline))
            self._reaper.wake_at(deadline)
        if self._ended is not None:
            self._ended.set()

    async def aclose(self) -> None:
        """End the calls of HTTP clients, and return when they are over or have had their time.

        Those on a connection of its own end with that.
        """
        for call, _ in list(self._calls.values()):
            if call.first.channel.carrier is not None:
                call.give_up("the server is shutting down")
        with anyio.move_on_after(CLOSING_SECONDS, shield=True):
            while any(call.cancelled for call, _ in self._calls.values()):
                await self._next_end()

    # Retries.

    async def retry(self, params: InputResponseRequestParams, retry: Context, handle: Handle) -> Any:
        """Answer a retry: with what the call leads to that it goes on with, or by running it once more.

        Args:
            params: Those of the retry, with a state.
            retry: The retry.
            handle: Runs the handler with the context that it sees.

        Raises:
            McpError: -32602, its state is no good.
        """
        state, answers = params.requestState or "", params.inputResponses or {}
        try:
            call, number = self.find(state, retry)
            while isinstance(call, ParkedCall) and call.cancelled is not None:
                await self.gone(call)
                call, number = self.find(state, retry)
            if isinstance(call, EndedCall):
                return call.told_again(number, answers)
            if call.known:
                return await call.resume(retry, number, answers)
            leg = call.take_over(retry, answers)
        except BadState as bad:
            raise self.rejected(bad) from None
        call.context.park(call)
        run_apart(call.first, partial(handle, call.context), self.tasks)
        return await call.outcome_for(leg)

    def find(self, text: str, context: Context) -> tuple[ParkedCall | EndedCall, int]:
        """Return the call that a retry belongs to, and the round that it answers.

        One that is not `known` yet has to `take_over`, and to be run again from its top.  One that is
        cancelled already is sealed: it can be, once that is `gone`.

        Raises:
            BadState: There is none, or it is not this client's, or not this request's.
        """
        binding = Binding.of(context)
        state = self._states.read(text, binding.request, binding.principal)
        if state.handle in self._calls:
            return self._running(state, binding), state.round
        over = self._over.get(state.handle)
        if over is not None and state.round <= over.number:
            over.binding.check(binding)
            return over, state.round
        if state.outcomes is None:
            raise BadState("it has expired, or its call is over")
        if over is not None:  # another process went further
            self._over.forget(state.handle)
        return ParkedCall(apart(context), self, state), state.round

    def _running(self, state: State, binding: Binding) -> ParkedCall:
        call, bound = self._calls[state.handle]
        bound.check(binding)
        if call.cancelled is not None and state.outcomes is None:
            raise BadState(f"its call is being ended: {call.cancelled}")
        if state.outcomes is not None and state.round > call.rounds.number:
            call.catch_up(state)
        return call

    async def gone(self, call: ParkedCall) -> None:
        """Return once a call that is being ended is over."""
        while call.handle in self._calls:
            await self._next_end()

    async def _next_end(self) -> None:
        if self._ended is None or self._ended.is_set():
            self._ended = anyio.Event()
        await self._ended.wait()

    def rejected(self, bad: BadState) -> McpError:
        """Return the one error of every state that is no good, and log why it is not."""
        logger.info("server %r rejected a requestState: %s", self._server, bad)
        return McpError(INVALID_PARAMS, "Invalid or expired requestState")

    # Deadlines.

    def next_deadline(self) -> float | None:
        """Return when something expires next, by the event loop's clock; None if nothing will."""
        soonest = min((call.deadline for call, _ in self._calls.values()), default=float("inf"))
        soonest = min(soonest, self._over.next_deadline())
        return None if soonest == float("inf") else soonest

    def expire(self, now: float) -> None:
        """End what has expired, and forget the outcomes that nobody asks for any more."""
        for call, _ in list(self._calls.values()):
            if call.deadline <= now:
                call.deadline = float("inf")
                call.give_up("nobody came back with an answer in time")
        self._over.expire(now)


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
            self._parking.tasks.start(self._reap, detached=True)
        elif deadline + SLACK_SECONDS < self._wakes_at:
            self._sooner.set()

    async def _reap(self) -> None:
        try:
            while (deadline := self._parking.next_deadline()) is not None:
                self._wakes_at = deadline + SLACK_SECONDS
                self._sooner = anyio.Event()
                with anyio.move_on_after(self._wakes_at - now()):
                    await self._sooner.wait()
                self._parking.expire(now())
        finally:  # in the turn that found nothing more: what is parked in the next one starts another
            self._sooner = None
