"""One call that asks in rounds: the parking asker of 2026-07-28, where servers make no calls.

    the handler asks ──▶ three quiet turns ──▶ the request is answered `input_required`
                                                  │ the handler stays suspended: it is parked
    the retry brings the answers  ◀───────────────┘
          └──▶ they wake the handler; the retry waits for the next round, or for the result

The handler runs in the task that its first request began, for as many requests as it takes; no
line of it runs twice.  What belongs to a request (progress, logs, capabilities) is that of the
request which is attached at that moment.  Where the retry reaches another process, the handler
runs again there, and its journal answers what was asked before.

Layer: L4.
Source: MCP 2026-07-28, basic/patterns, "Multi round-trip requests".
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio
from anyio.lowlevel import checkpoint
from msgspec import UNSET, Raw, UnsetType

from dedalus_mcp.errors import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    AskFailed,
    CapabilityMissing,
    LocalProtocolError,
    McpError,
    NoActiveCall,
)
from dedalus_mcp.jsonrpc.codec import encode_value
from dedalus_mcp.jsonrpc.failures import INTERNAL
from dedalus_mcp.server.asker import Question, cannot_be_asked, cannot_be_sent, configured, refuse_in_step, timed_out
from dedalus_mcp.server.journal import Abandoned, Answer, Fault, Journal, Outcome
from dedalus_mcp.server.legs import Leg, Legs
from dedalus_mcp.server.questions import OpenQuestion, OpenQuestions, check_answer
from dedalus_mcp.server.request_state import State
from dedalus_mcp.server.rounds import Rounds, Take
from dedalus_mcp.types import InputRequiredResult
from dedalus_mcp.types.meta import SERVER_INFO_KEY
from dedalus_mcp.types.methods import CARRIERS

if TYPE_CHECKING:
    from dedalus_mcp.server.context import Context
    from dedalus_mcp.server.parking import Parking

__all__ = ("ParkedCall",)

logger = logging.getLogger("dedalus_mcp")

# Clients stop at ten rounds; a handler that asks in a loop learns of it here.
WARN_AT_ROUND = 9
MAX_ROUNDS = 50

_HANDLE_BYTES = 16  # 128 bits: where nobody is authenticated, nothing else protects a call


class ParkedCall:
    """The asker of a call on 2026-07-28, from its first question to its end.

    Args:
        context: The call, as its handler sees it.
        parking: Where it is found again.
        state: What an earlier process left of it, where this one takes over.
        offered: Answers that came with the call itself, by the names of questions not asked yet.

    Attributes:
        context: As given.
        first: The request whose task the handler runs in.
        handle: Its name in `parking`, and in the client's state.
        born: When it asked first, in seconds since the epoch.
        deadline: When it expires, by the event loop's clock; infinite while a request is attached.
        journal: What was answered so far.
        rounds: Which round it is in.
        known: Whether it stands in `parking`.
        over: Whether the handler is.
        given_up: Whether nobody knows what became of it: it expired, or the server shut down.
    """

    def __init__(
        self,
        context: Context,
        parking: Parking,
        state: State | None = None,
        *,
        offered: Mapping[str, Any] | None = None,
    ) -> None:
        self.first = context.call
        self.first.on_cancel(self._fail_open)
        self.handle = _handle() if state is None else state.handle
        self.born = time.time() if state is None else state.born
        self.deadline = float("inf")
        self.journal = Journal(None if state is None else state.outcomes)
        self.rounds = Rounds() if state is None else Rounds(state.round, state.asked)
        self.over = False
        self.given_up = False
        self.context = context
        self._parking = parking
        self._offered = offered or {}
        self.known = False
        self._open = OpenQuestions()
        self._legs = Legs(context)
        self._reply: InputRequiredResult | None = None  # of the present round
        self._steps = 0  # that run
        self._held = False  # a round that is due, until it can go out

    @property
    def cancelled(self) -> str | None:
        """Why the handler was ended; None as long as it was not."""
        return self.first.cancelled

    @property
    def disowned(self) -> bool:
        """Whether another process may have completed it: then nothing that it would clean up is its own."""
        return self.given_up and self._parking.sealed

    # The handler's side.

    async def ask(self, question: Question, timeout: float | UnsetType | None) -> Raw:
        """Ask, and return the client's result, raw: see `Asker.ask`."""
        refuse_in_step()
        if self.first.method not in CARRIERS:
            raise AskFailed(METHOD_NOT_FOUND, f"The client cannot be asked while {self.first.method!r} is answered")
        try:
            params = encode_value(question.params)
        except LocalProtocolError as error:
            raise cannot_be_sent(question, error) from error
        name = self.journal.name(question.method, params, question.key)
        if (known := self.journal.outcome(name)) is not None:
            return await _replayed(known)
        if name in self._offered:
            check_answer(name, question.method, self._offered)
            answer = encode_value(self._offered[name])
            self.journal.record(name, Answer(answer))
            return Raw(answer)
        if not self.known:
            self._parking.add(self, self.context)
            self.known = True
        return await self._wait(name, self._open.open(name, question, params), timeout)

    async def _wait(self, name: str, waiting: OpenQuestion, timeout: float | UnsetType | None) -> Raw:
        seconds = self._configured(waiting.question) if timeout is UNSET else timeout
        try:
            if seconds is None:  # a scope costs as much as all the rest
                await self._put(waiting)
            else:
                with anyio.move_on_after(seconds):
                    await self._put(waiting)
        except BaseException:
            self.journal.record(name, Abandoned())
            raise
        finally:
            self._open.close(name)
        if waiting.result is not None:
            self.journal.record(name, Answer(bytes(waiting.result)))
            return waiting.result
        fault = waiting.fault or timed_out(waiting.question)
        required = fault.required if isinstance(fault, CapabilityMissing) else None
        self.journal.record(name, Fault.of(fault.error, required))
        raise fault

    async def _put(self, waiting: OpenQuestion) -> None:
        """See that it gets into a round, and wait until it is settled."""
        self._collect()
        await waiting.settled.wait()
        if self.cancelled is not None:
            await checkpoint()  # only who is shielded gets beyond

    def _fail_open(self) -> None:
        """Nobody will answer: the call is cancelled."""
        self._open.fail(lambda: NoActiveCall(METHOD_NOT_FOUND, f"The call is cancelled: {self.cancelled}"))

    def _configured(self, question: Question) -> float | None:
        """How long a question waits that does not say; what is longer than its round lives need not be counted."""
        config = self.context.server.config
        seconds = configured(config, question)
        return None if seconds is None or seconds >= config.parking.round_seconds else seconds

    def step_began(self) -> None:
        """A step runs: where its result must be in the state, no round goes out before it has ended."""
        self._steps += 1

    def step_ended(self) -> None:
        """It runs no more."""
        self._steps -= 1
        if self._held and not self._steps:
            self._held = False
            self._collect()

    def end(self, outcome: Any) -> bool:
        """The handler is over.

        Args:
            outcome: Its result, shaped, or what it raised.

        Returns:
            Whether a retry gets that, since the first request was answered with a round.
        """
        self.over = True
        self._open.fail(lambda: NoActiveCall(METHOD_NOT_FOUND, "The call is over: who asked outlived its handler"))
        replied = self.first.finished
        asked = self.rounds.number > 0
        outcome_kept = self._kept(outcome) if asked or self._legs else None
        if self.known:
            self._parking.end(self, outcome_kept if asked else None, self._reply)
        self._legs.settle(outcome_kept)
        self.first.forget(self._fail_open)
        self.context.unpark(self.first)  # else the two would hold each other
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

    def cancel(self, reason: str) -> None:
        """End the handler, as a client's cancellation does."""
        self.first.cancel(reason)

    def give_up(self, reason: str) -> None:
        """End the handler of a call that another process may have gone on with."""
        self.given_up = True
        self.first.cancel(reason)

    # The client's side.

    async def resume(self, retry: Context, number: int, answers: Mapping[str, Any]) -> Any:
        """Take a retry, and return what its request is to be answered with.

        Args:
            retry: The request.
            number: The round that its state names.
            answers: By the names of the questions.

        Raises:
            BadState: The round is over, or is answered already, and differently.
            McpError: -32602, an answer is no result of its method, and the round waits on.
            Exception: What the handler raised.
        """
        taken = self.rounds.check_and_take(number, answers)
        if taken is Take.BEFORE:
            return self._reply
        leg = self.attach(retry)
        if taken is Take.FIRST:
            self._answer(answers)
        return await self.outcome_for(leg)

    async def outcome_for(self, leg: Leg) -> Any:
        """Return what a retry is to be answered with, or raise it."""
        try:
            await leg.settled.wait()
        finally:
            if self._legs.detach(leg):  # nobody is left in the middle of a round
                self.cancel(leg.context.call.cancelled or "the client is gone")
        return _raised_or(leg.outcome)

    def take_over(self, retry: Context, answers: Mapping[str, Any]) -> Leg:
        """Take the answers to the round that another process asked, before the handler runs here.

        Raises:
            McpError: -32602, an answer is no result of its method, and the round waits on; -32603,
                too many calls are parked here.
        """
        self.rounds.check_and_take(self.rounds.number, answers)
        self._parking.add(self, self.context)
        self.known = True
        self._answer(answers)
        return self.attach(retry)

    def attach(self, retry: Context) -> Leg:
        """Let a request wait for what the call leads to: see `outcome_for`."""
        self.deadline = float("inf")
        self.first.peer.await_apart(self.first)
        return self._legs.attach(retry)

    def catch_up(self, state: State) -> None:
        """Another process has gone further: learn what it knows, and be in its round."""
        outcomes = state.outcomes or {}
        for name, outcome in outcomes.items():
            self._settle(name, outcome)
        self.rounds = Rounds(state.round, state.asked)

    def _answer(self, answers: Mapping[str, Any]) -> None:
        for name in self.rounds.asked:
            if name in answers:
                self._settle(name, Answer(encode_value(answers[name])))
        if self._open.waiting():  # what was not answered is asked again
            self._collect()

    def _settle(self, name: str, outcome: Outcome) -> None:
        """One question has its outcome: for whoever waits, or whoever asks it when the handler gets there."""
        waiting = self._open.get(name)
        if waiting is None:
            if self.journal.outcome(name) is None:
                self.journal.record(name, outcome)
        elif isinstance(outcome, Answer):
            waiting.answer(Raw(outcome.result))
        elif isinstance(outcome, Fault):
            waiting.fail(outcome.as_failure())

    # Rounds.

    def _collect(self) -> None:
        """Send a round once nothing more is asked, for a few turns of the event loop."""
        if not self._held:
            self._parking.quiet.await_for(self)

    def round_is_due(self) -> None:
        """Nothing more is asked for now: send the round, as soon as it can go out."""
        if self._steps and self._parking.sealed:
            self._held = True
        elif self.first.channel.full and not self.first.finished:
            self._held = True
            self._parking.tasks.start(self._send_when_ready, detached=True)
        else:
            self._send_round()

    async def _send_when_ready(self) -> None:
        await self.first.channel.ready()
        self._held = False
        self._send_round()

    def _send_round(self) -> None:
        self._open.refuse_undeclared(self.context.client_capabilities)
        if self.rounds.number >= MAX_ROUNDS:
            self._open.fail(
                lambda: AskFailed(INTERNAL_ERROR, f"The client was asked in {MAX_ROUNDS} rounds, the limit")
            )
        waiting = self._open.waiting()
        if not waiting or self.cancelled is not None or (self.first.finished and not self._legs):
            return
        try:
            reply = self._round(waiting)
        except Exception as error:  # noqa: BLE001 - the handler's to know; others' rounds go on
            fault = cannot_be_asked(error)
            self._open.fail(lambda: fault)
            return
        if self._legs:
            self.first.peer.leave_apart(self.first)
            self._legs.settle(reply)
        if not self.first.finished:
            self.first.peer.reply_early(self.first, reply)
            if self.first.channel.unsent:  # by a task of its own: whoever asks may stop at any moment
                self._parking.tasks.start(self.first.channel.flush, detached=True)

    def _round(self, waiting: Mapping[str, OpenQuestion]) -> InputRequiredResult:
        number = self.rounds.ask({name: each.question.method for name, each in waiting.items()})
        if number == WARN_AT_ROUND:
            logger.warning("%r asks in its round %d: clients give up after ten", self.first.method, number)
        requests: Any = {
            name: {"method": each.question.method, "params": each.params} for name, each in waiting.items()
        }
        self._reply = InputRequiredResult(
            inputRequests=requests,
            requestState=self._parking.park(self),
            meta={SERVER_INFO_KEY: self.context.server.info},
        )
        return self._reply


def _handle() -> str:
    from secrets import token_urlsafe  # noqa: PLC0415 - loads much, and most programs never get here

    return token_urlsafe(_HANDLE_BYTES)


async def _replayed(outcome: Outcome) -> Raw:
    """What a question led to when it was asked first, in a run of the same handler elsewhere."""
    if isinstance(outcome, Answer):
        return Raw(outcome.result)
    if isinstance(outcome, Fault):
        raise outcome.as_failure()
    await anyio.sleep_forever()  # until what abandoned it does so again
    raise AssertionError("for ever is over")


def _raised_or(outcome: Any) -> Any:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
