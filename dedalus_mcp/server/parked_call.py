"""One call that asks in rounds: the parking asker of 2026-07-28, where servers make no calls.

    the handler asks ──▶ three quiet turns ──▶ the request is answered `input_required`
                                                  │ the handler stays suspended: it is parked
    the retry brings the answers  ◀───────────────┘
          └──▶ they wake the handler; the retry waits for the next round, or for the result

The handler runs in the task that its first request began, for as many requests as it takes; no
line of it runs twice.  What belongs to a request (progress, logs, capabilities) is that of the
request which is attached at that moment.

Layer: L4.
Source: MCP 2026-07-28, basic/patterns, "Multi round-trip requests".
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio
from anyio.lowlevel import checkpoint
from msgspec import UNSET, Raw, UnsetType

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, AskFailed, LocalProtocolError, McpError
from dedalus_mcp.jsonrpc.codec import encode_value
from dedalus_mcp.jsonrpc.failures import INTERNAL
from dedalus_mcp.server.asker import Question, cannot_be_sent, check_capability, timed_out
from dedalus_mcp.server.journal import Abandoned, Answer, Fault, Journal
from dedalus_mcp.server.rounds import Rounds, Take
from dedalus_mcp.types import InputRequiredResult
from dedalus_mcp.types.meta import SERVER_INFO_KEY
from dedalus_mcp.types.methods import ELICITATION_CREATE, ROOTS_LIST, SAMPLING_CREATE_MESSAGE

if TYPE_CHECKING:
    from dedalus_mcp.server.context import Context
    from dedalus_mcp.server.parking import Parking

__all__ = ("CARRIERS", "ParkedCall")

logger = logging.getLogger("dedalus_mcp")

CARRIERS = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The methods whose results may ask for input (MRTR-02, MRTR-03)."""

# Task groups, locks and `started()` need up to three turns until all siblings have asked; real
# I/O needs any number, and what comes later goes into the next round.
QUIET_TURNS = 3
MAX_TURNS = 50
# Clients stop at ten rounds; a handler that asks in a loop learns of it here.
WARN_AT_ROUND = 9
MAX_ROUNDS = 50

_NO_OUTCOME = Raw(b"{}")
_ANSWERS = {method.name: method for method in (ELICITATION_CREATE, SAMPLING_CREATE_MESSAGE, ROOTS_LIST)}


class _Open:
    """A question that waits for its answer."""

    __slots__ = ("answered", "fault", "params", "question", "result")

    def __init__(self, question: Question, params: Raw) -> None:
        self.question = question
        self.params = params
        self.answered = anyio.Event()
        self.result: Raw | None = None
        self.fault: AskFailed | None = None

    def answer(self, result: Raw) -> None:
        self.result = result
        self.answered.set()

    def fail(self, fault: AskFailed) -> None:
        self.fault = fault
        self.answered.set()


class _Leg:
    """A retry that waits for what the call leads to."""

    __slots__ = ("context", "outcome", "settled")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.settled = anyio.Event()
        self.outcome: Any = None

    def settle(self, outcome: Any) -> None:
        self.outcome = outcome
        self.settled.set()


