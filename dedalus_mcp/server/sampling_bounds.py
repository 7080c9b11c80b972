"""How much one client's model is asked, and when it is asked no more.

    waits for a place ──▶ asked ──▶ answered: the place is another's
                            └─fails so often in a row──▶ the next ones fail at once, for a while

What counts is what is pushed at the client: requests of ours, in a session.  On 2026-07-28 clients
fetch the questions of a call in rounds and answer them at their own pace; there no question takes a
place, since calls parked with their places would keep others waiting for as long as people think, and
a call that put its questions to the client by and by would soon have had all its rounds.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

import anyio

from dedalus_mcp.errors import INTERNAL_ERROR, AskFailed
from dedalus_mcp.jsonrpc.loops import PerLoop
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.server.breaker import Breaker

if TYPE_CHECKING:
    from dedalus_mcp.server.config import SamplingConfig

__all__ = ("SamplingBounds", "SamplingBoundsByPeer")

R = TypeVar("R")


class SamplingBounds:
    """Those of one conversation.

    Args:
        config: What they are.
    """

    __slots__ = ("_breaker", "_places")

    def __init__(self, config: SamplingConfig) -> None:
        self._places = anyio.Semaphore(config.max_concurrent)
        self._breaker = Breaker(config.failure_threshold, config.cooldown_seconds)

    async def put(self, ask: Callable[[], Awaitable[R]]) -> R:
        """Ask one question once there is a place, and return the answer.

        Raises:
            AskFailed: What `ask` raised; or -32603, the client has failed too often.
        """
        self._check()
        async with self._places:
            self._check()  # it may have failed meanwhile
            number = self._breaker.begin()
            try:
                answer = await ask()
            except BaseException as error:
                if isinstance(error, AskFailed) and error.by_client:
                    self._breaker.failed(number, anyio.current_time())
                else:
                    self._breaker.abandoned(number)
                raise
            self._breaker.succeeded()
            return answer

    def _check(self) -> None:
        if (why := self._breaker.refusal(anyio.current_time())) is not None:
            raise AskFailed(INTERNAL_ERROR, f"The client is not asked for sampling: {why}")


class SamplingBoundsByPeer:
    """Those of every conversation in which there was any sampling, for as long as it lasts.

    Args:
        config: What they are.
    """

    def __init__(self, config: SamplingConfig) -> None:
        self._config = config
        self._by_peer: PerLoop[WeakKeyDictionary[Peer, SamplingBounds]] = PerLoop(WeakKeyDictionary)

    def of(self, peer: Peer) -> SamplingBounds:
        """Return those of one conversation."""
        known = self._by_peer.here()
        bounds = known.get(peer)
        if bounds is None:
            bounds = known[peer] = SamplingBounds(self._config)
        return bounds
