"""Asking whether clients are there: the part of a server's face for that.

Clients of 2026-07-28 have no sessions and know no ping: each of their requests stands alone.

Layer: L4.
Source: MCP 2025-11-25, basic/utilities/ping.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from anyio.abc import TaskGroup

from dedalus_mcp.errors import METHOD_NOT_FOUND, McpError
from dedalus_mcp.jsonrpc.loops import PerLoop
from dedalus_mcp.server.config import ServerConfig
from dedalus_mcp.server.context import get_context
from dedalus_mcp.server.heartbeat import Heartbeat, for_each
from dedalus_mcp.server.sessions import Session, ping

__all__ = ("Pinging",)


class Pinging:
    """The part of `MCPServer` that pings.

    Attributes:
        config: The settings.
        sessions: The clients that have begun a session, for each event loop, oldest first.
    """

    config: ServerConfig
    sessions: PerLoop[dict[Session, None]]

    def __init__(self) -> None:
        super().__init__()
        self._beating: PerLoop[list[TaskGroup]] = PerLoop(list)

    def active_sessions(self) -> tuple[Session, ...]:
        """Return the clients that have a session now in this event loop, oldest first."""
        return tuple(self.sessions.here())

    async def ping_client(self, session: Session, *, timeout: float | None = None) -> bool:
        """Ask a client whether it is there.

        Args:
            session: The client.
            timeout: How long to wait, in seconds; None for what `PingConfig` says.

        Returns:
            Whether it has answered; False also where it cannot be asked, see `Session.reachable`.

        Raises:
            LocalProtocolError: Too many of our calls to it are open.
        """
        return await session.ping(self._seconds(timeout))

    async def ping_clients(
        self,
        sessions: Iterable[Session] | None = None,
        *,
        timeout: float | None = None,
        max_concurrency: int | None = None,
    ) -> dict[Session, bool]:
        """Ask several clients at a time whether they are there: see `ping_client`.

        Args:
            sessions: Which; None for all.
            timeout: How long to wait for each, in seconds.
            max_concurrency: How many to ask at a time; None for what `PingConfig` says.

        Raises:
            ValueError: `max_concurrency` is less than 1.
        """
        asked = self.active_sessions() if sessions is None else tuple(sessions)
        limit = self.config.ping.max_concurrency if max_concurrency is None else max_concurrency
        if limit < 1:
            raise ValueError(f"max_concurrency must be at least 1, not {limit!r}")
        answers: dict[Session, bool] = dict.fromkeys(asked, False)

        async def ask(session: Session) -> None:
            answers[session] = await self.ping_client(session, timeout=timeout)

        await for_each(answers, ask, limit)
        return answers

    async def ping_current_session(self, *, timeout: float | None = None) -> bool:
        """Ask the client whose call is being answered whether it is still there.

        Args:
            timeout: How long to wait, in seconds; None for what `PingConfig` says.

        Raises:
            LookupError: No call is being answered here.
            McpError: -32601, the client knows no ping (2026-07-28), or cannot be asked on the response to this call.
        """
        context = get_context()
        if context.modern or not context.call.channel.takes_calls:
            raise McpError(METHOD_NOT_FOUND, f"The client cannot be pinged here, in revision {context.revision}")
        return await ping(context.peer, context.call.channel, self._seconds(timeout))

    def start_ping_heartbeat(
        self,
        task_group: TaskGroup,
        *,
        interval: float | None = None,
        jitter: float | None = None,
        timeout: float | None = None,
        phi_threshold: float | None = None,
        max_concurrency: int | None = None,
    ) -> None:
        """Ping all clients of this event loop regularly, as long as the task group lives: in a lifespan, mostly.

        `PingConfig.on_suspect` and `on_down` are told of those that do not answer.

        Args:
            task_group: Where it runs.
            interval: See `PingConfig`, which also says what holds where nothing is given.
            jitter: See there.
            timeout: See there.
            phi_threshold: See there.
            max_concurrency: See there.

        Raises:
            RuntimeError: It runs already in this event loop, or the task group is over.
            ValueError: A setting is not legal.
        """
        given = {
            "interval": interval,
            "jitter": jitter,
            "timeout": timeout,
            "phi_threshold": phi_threshold,
            "max_concurrency": max_concurrency,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        config = msgspec.structs.replace(self.config.ping, **changes)
        beating = self._beating.here()
        if any(not group.cancel_scope.cancel_called for group in beating):
            raise RuntimeError("Ping heartbeat already started")
        task_group.start_soon(self._beat, Heartbeat(config, self.active_sessions), task_group)
        beating[:] = [task_group]

    async def _beat(self, heartbeat: Heartbeat, group: TaskGroup) -> None:
        beating = self._beating.here()
        try:
            await heartbeat.run()
        finally:
            if group in beating:
                beating.remove(group)

    def _seconds(self, timeout: float | None) -> float:
        return self.config.ping.timeout if timeout is None else timeout
