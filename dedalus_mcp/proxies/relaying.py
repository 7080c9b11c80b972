"""One call of our client on its way through the upstream server, and what comes back before its result.

    our client ──▶ call ──▶ upstream
        ◀── progress, logs ───┤
        ◀── questions ────────┤   live, or in rounds; answers go back the way they came
        ◀── result, error ────┘

Layer: L6.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.client.round import Round
from dedalus_mcp.client.timeouts import Default, TimeoutLike
from dedalus_mcp.errors import INTERNAL_ERROR, ErrorData, McpError, RemoteProtocolError
from dedalus_mcp.proxies.questions import hand_on, hand_on_all
from dedalus_mcp.server.context import Context
from dedalus_mcp.types import (
    ListRootsRequest,
    LoggingMessageNotificationParams,
    ProgressNotificationParams,
    RequestParams,
)
from dedalus_mcp.types.method import Method
from dedalus_mcp.types.methods import MESSAGE
from dedalus_mcp.types.revisions import shape
from dedalus_mcp.types.rounds import InputRequest, InputResponse

__all__ = ("Relayed", "in_rounds", "relay")

logger = logging.getLogger("dedalus_mcp")

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R")

MAX_UNTOLD = 100
"""Notices of one call that our client has not taken yet; the oldest go first."""

MAX_ROUNDS = 50
"""Rounds of one call: our own servers ask no more often, and our client has its own bound."""

ROOTS_SECONDS = 5.0
"""How long a result waits for the client's roots, where the server has asked for them meanwhile.

Servers do at their first call, for all later ones; a program answers, so that takes no time for thought.
"""

# Seconds before a call that was answered with nothing but state is made again; it doubles in a row.
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0


class _Asked:
    """A question that waits for its answer."""

    __slots__ = ("answer", "over", "scope")

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.over = anyio.Event()
        self.answer: InputResponse | ErrorData | None = None


class Relayed:
    """A call of our client, while the upstream server answers it.

    Args:
        context: The call.
        group: Where its client is asked and told; ends with the call.

    Attributes:
        context: As given.
    """

    def __init__(self, context: Context, group: TaskGroup) -> None:
        self.context = context
        self._group = group
        self._untold: deque[ProgressNotificationParams | LoggingMessageNotificationParams] = deque(maxlen=MAX_UNTOLD)
        self._news = anyio.Event()
        self._telling = anyio.Lock(fast_acquire=True)  # one notice behind the other, and the result behind all
        self._listing: set[_Asked] = set()  # the roots

    def hear(self, notice: ProgressNotificationParams | LoggingMessageNotificationParams) -> None:
        """Take a notice for our client."""
        self._untold.append(notice)
        self._news.set()

    async def keep_telling(self) -> None:
        """Tell our client what is heard, for ever."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            await self._tell()

    async def last_words(self) -> None:
        """Finish what was begun before the result, which must not overtake it: notices, and the list of roots."""
        await checkpoint()  # what was heard together with the result is on its way here
        with anyio.move_on_after(ROOTS_SECONDS):
            for asked in tuple(self._listing):
                await asked.over.wait()
        await self._tell()

    async def ask(self, question: InputRequest) -> InputResponse | ErrorData | None:
        """Ask our client, and return its answer or error; None if the call is over before.

        Called in other tasks than the call's own, which end the question with themselves.
        """
        asked = _Asked()
        if isinstance(question, ListRootsRequest):
            self._listing.add(asked)
        self._group.start_soon(self._ask, question, asked)
        try:
            await asked.over.wait()
        finally:
            asked.scope.cancel()
            self._listing.discard(asked)
        return asked.answer

    async def _ask(self, question: InputRequest, asked: _Asked) -> None:
        try:
            with asked.scope:
                asked.answer = await hand_on(self.context, question)
        except McpError as error:
            asked.answer = error.error
        except Exception:
            logger.exception("a question of an upstream server could not be handed on")
            asked.answer = ErrorData(INTERNAL_ERROR, "Internal error")
        finally:
            asked.over.set()

    async def _tell(self) -> None:
        async with self._telling:
            while self._untold:
                await self._tell_one(self._untold.popleft())

    async def _tell_one(self, notice: ProgressNotificationParams | LoggingMessageNotificationParams) -> None:
        context = self.context
        if isinstance(notice, LoggingMessageNotificationParams):
            if context.hears(notice.level):
                await context.tell(MESSAGE.name, notice)
        elif notice.progress > context.reported and math.isfinite(notice.progress):  # PROG-03
            total = notice.total if notice.total is not None and math.isfinite(notice.total) else None
            await context.report_progress(notice.progress, total=total, message=notice.message)


async def relay(context: Context, calls: list[Relayed], work: Callable[[Relayed], Awaitable[R]]) -> R:
    """Do the work of a call, which is among `calls` meanwhile, and return what that returns.

    Raises:
        Exception: What the work raised.
    """
    results: list[R] = []
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        call = Relayed(context, group)
        calls.append(call)
        group.start_soon(call.keep_telling)
        try:
            try:
                results.append(await work(call))
            except Exception as error:  # noqa: BLE001 - raised below, out of the group as itself
                failure = error
            await call.last_words()
        finally:
            calls.remove(call)
            group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return results[0]


async def in_rounds(
    client: MCPClient, method: Method[P, R], params: P, call: Relayed, timeout: TimeoutLike | Default
) -> R:
    """Make a request of 2026-07-28, and put what the server wants to know before to the client of the call.

    Args:
        client: Makes it.
        method: See `MCPClient.request_round`.
        params: See there.
        call: The call.
        timeout: How long the server may take for each round.

    Raises:
        RemoteProtocolError: It asks without end.
        AskFailed: Our client could not be asked, or answered with an error.
        Exception: See `MCPClient.request_round`.
    """
    declared = shape(call.context.client_capabilities, client.revision)
    progress = call.hear if call.context.progress_token is not None else None
    outcome = await client.request_round(method, params, capabilities=declared, timeout=timeout, progress=progress)
    pause = FIRST_PAUSE
    for _ in range(MAX_ROUNDS):
        if not isinstance(outcome, Round):
            return outcome
        asked = cast("Round[R]", outcome)
        if asked.questions:
            pause = FIRST_PAUSE
            answers = await hand_on_all(call.context, asked.questions)
        else:
            await anyio.sleep(pause)
            answers, pause = {}, min(2 * pause, LONGEST_PAUSE)
        outcome = await client.continue_round(asked, answers, timeout=timeout, progress=progress)
    raise RemoteProtocolError(f"{method.name!r} asks for more than {MAX_ROUNDS} rounds of input")
