"""A server that hands on what another offers, to clients of any revision, whatever that one speaks.

    server = proxy(StdioServer("python", ["old_server.py"]), name="front")
    server.run("streamable-http")

Layer: L6.
"""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple, TypeVar, Unpack

import anyio

from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.client.settings import ClientSettings, conduct_of
from dedalus_mcp.client.timeouts import DEFAULT
from dedalus_mcp.errors import ConnectionLost, DedalusError, McpError
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.proxies.face import Face
from dedalus_mcp.proxies.upstream import Rules, Upstream
from dedalus_mcp.server.config import ServerConfig
from dedalus_mcp.server.server import MCPServer
from dedalus_mcp.types import (
    CompletionsCapability,
    LoggingCapability,
    PromptsCapability,
    RequestParams,
    ResourcesCapability,
    ServerCapabilities,
    ToolsCapability,
)
from dedalus_mcp.types.method import Method

__all__ = ("Proxy", "proxy")

logger = logging.getLogger("dedalus_mcp")

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R")

CALL_SECONDS = 300.0
"""How long a call may take, unless set otherwise: our client's patience is its own, and tells us when it ends."""

REFRESH_SECONDS = 5.0
"""How long a list waits for the upstream server, where that has to be asked first, and a start that can do without."""

MAX_OWN = 100
"""Connections of clients' own, unless set otherwise: with stdio, each is a process."""

_OURS = frozenset(
    {
        "cache",
        "check_outputs",
        "elicitation",
        "elicitation_url",
        "extensions",
        "logging",
        "max_rounds",
        "prompts_list_changed",
        "resource_updated",
        "resources_list_changed",
        "roots",
        "sampling",
        "sampling_tools",
        "tools_list_changed",
    }
)
"""Settings of a client that the proxy sets: what its own clients can do is declared, and handed on."""


def proxy(  # noqa: PLR0913 - who the server is, by keyword
    target: Any,
    *,
    name: str = "proxy",
    version: str | None = None,
    title: str | None = None,
    instructions: str | None = None,
    config: ServerConfig | None = None,
    state_keys: Sequence[bytes | str] = (),
    required: bool = True,
    shared: bool = False,
    max_connections: int = MAX_OWN,
    **settings: Unpack[ClientSettings],
) -> Proxy:
    """Make a server that hands on the whole face of another one, in both directions.

    Args:
        target: What `MCPClient.connect` takes; or a client that is connected, which is not closed.
        name: Of the new server.
        version: See `MCPServer`.
        title: See there.
        instructions: See there; those of the upstream server if None.
        config: See there.
        state_keys: See there: calls that ask in rounds begin anew at the upstream server in another process.
        required: Whether the proxy, and what includes it, starts only where the upstream server can be reached.
            Else what that offers is there as soon as it can be.
        shared: Whether one connection is enough for all clients: the upstream server keeps nothing for
            a session.  Then a server of a legacy revision asks nobody, and its logs go nowhere.
        max_connections: Connections for single clients, at most.
        settings: See `ClientSettings`; only those that are about the connection itself.  Without `timeout`,
            connecting may take a minute, and a call five.

    Raises:
        TypeError: There is no such setting, or it is one that the proxy sets itself.
        ValueError: A value is not legal.
    """
    if taken := sorted(_OURS & settings.keys()):
        raise TypeError(f"a proxy takes no {taken[0]!r}: that is up to its clients")
    if max_connections < 1:
        raise ValueError(f"max_connections is a count >= 1, not {max_connections!r}")
    if isinstance(target, MCPClient) and settings:
        raise TypeError("a client that is connected has its settings already")
    conduct_of(settings)  # raises here, and not when somebody connects
    given = isinstance(target, MCPClient)
    timeout = DEFAULT if given or "timeout" in settings else CALL_SECONDS
    rules = Rules(
        0 if shared or given else max_connections,
        given=given,
        alike=_is_one_server(target),
        timeout=timeout,
        masked=config is None or config.mask_errors,
    )
    return Proxy(
        _Way(target, settings, rules, required),
        name,
        version=version,
        title=title,
        instructions=instructions,
        config=config,
        state_keys=state_keys,
    )


def _is_one_server(target: Any) -> bool:
    """Whether all connections to a target lead to one server, as by a URL or in this process."""
    return isinstance(target, str | MCPServer | MCPClient) or hasattr(target, "url")


