"""The connections to the upstream server: one for what is everybody's, and one for each client that needs its own.

A connection of a client's own declares what that client can do, and what is asked on it is asked
of the call that began last, and still runs: on legacy revisions nothing says which one is meant.

Layer: L6.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import TypeAlias

import anyio

from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.client.settings import ClientSettings
from dedalus_mcp.errors import INTERNAL_ERROR, ErrorData, McpError
from dedalus_mcp.proxies.questions import takes_forms
from dedalus_mcp.proxies.relaying import Relayed
from dedalus_mcp.server.context import Context
from dedalus_mcp.types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ListRootsRequest,
    ListRootsResult,
    LoggingLevel,
    LoggingMessageNotificationParams,
    Root,
)
from dedalus_mcp.types.methods import MESSAGE
from dedalus_mcp.types.revisions import MODERN, shape
from dedalus_mcp.types.rounds import InputRequest, InputResponse

__all__ = ("Connect", "Connection", "OwnConnection")

Connect: TypeAlias = Callable[[ClientSettings], Awaitable[MCPClient]]
"""Connects to the upstream server, with these settings besides those that always hold."""


class Connection:
    """A connection that is made when it is needed, and made anew when it was lost.

    Args:
        connect: Makes it.
        given: Whether it is somebody else's, and not to be ended here.

    Attributes:
        calls: Those of our clients that it carries now, in the order they began.
    """

    def __init__(self, connect: Callable[[], Awaitable[MCPClient]], *, given: bool = False) -> None:
        self.calls: list[Relayed] = []
        self._connect = connect
        self._given = given
        self._client: MCPClient | None = None
        self._making = anyio.Lock()
        self._closed = False

    @property
    def there(self) -> bool:
        """Whether it is made, and not lost."""
        return self._client is not None and self._client.ended is None

    async def client(self) -> MCPClient:
        """Return the client, connected.

        Raises:
            OSError, DedalusError: It cannot be; see `MCPClient.connect`.
        """
        if self._client is not None and self._client.ended is None:
            return self._client
        async with self._making:
            if self._client is None or self._client.ended is not None:
                await self._let_go()
                self._client = None if self._closed else await self._connect()
            if self._closed or self._client is None:  # meanwhile, maybe
                with anyio.CancelScope(shield=True):
                    await self._let_go()
                raise ConnectionError("whoever it was for is gone")
            return self._client

    async def aclose(self) -> None:
        """End it; calls that it carries fail.  Idempotent."""
        self._closed = True
        await self._let_go()

    async def _let_go(self) -> None:
        client, self._client = self._client, None
        if client is not None and not self._given:
            await client.close()


class OwnConnection(Connection):
    """The connection of one client of ours.

    Args:
        connect: Makes it, with settings.
        context: The call that needs it first.
        watched: The resources to hear of, if this connection leads to a server of its own.
    """

    def __init__(self, connect: Connect, context: Context, watched: Collection[str]) -> None:
        super().__init__(self._connected)
        self._connect_with = connect
        self._context = context
        self._watched = watched
        self._subscribed: set[str] = set()
        self._level: LoggingLevel | None = None
        self._roots_version = 0
        self._lists_roots = False  # nor does a server want to hear of roots that it never asked for

    async def ready(self, context: Context) -> MCPClient:
        """Return the client for a call, once the server knows what ours has set since the last one.

        Raises:
            Exception: See `client`.
        """
        self._context = context
        client, terms = await self.client(), context.terms
        if self._subscribed != set(self._watched):
            await self._subscribe(client)
        if client.revision in MODERN:
            return client
        level = terms.log_level
        if client.server_capabilities.logging is not None and level not in (None, self._level):
            self._level = level
            with suppress(McpError):  # then it logs as it likes
                await client.set_logging_level(level)
        if context.client_capabilities.roots is not None and self._roots_may_differ(context):
            self._roots_version = terms.roots_version
            await client.notify_roots_list_changed()
        return client

    def _roots_may_differ(self, context: Context) -> bool:
        """Whether they may be others than the server knows; a client of 2026-07-28 does not tell when they change."""
        return self._lists_roots and (context.modern or context.terms.roots_version != self._roots_version)

    async def _subscribe(self, client: MCPClient) -> None:
        """Hear of what is watched now: what the call leads to is not to be missed."""
        for uri in set(self._watched) ^ self._subscribed:
            with suppress(McpError):  # the server of the one connection tells of it, or nobody does
                if uri in self._watched:
                    await client.subscribe_resource(uri)
                else:
                    await client.unsubscribe_resource(uri)
        self._subscribed = set(self._watched)

    async def _connected(self) -> MCPClient:
        self._subscribed = set()
        self._level, self._roots_version, self._lists_roots = None, self._context.terms.roots_version, False
        return await self._connect_with(self._settings())

    def _settings(self) -> ClientSettings:
        """What our client can do, declared as ours."""
        declared = self._context.client_capabilities
        settings = ClientSettings(logging=self._hear, extensions=declared.extensions)
        if takes_forms(declared):
            settings["elicitation"] = self._elicit
        if declared.elicitation is not None and declared.elicitation.url is not None:
            settings["elicitation_url"] = self._elicit_url
        if declared.sampling is not None:
            settings["sampling"] = self._sample
            settings["sampling_tools"] = declared.sampling.tools is not None
        if declared.roots is not None:
            settings["roots"] = self._list_roots
        return settings

    async def _elicit(self, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        answer = await self._ask(ElicitRequest(params=params))
        return answer if isinstance(answer, ElicitResult) else _error(answer)

    async def _elicit_url(self, params: ElicitRequestURLParams) -> ElicitResult | ErrorData:
        answer = await self._ask(ElicitRequest(params=params))
        return answer if isinstance(answer, ElicitResult) else _error(answer)

    async def _sample(self, params: CreateMessageRequestParams) -> CreateMessageResult | ErrorData:
        answer = await self._ask(CreateMessageRequest(params=params))
        return answer if isinstance(answer, CreateMessageResult) else _error(answer)

    async def _list_roots(self) -> list[Root]:
        self._lists_roots = True
        answer = await self._ask(ListRootsRequest())
        if not isinstance(answer, ListRootsResult):
            raise McpError(_error(answer))
        return answer.roots

    async def _ask(self, question: InputRequest) -> InputResponse | ErrorData | None:
        """Ask on behalf of the newest call; where that ends before the answer, of the one before it."""
        for call in reversed(self.calls.copy()):
            if call in self.calls and (answer := await call.ask(question)) is not None:
                return answer
        return None

    def _hear(self, message: LoggingMessageNotificationParams) -> None:
        if self.calls:
            self.calls[-1].hear(message)
            return
        context = self._context
        peer = context.peer
        if not context.modern and context.hears(message.level) and not peer.channel.full:
            peer.notify(MESSAGE.name, shape(message, context.revision))


def _error(answer: InputResponse | ErrorData | None) -> ErrorData:
    if isinstance(answer, ErrorData):
        return answer
    return ErrorData(INTERNAL_ERROR, "No request is being answered on whose behalf the user could be asked")
