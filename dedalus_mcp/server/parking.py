"""The calls that are parked: found again by their state, bounded, and ended when nobody comes back.

    add ──▶ open ──park──▶ waits for its retry ──deadline──▶ cancelled like any call
              ◀── find ────────┘
    end ──▶ its outcome is kept for a while: the response to the last retry may have got lost

A state is an unguessable handle and the number of the round.  What it is bound to stays here and
is checked at every use; a state that fails any check gets one answer, and the log has the reason.

Layer: L4.
Source: MCP 2026-07-28, basic/patterns, "Multi round-trip requests".
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from hmac import compare_digest
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from msgspec import UNSET

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_PARAMS, AskFailed, McpError
from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp.server.config import ParkingConfig
from dedalus_mcp.server.rounds import canonical_digest

if TYPE_CHECKING:
    from dedalus_mcp.server.context import Context
    from dedalus_mcp.server.parked_call import ParkedCall

__all__ = ("Parking",)

logger = logging.getLogger("dedalus_mcp")

_HANDLE_BYTES = 16  # 128 bits: where nobody is authenticated, nothing else protects a call
_MARK_BYTES = 4  # tells instances of a server apart, in the log
_DIGITS = 4  # of a round's number
# How long handlers may take to clean up once the server has ended them, in seconds.
CLOSING_SECONDS = 1.0
# How much longer than its time a call may wait: many that expire one after the other are ended at once.
SLACK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class _Binding:
    """What a state is good for: this owner's retry of this very request."""

    owner: Hashable
    request: bytes


