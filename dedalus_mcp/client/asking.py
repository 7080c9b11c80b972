"""Asks the questions of one round, all at once.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from dedalus_mcp.client.answers import Ask
from dedalus_mcp.jsonrpc.tasks import is_foreign
from dedalus_mcp.types.rounds import InputResponse

__all__ = ("Asking",)


class Asking:
    """The questions of one round.  The first that fails ends the others: half a round is no use to a server."""

    def __init__(self) -> None:
        self._asks: dict[str, Ask] = {}
        self._answers: dict[str, InputResponse] = {}
        self._failure: BaseException | None = None

    def add(self, key: str, ask: Ask) -> None:
        """Add the question of that key."""
        self._asks[key] = ask

    async def run(self, over: Callable[[], Awaitable[None]]) -> dict[str, InputResponse] | None:
        """Ask everything and return the answers by key; None if the connection ends first.

        Args:
            over: Returns when it does.

        Raises:
            BaseException: What the first question that failed raised.
        """
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, over, group.cancel_scope)
            for key, ask in self._asks.items():
                group.start_soon(self._run, key, ask, group.cancel_scope)
        if self._failure is not None:
            raise self._failure
        complete = len(self._answers) == len(self._asks)
        return {key: self._answers[key] for key in self._asks} if complete else None

    async def _watch(self, over: Callable[[], Awaitable[None]], scope: anyio.CancelScope) -> None:
        await over()
        scope.cancel()

    async def _run(self, key: str, ask: Ask, scope: anyio.CancelScope) -> None:
        try:
            self._answers[key] = await ask()
        except anyio.get_cancelled_exc_class() as cancelled:
            if not is_foreign(cancelled):
                raise
            self._fail(key, RuntimeError("what a handler waited for was cancelled"), scope)
        except BaseException as error:  # noqa: BLE001 - raised where it can be caught: not in a group
            self._fail(key, error, scope)
        if len(self._answers) == len(self._asks):
            scope.cancel()

    def _fail(self, key: str, error: BaseException, scope: anyio.CancelScope) -> None:
        if self._failure is None:
            error.add_note(f"raised by the handler that answers the server's question {key!r:.80}")
            self._failure = error
        scope.cancel()
