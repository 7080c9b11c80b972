"""What a state is good for: this owner's retry of this very request.

Layer: L4.
"""

from __future__ import annotations

from hmac import compare_digest
from typing import TYPE_CHECKING
from weakref import ref

import msgspec

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.server.request_state import request_digest
from dedalus_mcp.server.rounds import BadState

if TYPE_CHECKING:
    from dedalus_mcp.server.context import Context

__all__ = ("Binding",)


class Binding(msgspec.Struct, frozen=True, gc=False):
    """Who sent a request, and which.  Every call that is kept has one; the garbage collector does not look into it.

    Attributes:
        owner: On a connection of its own the connection, over HTTP whoever proved to have sent it;
            None for anybody.  Weakly: what is kept of a call that is over keeps no connection.
        principal: The latter; None on a connection of its own, too.
        request: The digest of the request.
    """

    owner: ref[Peer] | str | None
    principal: str | None
    request: bytes

    @classmethod
    def of(cls, context: Context) -> Binding:
        """Return that of a call.

        Raises:
            McpError: -32602, its arguments are nested too deeply.
        """
        call = context.call
        carrier = call.channel.carrier
        principal = None if carrier is None else carrier.principal
        try:
            digest = request_digest(call.method, call.params)
        except RecursionError:
            raise McpError(INVALID_PARAMS, "Invalid params: nested too deeply") from None
        return cls(ref(call.peer) if carrier is None else principal, principal, digest)

    def check(self, other: Binding) -> None:
        """See to it that a retry is bound alike.

        Raises:
            BadState: It is not.
        """
        if self.owner != other.owner:
            raise BadState("it belongs to another client")
        if not compare_digest(self.request, other.request):
            raise BadState("it belongs to a request with another method, target or arguments")
