"""A client, as the server's author sees it apart from any call.

Layer: L4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedalus_mcp.errors import ConnectionLost, McpError, RemoteProtocolError, RequestTimeout
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.session import Terms
from dedalus_mcp.transport import Channel
from dedalus_mcp.types import ClientCapabilities, Implementation
from dedalus_mcp.types.methods import PING

if TYPE_CHECKING:
    from dedalus_mcp.server.server import MCPServer

__all__ = ("Session", "ping")


class Session:
    """One client, from its handshake to the end of its session; on 2026-07-28, which has none, for one call.

    Args:
        server: The server.
        peer: Our end of the conversation.
        terms: What was agreed on.
        principal: Who began it, as far as that was proved.

    Attributes:
        server: As given.
        peer: As given, for those who write transports.
        principal: As given; None for anybody.
    """

    __slots__ = ("__weakref__", "_terms", "peer", "principal", "server")

    def __init__(self, server: MCPServer, peer: Peer, terms: Terms, principal: str | None) -> None:
        self.server = server
        self.principal = principal
        self.peer = peer
        self._terms = terms

    def __repr__(self) -> str:
        client = "unknown" if self.client_info is None else f"{self.client_info.name:.80}"
        return f"<Session {self.id or 'without id'} of {client}>"

    @property
    def id(self) -> str | None:
        """The id of the HTTP session; None where there is none, as on stdio."""
        found: str | None = getattr(self.peer.channel, "session_id", None)
        return found

    @property
    def revision(self) -> str:
        """The protocol revision that was agreed on."""
        return self._terms.revision

    @property
    def client_info(self) -> Implementation | None:
        """Who the client says it is; not to be trusted."""
        return self._terms.client_info

    @property
    def client_capabilities(self) -> ClientCapabilities:
        """What the client can do."""
        return self._terms.capabilities

    @property
    def reachable(self) -> bool:
        """Whether it can be asked now; over HTTP, whether it has opened the stream for that (GET)."""
        return not self._terms.modern and self.peer.channel.takes_calls

    async def ping(self, timeout: float) -> bool:
        """Ask whether the client is there, and tell whether it has answered, if only with an error.

        Args:
            timeout: How long to wait, in seconds.

        Returns:
            False also where it cannot be asked: see `reachable`.

        Raises:
            LocalProtocolError: Too many of our calls to it are open.
        """
        return self.reachable and await ping(self.peer, self.peer.channel, timeout)


async def ping(peer: Peer, channel: Channel, timeout: float) -> bool:
    """Send a `ping` on a channel and tell whether there was an answer (LIFE-13)."""
    try:
        await peer.call(PING.name, channel=channel, timeout=Timeout(timeout))
    except (McpError, RemoteProtocolError):  # it may not know the method, but it is there
        return True
    except (RequestTimeout, ConnectionLost):
        return False
    return True
