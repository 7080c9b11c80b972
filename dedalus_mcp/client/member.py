"""One server of a group: opened in the background, kept with its error where it cannot be.

    opening ──▶ connected ──▶ over
       └──────▶ failed

Layer: L4.
"""

from __future__ import annotations

import anyio

from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.client.configuration import HttpEntry, ServerEntry, StdioEntry
from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.client.delivery import Deliveries
from dedalus_mcp.client.settings import ClientSettings
from dedalus_mcp.errors import ConnectionLost
from dedalus_mcp.jsonrpc.tasks import ends_the_task

__all__ = ("Member",)

MAX_URIS = 10_000
"""Resources of one server that are remembered as its own."""


class Member:
    """One server.

    Args:
        name: What the group calls it.
        target: See `MCPClient.connect`.
        settings: See there.

    Attributes:
        name: See above.
        fault: What its last list failed by; None where it did not.
        uris: The resources that it has listed.
    """

    def __init__(self, name: str, target: Connectable | ServerEntry, settings: ClientSettings) -> None:
        self.name = name
        self.fault: Exception | None = None
        self.uris: set[str] = set()
        self._target = target
        self._settings = settings
        self._client: MCPClient | None = None
        self._error: Exception | None = None
        self._settled = anyio.Event()
        self._scope: anyio.CancelScope | None = None

    @property
    def client(self) -> MCPClient | None:
        """Its client, as long as that is connected."""
        return self._client if self._client is not None and self._client.ended is None else None

    def connected(self) -> MCPClient:
        """Return its client.

        Raises:
            ConnectionLost: It is not connected; the text says why.
        """
        client = self.client
        if client is None:
            why = self.error or "it is being connected to"
            raise ConnectionLost(f"server {self.name!r} is not connected: {why}") from self.error
        return client

    @property
    def error(self) -> Exception | None:
        """What is wrong with it; None where nothing is, or nothing is known yet."""
        if self._client is not None and self._client.ended is not None:
            return ConnectionLost(self._client.ended)
        return self._error or self.fault

    @property
    def is_opening(self) -> bool:
        """Whether it is being connected to."""
        return self._scope is not None and not self._settled.is_set()

    async def settled(self) -> None:
        """Return when it is connected, or has failed."""
        await self._settled.wait()

    def begin(self, tasks: Deliveries, room: anyio.CapacityLimiter, seconds: float) -> None:
        """Open it in a task of its own, for so many seconds at most.  Whoever wants to know awaits `settled`."""
        self._settled = anyio.Event()
        self._error = self.fault = None
        self._scope = anyio.CancelScope()
        scope, settled = self._scope, self._settled

        async def run() -> None:
            with scope:
                await self._open(room, seconds, settled)

        tasks.start(run)

    async def close(self) -> None:
        """End its connection, or the attempt to make one.  Idempotent."""
        if self._scope is not None:
            self._scope.cancel()
            await self._settled.wait()
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _open(self, room: anyio.CapacityLimiter, seconds: float, settled: anyio.Event) -> None:
        try:
            async with room:
                with anyio.fail_after(seconds):
                    target, settings = _reached(self._target, self._settings)
                    self._client = await MCPClient.connect(target, **settings)
        except TimeoutError as error:
            self._error = error if str(error) else TimeoutError(f"not connected within {seconds:.3g} s")
        except BaseException as error:
            if ends_the_task(error):
                self._error = ConnectionLost("the connection was closed before it was made")
                raise
            self._error = error if isinstance(error, Exception) else ConnectionLost(repr(error)[:200])
        finally:
            settled.set()


def _reached(target: Connectable | ServerEntry, settings: ClientSettings) -> tuple[Connectable, ClientSettings]:
    """An entry of a configuration as something to connect to, and the settings that are left."""
    if not isinstance(target, HttpEntry | StdioEntry):
        return target, settings
    from dedalus_mcp.reaching import target_of  # noqa: PLC0415 - the door: it knows the transports

    left: ClientSettings = {**settings}
    headers, auth, http_client = left.pop("headers", None), left.pop("auth", None), left.pop("http_client", None)
    return target_of(target, headers=headers, auth=auth, http_client=http_client), left