class _Way(NamedTuple):
    """How the upstream server is reached, and used."""

    target: Any
    settings: ClientSettings
    rules: Rules
    required: bool

    async def connect(self, settings: ClientSettings) -> MCPClient:
        """Connect, with settings besides those that always hold."""
        if isinstance(self.target, MCPClient):
            if self.target.ended is not None:
                raise ConnectionLost(self.target.ended)
            return self.target
        merged = ClientSettings(cache=None, check_outputs=False)
        merged.update(self.settings)
        merged.update(settings)
        return await MCPClient.connect(self.target, **merged)


class Proxy(MCPServer):
    """A server that hands on what another one offers, made by `proxy`.

    Args:
        way: How the other one is reached.
        name: Its own name.
        settings: See `MCPServer`.
    """

    def __init__(  # noqa: PLR0913 - who the server is, by keyword
        self,
        way: _Way,
        name: str,
        *,
        version: str | None,
        title: str | None,
        instructions: str | None,
        config: ServerConfig | None,
        state_keys: Sequence[bytes | str],
    ) -> None:
        super().__init__(
            name,
            version=version,
            title=title,
            instructions=instructions,
            config=config,
            state_keys=state_keys,
            lifespan=lambda _: self._upstream_open(),
        )
        self.before_lists = (self._refresh,)
        self._way = way
        self._says_how_to_use_it = instructions is not None
        self._face = Face(self)

    @property
    def capabilities(self) -> ServerCapabilities:
        """What the upstream server can do, of what can be handed on."""
        theirs = self._face.capabilities
        if theirs is None:
            return super().capabilities
        return ServerCapabilities(
            logging=theirs.logging and LoggingCapability(),
            tools=theirs.tools and ToolsCapability(listChanged=theirs.tools.listChanged),
            prompts=theirs.prompts and PromptsCapability(listChanged=theirs.prompts.listChanged),
            resources=theirs.resources
            and ResourcesCapability(subscribe=theirs.resources.subscribe, listChanged=theirs.resources.listChanged),
            completions=CompletionsCapability() if self.completions.elsewhere else None,
            extensions=theirs.extensions,
        )

    def included(self) -> Iterator[MCPServer]:
        """Give all servers that are included here, and those in this process that it stands before."""
        yield from super().included()
        if isinstance(self._way.target, MCPServer):
            yield self._way.target
            yield from self._way.target.included()

    async def forward(self, method: Method[P, R], params: P) -> R:
        """Make a request at the upstream server, for the call that is being answered or for nobody.

        Raises:
            RuntimeError: The proxy is not served, so that there is no connection.
            McpError: The upstream server's error; or -32000, it is gone; or -32603, it does not answer.
        """
        return await self._upstream().forward(method, params)

    def watched(self, uri: str) -> AbstractAsyncContextManager[None]:
        """Hear of the changes of a resource meanwhile.

        Raises:
            RuntimeError, McpError: See `forward`, on entering.
        """
        return self._upstream().watched(uri)

    def _upstream(self) -> Upstream:
        upstream: Upstream | None = self.lifespan_value
        if upstream is None:
            raise RuntimeError(f"proxy {self.name!r:.80} is not served: use it inside of `async with proxy.running()`")
        return upstream

    @asynccontextmanager
    async def _upstream_open(self) -> AsyncGenerator[Upstream]:
        upstream = Upstream(self.name, self._connect, self._face, self.hear, self._way.rules)
        try:
            await self._open(upstream)
            yield upstream
        finally:
            await upstream.aclose()

    async def _open(self, upstream: Upstream) -> None:
        why: object = f"it takes more than {REFRESH_SECONDS:g} s"
        with anyio.move_on_after(math.inf if self._way.required else REFRESH_SECONDS):
            try:
                await upstream.open()
            except (DedalusError, OSError) as error:
                if self._way.required:
                    raise
                why = error
            else:
                return
        logger.warning("%r starts without its upstream server: %s", self.name, excerpt(why))
        if self._face.capabilities is None:
            self._face.promise()

    async def _connect(self, settings: ClientSettings) -> MCPClient:
        client = await self._way.connect(settings)
        if not self._says_how_to_use_it:
            self.instructions = client.instructions
        return client

    async def _refresh(self, method: str) -> None:
        why: object = f"it takes more than {REFRESH_SECONDS:g} s"
        with anyio.move_on_after(REFRESH_SECONDS):
            try:
                await self._upstream().refresh(method)
            except McpError as error:
                why = error
            else:
                return
        # What was listed last is better than nothing, and others may be listed besides.
        logger.warning("%r: the upstream server does not list what it has: %s", self.name, excerpt(why))
