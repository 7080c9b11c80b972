"""Who is in a group of clients: opened together, added, removed and connected anew one by one.

Layer: L4.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, Unpack

import anyio

from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.client.configuration import HttpEntry, ServerEntry, entry_of, read_configuration
from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.client.delivery import Deliveries
from dedalus_mcp.client.member import Member
from dedalus_mcp.client.naming import server_name
from dedalus_mcp.client.settings import ClientSettings, conduct_of
from dedalus_mcp.errors import ConnectionLost

__all__ = ("Members",)

MAX_OPENING = 8
"""Servers that are being connected to at once: each may be a process that starts."""

# Seconds: `npx` and `uvx` may have to fetch a server before they start it.
OPEN_SECONDS = 30.0
# Seconds that entering a group waits for those that are slow.
PATIENCE_SECONDS = 5.0


class Members:
    """The part of `MCPClientGroup` that is about its servers: see there for what it takes."""

    def __init__(
        self,
        servers: Mapping[str, Any] | str | os.PathLike[str] | None = None,
        *,
        settings_of: Callable[[str], ClientSettings] | None = None,
        open_timeout: float = OPEN_SECONDS,
        patience: float = PATIENCE_SECONDS,
        max_opening: int = MAX_OPENING,
        **settings: Unpack[ClientSettings],
    ) -> None:
        if lone := sorted(settings.keys() & {"auth", "headers"}):  # they would go to every server
            raise TypeError(f"{lone[0]}= is for one server: give it by settings_of=, or in the configuration")
        if not (settings_of is None or callable(settings_of)):
            raise TypeError(f"settings_of is a function of a server's name, not {settings_of!r:.80}")
        conduct_of(settings)
        self._settings = settings
        self._settings_of = settings_of
        self._open_timeout = open_timeout
        self._patience = patience
        self._max_opening = max_opening
        self._members: dict[str, Member] = {}
        self._tasks = Deliveries()
        self._room: anyio.CapacityLimiter | None = None
        self._closed = False
        for name, target in _targets(servers or {}).items():
            self._join(name, target, {})

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Connect to all servers at once; return when each is connected or has failed, or patience is at its end.

        Raises:
            RuntimeError: The group was opened before.
        """
        if self._room is not None or self._closed:
            raise RuntimeError("a group is opened once; make another")
        self._room = anyio.CapacityLimiter(self._max_opening)
        try:
            for member in self._members.values():
                member.begin(self._tasks, self._room, self._open_timeout)
            with anyio.move_on_after(self._patience):
                for member in list(self._members.values()):
                    await member.settled()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End all connections, at once.  Idempotent, from any task."""
        self._closed = True
        with anyio.CancelScope(shield=True):  # bounded: closing each client is
            async with anyio.create_task_group() as group:
                for member in self._members.values():
                    group.start_soon(member.close)
            await self._tasks.close()

    # Who is in it.

    @property
    def names(self) -> tuple[str, ...]:
        """The servers' names, as they stand before those of their tools."""
        return tuple(self._members)

    @property
    def errors(self) -> dict[str, Exception]:
        """What is wrong with those servers that are not there, or did not answer for the last list, by name."""
        return {name: error for name, member in self._members.items() if (error := member.error) is not None}

    @property
    def opening(self) -> tuple[str, ...]:
        """The names of those that are still being connected to."""
        return tuple(name for name, member in self._members.items() if member.is_opening)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self._members)

    def __getitem__(self, name: str) -> MCPClient:
        """Return the client of one server.

        Raises:
            LookupError: There is no such server in the group.
            ConnectionLost: It is not connected; the text says why.
        """
        return self._member(name).connected()

    async def add(self, name: str, target: Connectable | ServerEntry, **settings: Unpack[ClientSettings]) -> MCPClient:
        """Take one more server into the open group, and return its client.

        Args:
            name: What to call it.
            target: See `MCPClient.connect`.
            settings: What differs for it from the settings of the group.

        Raises:
            ValueError: There is a server of that name.
            RuntimeError: The group is not open.
            Exception: What `MCPClient.connect` raises; then it is not in the group.
        """
        room = self._opened()
        member = self._join(name, target, settings)
        try:
            return await self._begun(member, room)
        except BaseException:
            self._members.pop(member.name, None)
            with anyio.CancelScope(shield=True):
                await member.close()
            raise

    async def remove(self, name: str) -> None:
        """Close one server's connection, and forget the server.

        Raises:
            LookupError: There is no such server in the group.
        """
        member = self._member(name)
        del self._members[name]
        with anyio.CancelScope(shield=True):
            await member.close()

    async def reconnect(self, name: str) -> MCPClient:
        """Connect to one server anew, and return its client; whatever it does is ended before.

        Raises:
            LookupError: There is no such server in the group.
            RuntimeError: The group is not open.
            Exception: What `MCPClient.connect` raises; then it is in `errors`.
        """
        room, member = self._opened(), self._member(name)
        if not member.is_opening:
            with anyio.CancelScope(shield=True):
                await member.close()
            room, member = self._opened(), self._member(name)  # much may have happened meanwhile
        return await self._begun(member, room)

    def _join(self, name: str, target: Connectable | ServerEntry, settings: ClientSettings) -> Member:
        known = server_name(name)
        if known in self._members:
            raise ValueError(f"two servers of this group would be called {known!r}: the second is {name!r:.80}")
        of_group: ClientSettings = {**self._settings}
        if not isinstance(target, HttpEntry | str):
            of_group.pop("http_client", None)
        own: ClientSettings = {} if self._settings_of is None else self._settings_of(known)
        given: ClientSettings = {**of_group, **own, **settings}
        conduct_of(given)
        member = self._members[known] = Member(known, target, given)
        return member

    def _opened(self) -> anyio.CapacityLimiter:
        if self._room is None or self._closed:
            raise RuntimeError("the group is not open: use it in `async with MCPClientGroup(...)`")
        return self._room

    def _member(self, name: str) -> Member:
        member = self._members.get(name)
        if member is None:
            raise LookupError(f"no server {name!r:.80} in this group; there are: {', '.join(self._members) or 'none'}")
        return member

    async def _begun(self, member: Member, room: anyio.CapacityLimiter) -> MCPClient:
        if member.client is None and not member.is_opening:  # by somebody else, who wants the same
            member.begin(self._tasks, room, self._open_timeout)
        await member.settled()
        if member.client is None:
            raise member.error or ConnectionLost("the group was closed")
        return member.client


def _targets(servers: Mapping[str, Any] | str | os.PathLike[str]) -> Mapping[str, Any]:
    if not isinstance(servers, str | os.PathLike | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers err
        raise TypeError(
            f"servers are a mapping of targets by name, a configuration with 'mcpServers' or the path of its file, "
            f"not {type(servers).__name__}"
        )
    if isinstance(servers, str | os.PathLike) or isinstance(servers.get("mcpServers"), Mapping | list):
        return read_configuration(servers)
    return {name: entry_of(target, name) if isinstance(target, Mapping) else target for name, target in servers.items()}
