"""A call that goes on here, though another process began it: its handler runs again, from its top.

It runs in a task of its own, for whoever sends the retries: the one that came first may leave.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Call
from dedalus_mcp.jsonrpc.tasks import Tasks, ends_the_task
from dedalus_mcp.server.context import Context

__all__ = ("Handle", "apart", "run_apart")

logger = logging.getLogger("dedalus_mcp")

Handle = Callable[[Context], Coroutine[Any, Any, object]]
"""Runs a call's handler to its end, with the context that it sees."""


def apart(retry: Context) -> Context:
    """Return the call of a retry once more, for a handler whose reply is nobody's but the retries'."""
    of = retry.call
    call = Inbound(Call(of.id, of.method, of.params), of.channel, None, of.peer)
    call.finished = True
    return Context(retry.server, of.peer, call, retry.terms, retry.meta)


def run_apart(
    call: Inbound, handle: Callable[[], Coroutine[Any, Any, object]], tasks: Tasks, *, awaited: bool = False
) -> None:
    """Run a handler in a task of its own.

    Args:
        call: That of the context that `apart` gave.
        handle: Runs it to its end.
        tasks: Where it runs; on a connection of its own it is that connection's, and ends with it.
        awaited: See `Peer.run_apart`.
    """

    async def run() -> None:
        with call.scope:
            try:
                await handle()
            except BaseException as error:
                if ends_the_task(error):
                    raise
                logger.exception("running %.80r again failed", call.method)

    if call.channel.carrier is None:
        call.peer.run_apart(call, run, awaited=awaited)
    else:
        tasks.start(run)
