"""How a client hears of changes: the same on every revision.

Layer: L4.
"""

from __future__ import annotations

from dedalus_mcp.client.any_request import AnyRequest
from dedalus_mcp.client.link import Link
from dedalus_mcp.client.listening import Listening
from dedalus_mcp.client.rounds import Rounds
from dedalus_mcp.client.timeouts import DEFAULT, Default, TimeoutLike
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.types import ServerCapabilities, SubscribeRequestParams, UnsubscribeRequestParams
from dedalus_mcp.types.methods import RESOURCES_SUBSCRIBE, RESOURCES_UNSUBSCRIBE
from dedalus_mcp.types.revisions import MODERN

__all__ = ("ChangeRequests",)


class ChangeRequests(AnyRequest):
    """The part of `MCPClient` that is about changes.

    Args:
        link, rounds, timeout: See `AnyRequest`.
        server: What the server tells of.
    """

    def __init__(self, link: Link, rounds: Rounds, timeout: Timeout | None, server: ServerCapabilities) -> None:
        super().__init__(link, rounds, timeout)
        self._listening = Listening(link)
        if link.revision in MODERN:
            self._listening.start(server)

    async def subscribe_resource(self, uri: str, *, timeout: TimeoutLike | Default = DEFAULT) -> None:
        """Hear of changes of a resource from now on, in the handler `resource_updated` of `connect`.

        Where hearing was interrupted, the handler is told of every resource once: what changed
        in between nobody says.

        Raises:
            McpError: The server's error; or, on 2026-07-28, it does not tell of this resource.
            RequestTimeout, ConnectionLost, RemoteProtocolError: See `request`.
        """
        if self._link.revision in MODERN:
            await self._listening.subscribe(uri, self._patience(timeout))
        else:
            await self.request(RESOURCES_SUBSCRIBE, SubscribeRequestParams(uri=uri), timeout=timeout)

    async def unsubscribe_resource(self, uri: str, *, timeout: TimeoutLike | Default = DEFAULT) -> None:
        """Hear of them no more.

        Raises:
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError: See `request`.
        """
        if self._link.revision in MODERN:
            await self._listening.unsubscribe(uri, self._patience(timeout))
        else:
            await self.request(RESOURCES_UNSUBSCRIBE, UnsubscribeRequestParams(uri=uri), timeout=timeout)