class ParkedCall:
    """The asker of a call on 2026-07-28, from its first question to its end.

    Args:
        context: The call, as its handler sees it.
        parking: Where it is found again.

    Attributes:
        handle: Its name there; empty before the first question.
        deadline: When it expires, by the event loop's clock; infinite while a request is attached.
        born: When it asked first, by the same clock.
        over: Whether the handler is.
        outcome: What a retry gets that comes after that: a result, or the error to raise.
    """

    def __init__(self, context: Context, parking: Parking) -> None:
        self.handle = ""
        self.deadline = float("inf")
        self.born = 0.0
        self.over = False
        self.outcome: Raw | Exception = _NO_OUTCOME
        self.first = context.call
        self.rounds = Rounds()
        self._context = context
        self._parking = parking
        self._journal = Journal()
        self._open: dict[str, _Open] = {}
        self._legs: list[_Leg] = []
        self._reply: InputRequiredResult | None = None  # of the present round
        self._turn = 0  # rises with every question
        self._collecting = False

    @property
    def cancelled(self) -> str | None:
        """Why the handler was ended; None as long as it was not."""
        return self.first.cancelled

    # The handler's side.

    async def ask(self, question: Question, timeout: float | UnsetType | None) -> Raw:
        """Ask, and return the client's result, raw: see `Asker.ask`."""
        if self.first.method not in CARRIERS:
            raise AskFailed(METHOD_NOT_FOUND, f"The client cannot be asked while {self.first.method!r} is answered")
        try:
            params = encode_value(question.params)
        except LocalProtocolError as error:
            raise cannot_be_sent(question, error) from error
        name = self._journal.name(question.method, params, question.key)
        if not self.handle:
            self._parking.add(self, self._context)
        waiting = self._open[name] = _Open(question, Raw(params))
        self._collect_soon()
        try:
            with anyio.move_on_after(None if timeout is UNSET else timeout):
                await waiting.answered.wait()
        except BaseException:
            self._journal.record(name, Abandoned())
            raise
        finally:
            del self._open[name]
        if waiting.result is not None:
            self._journal.record(name, Answer(bytes(waiting.result)))
            return waiting.result
        fault = waiting.fault or timed_out(question)
        self._journal.record(name, Fault(fault.error))
        raise fault

    def end(self, outcome: Any) -> bool:
        """The handler is over.

        Args:
            outcome: Its result, shaped, or what it raised.

        Returns:
            Whether a retry gets that, since the first request was answered with a round.
        """
        self.over = True
        replied = self.first.finished
        if replied:
            self.outcome = self._kept(outcome)
        if self.handle:
            self._parking.end(self)
        self._settle(self.outcome)
        return replied and (isinstance(outcome, Exception) or not isinstance(outcome, BaseException))

    def _kept(self, outcome: Any) -> Raw | Exception:
        if self.cancelled is not None:
            return McpError(INTERNAL_ERROR, f"The call was cancelled: {self.cancelled}")
        if isinstance(outcome, Exception):
            return outcome
        if isinstance(outcome, BaseException):  # a cancellation that the handler raised by itself
            return McpError(INTERNAL)
        try:
            return Raw(encode_value(outcome, repair=True))
        except LocalProtocolError as error:
            return error

    @property
    def outcome_bytes(self) -> int:
        """How many bytes the outcome holds."""
        return len(bytes(self.outcome)) if isinstance(self.outcome, Raw) else 0

    def cancel(self, reason: str) -> None:
        """End the handler, as a client's cancellation does."""
        self.first.cancel(reason)

    # The client's side.

    async def resume(self, retry: Context, number: int, answers: Mapping[str, Any]) -> Any:
        """Take a retry, and return what its request is to be answered with.

        Args:
            retry: The request.
            number: The round that its state names.
            answers: By the names of the questions.

        Raises:
            McpError: -32602, an answer is no result of its method, and the round waits on; or the
                round is answered already, and differently.
            Exception: What the handler raised.
        """
        take = self._take(number, answers)
        if take is Take.BEFORE:
            return self._reply
        if self.over:
            return _outcome(self.outcome)
        leg = _Leg(retry)
        self._attach(leg)
        if take is Take.FIRST:
            self._answer(answers)
        try:
            await leg.settled.wait()
        finally:
            self._detach(leg)
        return _outcome(leg.outcome)

    def _take(self, number: int, answers: Mapping[str, Any]) -> Take:
        try:
            if number == self.rounds.number:
                self._check(answers)
            take = self.rounds.take(number, answers)
        except RecursionError:
            raise McpError(INVALID_PARAMS, "Invalid params: inputResponses: nested too deeply") from None
        if take is Take.STALE:
            raise self._parking.rejected(f"round {number} is over, or was answered differently")
        return take

    def _check(self, answers: Mapping[str, Any]) -> None:
        for name, waiting in self._open.items():
            if name in answers:
                try:
                    _ANSWERS[waiting.question.method].convert_result(answers[name])
                except ValueError as error:
                    fault = f"Invalid params: inputResponses: {name!r:.80}: {error!s:.200}"
                    raise McpError(INVALID_PARAMS, fault) from None

    def _answer(self, answers: Mapping[str, Any]) -> None:
        for name in self.rounds.asked:
            waiting = self._open.get(name)
            if waiting is not None and name in answers:
                waiting.answer(Raw(encode_value(answers[name])))
        self._collect_soon()

    def _attach(self, leg: _Leg) -> None:
        self._legs.append(leg)
        self._context.attach(leg.context)
        self.deadline = float("inf")

    def _detach(self, leg: _Leg) -> None:
        """A request is answered, or gone; a handler that nobody waits for in the middle of a round is ended."""
        if leg not in self._legs:
            return
        self._legs.remove(leg)
        if self._legs:
            self._context.attach(self._legs[-1].context)
        else:
            self.cancel(leg.context.call.cancelled or "the client is gone")

    def _settle(self, outcome: Any) -> None:
        legs, self._legs = self._legs, []
        for leg in legs:
            leg.settle(outcome)

    # Rounds.

    def _collect_soon(self) -> None:
        self._turn += 1
        if not self._collecting:
            self._collecting = True
            self._parking.tasks.start(self._collect, _nothing, detached=True)

    async def _collect(self) -> None:
        """Wait until nothing more is asked, for a few turns of the event loop; then send the round."""
        quiet = 0
        for _ in range(MAX_TURNS):
            turn = self._turn
            await checkpoint()
            quiet = quiet + 1 if turn == self._turn else 0
            if quiet == QUIET_TURNS:
                break
        self._collecting = False
        self._drop_what_may_not_be_asked()
        waiting = {name: each for name, each in self._open.items() if not each.answered.is_set()}
        if waiting and (self._legs or not self.first.finished) and self.cancelled is None:
            await self._send(self._round(waiting))

    def _drop_what_may_not_be_asked(self) -> None:
        """The capability is that of the very request which is answered (MRTR-06)."""
        for waiting in self._open.values():
            try:
                check_capability(self._context.client_capabilities, waiting.question.required)
            except AskFailed as missing:
                waiting.fail(missing)
        if self.rounds.number >= MAX_ROUNDS:
            for waiting in self._open.values():
                waiting.fail(
                    AskFailed(INTERNAL_ERROR, f"The client was asked in {MAX_ROUNDS} rounds, which is the limit")
                )

    def _round(self, waiting: Mapping[str, _Open]) -> InputRequiredResult:
        number = self.rounds.ask(list(waiting))
        if number == WARN_AT_ROUND:
            logger.warning("%r asks in its round %d: clients give up after ten", self.first.method, number)
        requests: Any = {
            name: {"method": each.question.method, "params": each.params} for name, each in waiting.items()
        }
        self._reply = InputRequiredResult(
            inputRequests=requests,
            requestState=self._parking.state(self),
            meta={SERVER_INFO_KEY: self._context.server.info},
        )
        return self._reply

    async def _send(self, reply: InputRequiredResult) -> None:
        self._parking.park(self)
        if self._legs:
            self._settle(reply)
            return
        channel = self.first.channel
        if channel.full:
            await channel.ready()
        self._context.peer.reply_early(self.first, reply)
        if channel.unsent:
            await channel.flush()


def _nothing() -> None:
    """What a task leaves to be done that only collects."""


def _outcome(outcome: Any) -> Any:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
