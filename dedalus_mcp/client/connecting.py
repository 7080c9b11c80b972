"""A connection about to be made.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from dedalus_mcp.transport import Duplex, Target

if TYPE_CHECKING:
    from dedalus_mcp.server.server import MCPServer

__all__ = ("Connectable", "Connecting")

Connectable: TypeAlias = "str | MCPServer | Target | Duplex"
"""What a client can connect to: a URL, a server in this process, something that opens connections, or a connection."""


class _Closable(Protocol):
    async def close(self) -> None: ...


ClientT = TypeVar("ClientT", bound=_Closable)


class Connecting(Generic[ClientT]):
    """A connection about to be made: await it for the client, or enter it and have it closed."""

    def __init__(self, open_client: Callable[[], Awaitable[ClientT]]) -> None:
        self._open_client = open_client
        self._client: ClientT | None = None

    def __await__(self) -> Generator[Any, Any, ClientT]:
        return self._open_client().__await__()

    async def __aenter__(self) -> ClientT:
        if self._client is not None:
            raise RuntimeError("this connection is entered already; call MCPClient.connect() for another")
        self._client = await self._open_client()
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        client, self._client = self._client, None
        assert client is not None, "entered first"
        await client.close()

    if not TYPE_CHECKING:  # checkers know already that there is nothing else

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(
                f"there is no {name!r:.80} before the connection is made: "
                "`async with MCPClient.connect(...) as client`, or `client = await MCPClient.connect(...)`"
            )
