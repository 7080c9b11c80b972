"""Error objects that are whole HTTP responses.

Layer: L5.
"""

from __future__ import annotations

from dedalus_mcp.errors import ErrorData
from dedalus_mcp.jsonrpc.codec import Decoded
from dedalus_mcp.jsonrpc.messages import Call, Failure
from dedalus_mcp_transports.http_request import Send, respond, respond_failure

__all__ = ("failure_of", "refuse", "refuse_while_draining")


def failure_of(code: int, message: str, about: Decoded | None = None) -> Failure:
    """Make an error object, under the id of what it is about."""
    return Failure(about.id if isinstance(about, Call) else None, ErrorData(code, message))


async def refuse(
    send: Send, status: int, code: int, why: str, about: Decoded | None = None, *headers: tuple[bytes, bytes]
) -> None:
    """Answer a request with what is wrong about it."""
    await respond_failure(send, status, failure_of(code, why, about), *headers)


async def refuse_while_draining(send: Send) -> None:
    """Answer a request that comes too late."""
    await respond(send, 503, b"The server is shutting down", (b"connection", b"close"))
