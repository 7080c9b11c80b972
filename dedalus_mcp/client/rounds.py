"""Requests of 2026-07-28 that ask back: the client answers and calls again, until there is a result.

    make ──▶ result
      │
      └── input_required ──▶ all questions at once ──▶ the same request, with the answers ──▶ ...
                └── no questions, only state ──▶ a pause

The time of whoever answers does not count against the request's timeout.

Layer: L4.
Source: MCP 2026-07-28, basic/patterns, "Multi round-trip requests".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import anyio

from dedalus_mcp.client.asking import Asking
from dedalus_mcp.client.link import InputRequired, Link
from dedalus_mcp.client.requesting import Requests
from dedalus_mcp.client.round import Round
from dedalus_mcp.errors import ConnectionLost, LocalProtocolError, McpError, RemoteProtocolError, RequestTimeout
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.waiter import Progress
from dedalus_mcp.types import RequestParams
from dedalus_mcp.types.method import Method
from dedalus_mcp.types.revisions import MODERN, shape
from dedalus_mcp.types.rounds import InputResponse

__all__ = ("MAX_ROUNDS", "Rounds")

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R")

MAX_ROUNDS = 10
"""Rounds of one request, unless set otherwise; the field's clients agree on that number."""

# Seconds before a request that was answered with nothing but state is made again; it doubles each
# time in a row: ten rounds give the server six seconds in all.
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0


class Rounds:
    """Plays the rounds of one client's requests.

    Args:
        link: The connection, which knows who answers.
        requests: Makes the requests.
        max_rounds: How many rounds one request may have (a count).
    """

    def __init__(self, link: Link, requests: Requests, max_rounds: int = MAX_ROUNDS) -> None:
        self._link = link
        self._requests = requests
        self._max_rounds = max_rounds

    async def make(
        self, method: Method[P, R], params: P, *, timeout: Timeout | None = None, progress: Progress | None = None
    ) -> R:
        """Make a request and return its result, whatever the server wants to know before.

        Raises:
            RemoteProtocolError: The server asks without end, or what it may not.
            Exception: What `Requests.make` raises; and what a handler that was asked raises.
        """
        begin = anyio.current_time()
        try:
            return await self._requests.make(method, params, timeout=timeout, progress=progress)
        except InputRequired as required:
            asked = required.result
        patience = _Patience(method.name, timeout, anyio.current_time() - begin)
        for _ in range(self._max_rounds):
            round = Round[R].of(method, params, asked)
            params = self._retry(round, await self._answers(round, patience))
            begin, left = anyio.current_time(), patience.left()
            try:
                return await self._requests.make(method, params, timeout=left, progress=progress)
            except InputRequired as required:
                asked = required.result
            patience.spend(anyio.current_time() - begin)
        raise RemoteProtocolError(
            f"{method.name!r} does not end: the server asks for more than {self._max_rounds} rounds of input, "
            "which is the limit (max_rounds)"
        )

    async def begin(
        self, method: Method[P, R], params: P, *, timeout: Timeout | None = None, progress: Progress | None = None
    ) -> R | Round[R]:
        """Make a request once, and return its result or the round that comes before."""
        try:
            return await self._requests.make(method, params, timeout=timeout, progress=progress)
        except InputRequired as required:
            return Round[R].of(method, params, required.result)

    async def go_on(
        self,
        round: Round[R],
        answers: Mapping[str, InputResponse],
        *,
        timeout: Timeout | None = None,
        progress: Progress | None = None,
    ) -> R | Round[R]:
        """Make the request of a round again, with answers that are legal.

        Raises:
            LocalProtocolError: This connection speaks a revision without rounds.
            Exception: What `Requests.make` raises.
        """
        return await self.begin(round.method, self._retry(round, answers), timeout=timeout, progress=progress)

    def _retry(self, round: Round[Any], answers: Mapping[str, InputResponse]) -> Any:
        revision = self._link.revision
        if revision not in MODERN:  # the server would begin anew, and might do everything twice
            raise LocalProtocolError(f"a round cannot go on in {revision}, which has none")
        return round.retry({key: shape(answer, revision) for key, answer in answers.items()})

    async def _answers(self, round: Round[Any], patience: _Patience) -> Mapping[str, InputResponse]:
        """Ask everything that a round asks, or pause; nobody is asked where one question is not legal."""
        if not round.questions:
            await patience.pause()
            return {}
        patience.rested()
        asks = Asking()
        for key, question in round.questions.items():
            try:
                asks.add(key, self._link.answers.prepare(question))
            except McpError as error:
                raise RemoteProtocolError(
                    f"{round.method.name!r} asks for {question.method} under {key!r:.80}, which it may not: "
                    f"{error.message:.200}"
                ) from None
        answers = await asks.run(self._link.over)
        if answers is None:
            raise ConnectionLost(self._link.ended or "the connection is closed")
        return answers


class _Patience:
    """What is left of a request's timeout, which only the server's time and our pauses use up."""

    def __init__(self, method: str, timeout: Timeout | None, spent: float) -> None:
        self._method = method
        self._timeout = timeout
        self._spent = spent
        self._next_pause = FIRST_PAUSE

    def spend(self, seconds: float) -> None:
        """So much was used up."""
        self._spent += seconds

    def left(self) -> Timeout | None:
        """What the next request may use; a round counts as progress.

        Raises:
            RequestTimeout: Nothing is left.
        """
        timeout = self._timeout
        if timeout is None:
            return None
        seconds = timeout.seconds if timeout.reset_on_progress else timeout.seconds - self._spent
        total = None if timeout.total is None else timeout.total - self._spent
        if seconds <= 0 or (total is not None and total <= 0):
            raise RequestTimeout(self._method, self._spent)
        return Timeout(seconds, reset_on_progress=timeout.reset_on_progress, total=total)

    async def pause(self) -> None:
        """Let the server have some time, longer each time in a row.

        Raises:
            RequestTimeout: Nothing is left meanwhile.
        """
        left = self.left()
        bounds = [] if left is None else [left.seconds] if left.total is None else [left.seconds, left.total]
        seconds = min(self._next_pause, *bounds) if bounds else self._next_pause
        self._next_pause = min(self._next_pause * 2, LONGEST_PAUSE)
        await anyio.sleep(seconds)
        self.spend(seconds)

    def rested(self) -> None:
        """The server has asked something: the next pause is a first one."""
        self._next_pause = FIRST_PAUSE
