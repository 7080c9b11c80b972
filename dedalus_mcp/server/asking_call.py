"""What those who ask need to know of the call that asks; `Context` is such a call.

Layer: L4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.server.asker import Asker
from dedalus_mcp.session import Terms
from dedalus_mcp.types import ClientCapabilities, Implementation

if TYPE_CHECKING:
    from dedalus_mcp.server.server import MCPServer

__all__ = ("AskingCall",)


class AskingCall(Protocol):
    """The call that asks: see `Context` for what each property is."""

    @property
    def server(self) -> MCPServer:
        """The server that answers."""
        ...

    @property
    def asker(self) -> Asker:
        """What carries the questions."""
        ...

    @property
    def call(self) -> Inbound:
        """The call itself."""
        ...

    @property
    def peer(self) -> Peer:
        """The peer that received it."""
        ...

    @property
    def terms(self) -> Terms:
        """What holds between server and client."""
        ...

    @property
    def revision(self) -> str:
        """The revision that it is answered in."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the handler is over."""
        ...

    @property
    def cancel_reason(self) -> str | None:
        """Why nobody wants the result any more."""
        ...

    @property
    def request_id(self) -> str:
        """The id of the request."""
        ...

    @property
    def session_id(self) -> str | None:
        """The id of the HTTP session."""
        ...

    @property
    def client_info(self) -> Implementation | None:
        """Who the client says it is."""
        ...

    @property
    def client_capabilities(self) -> ClientCapabilities:
        """What the client can do."""
        ...