class Parking:
    """The calls of one server in one event loop that have asked, and are not over.

    Args:
        config: The bounds.
        server: The server's name, for the log.

    Attributes:
        tasks: Where the rounds of its calls are collected.
    """

    def __init__(self, config: ParkingConfig, server: str) -> None:
        self.tasks = Tasks()
        self._config = config
        self._server = server
        self._mark = token_urlsafe(_MARK_BYTES)
        self._calls: dict[str, tuple[ParkedCall, _Binding]] = {}
        self._over: dict[str, tuple[ParkedCall, _Binding]] = {}  # the oldest first
        self._outcome_bytes = 0
        self._ended: anyio.Event | None = None
        self._owners: Counter[Hashable] = Counter()
        self._wakes_at = float("inf")  # when the reaper looks next
        self._sooner: anyio.Event | None = None
        self._reaping = False

    def __len__(self) -> int:
        """How many calls have asked and are not over."""
        return len(self._calls)

    # The life of a call.

    def add(self, call: ParkedCall, context: Context) -> None:
        """Take a call that asks for the first time.

        Raises:
            AskFailed: -32603, there are too many; nobody else's call makes room.
        """
        owner = _owner(context)
        if len(self._calls) >= self._config.max_parked:
            raise AskFailed(INTERNAL_ERROR, f"too many parked calls: {self._config.max_parked} are the limit")
        if owner is not None and self._owners[owner] >= self._config.max_parked_by_principal:
            limit = self._config.max_parked_by_principal
            raise AskFailed(INTERNAL_ERROR, f"too many parked calls of one client: {limit} are the limit")
        call.handle = token_urlsafe(_HANDLE_BYTES)
        call.born = anyio.current_time()
        self._calls[call.handle] = call, _Binding(owner, _digest(context))
        self._owners[owner] += 1

    def park(self, call: ParkedCall) -> None:
        """A call waits for its retry from now on."""
        now = anyio.current_time()
        call.deadline = min(now + self._config.round_seconds, call.born + self._config.call_seconds)
        self._reap_at(call.deadline)

    def end(self, call: ParkedCall) -> None:
        """The handler of a call is over; its outcome is kept, if a retry may still ask for it."""
        entry = self._calls.pop(call.handle)
        self._owners[entry[1].owner] -= 1
        if not self._owners[entry[1].owner]:
            del self._owners[entry[1].owner]
        if call.rounds.number > 0 and call.cancelled is None:
            self._over[call.handle] = entry
            self._outcome_bytes += call.outcome_bytes
            call.deadline = anyio.current_time() + self._config.outcome_seconds
            self._reap_at(call.deadline)
            while self._outcome_bytes > self._config.max_outcome_bytes:
                self._forget(next(iter(self._over)))
        if self._ended is not None:
            self._ended.set()

    async def aclose(self) -> None:
        """End the calls of HTTP clients, and return when they are over or have had their time.

        Those on a connection of its own end with that.
        """
        for call, _ in list(self._calls.values()):
            if call.first.channel.carrier is not None:
                call.cancel("the server is shutting down")
        with anyio.move_on_after(CLOSING_SECONDS, shield=True):
            while any(call.cancelled for call, _ in self._calls.values()):
                self._ended = anyio.Event()
                await self._ended.wait()

    def _forget(self, handle: str) -> None:
        call, _ = self._over.pop(handle)
        self._outcome_bytes -= call.outcome_bytes

    # States.

    def state(self, call: ParkedCall) -> str:
        """Return the state of the round that a call is in."""
        return f"{self._mark}.{call.handle}.{call.rounds.number}"

    def find(self, state: str, context: Context) -> tuple[ParkedCall, int]:
        """Return the call that a retry belongs to, and the round that it answers.

        Raises:
            McpError: -32602, there is none, or it is not this client's, or not this request's.
        """
        mark, _, rest = state.partition(".")
        handle, _, digits = rest.partition(".")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
            raise self.rejected("it is none of ours")
        entry = self._calls.get(handle) or self._over.get(handle)
        if mark != self._mark:
            raise self.rejected(_FOREIGN)
        if entry is None:
            raise self.rejected("it has expired, or its call is over")
        call, binding = entry
        if binding.owner != _owner(context):
            raise self.rejected("it belongs to another client")
        if not compare_digest(binding.request, _digest(context)):
            raise self.rejected("it belongs to a request with another method, target or arguments")
        return call, int(digits)

    def rejected(self, reason: str) -> McpError:
        """Return the one error of every state that is not good, and log why it is not."""
        logger.info("server %r rejected a requestState: %s", self._server, reason)
        return McpError(INVALID_PARAMS, "Invalid or expired requestState")

    # Deadlines: one task for all calls.

    def _reap_at(self, deadline: float) -> None:
        if not self._reaping:
            self._reaping = True
            self._wakes_at = deadline
            self.tasks.start(self._reap, self._reaped, detached=True)
        elif deadline < self._wakes_at and self._sooner is not None:
            self._sooner.set()

    async def _reap(self) -> None:
        while (due := self._next_deadline()) is not None:
            self._wakes_at = due
            self._sooner = anyio.Event()
            with anyio.move_on_after(due - anyio.current_time()):
                await self._sooner.wait()
            now = anyio.current_time()
            for call, _ in list(self._calls.values()):
                if call.deadline <= now:
                    call.deadline = float("inf")
                    call.cancel("nobody came back with an answer in time")
            for handle in [handle for handle, (call, _) in self._over.items() if call.deadline <= now]:
                self._forget(handle)

    def _reaped(self) -> None:
        self._reaping = False
        self._sooner = None

    def _next_deadline(self) -> float | None:
        deadlines = [call.deadline for entries in (self._calls, self._over) for call, _ in entries.values()]
        soonest = min(deadlines, default=float("inf"))
        return None if soonest == float("inf") else soonest + SLACK_SECONDS


_FOREIGN = (
    "it was issued by another process or before a restart, if by any: set state_keys= where several processes "
    "serve, or where states must survive one"
)


def _owner(context: Context) -> Hashable:
    """Whose a call is: on a connection of its own the connection's, over HTTP whoever proved to have sent it."""
    carrier = context.call.channel.carrier
    return context.peer if carrier is None else carrier.principal


_ROUND_MEMBERS = frozenset({"_meta", "inputResponses", "requestState"})


def _digest(context: Context) -> bytes:
    """What request it is, however its params were written; what differs between honest retries is left out."""
    params: dict[str, Any] = {} if context.call.params is UNSET else msgspec.json.decode(context.call.params)
    # Clients may write what is empty, or leave it out.
    asked = {name: value for name, value in params.items() if name not in _ROUND_MEMBERS and value not in ({}, None)}
    return canonical_digest([context.call.method, asked])
