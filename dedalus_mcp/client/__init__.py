"""The client side, with the names that its users need most; each is loaded when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dedalus_mcp.client.auth import BearerAuth as BearerAuth
    from dedalus_mcp.client.auth import DPoPAuth as DPoPAuth
    from dedalus_mcp.client.auth import generate_dpop_proof as generate_dpop_proof
    from dedalus_mcp.client.client import MCPClient as MCPClient
    from dedalus_mcp.client.connecting import Connectable as Connectable
    from dedalus_mcp.errors import AuthRequiredError as AuthRequiredError
    from dedalus_mcp.errors import BadRequestError as BadRequestError
    from dedalus_mcp.errors import ForbiddenError as ForbiddenError
    from dedalus_mcp.errors import MCPConnectionError as MCPConnectionError
    from dedalus_mcp.errors import ServerError as ServerError
    from dedalus_mcp.errors import SessionExpiredError as SessionExpiredError
    from dedalus_mcp.errors import TransportError as TransportError

_HOME = {
    "AuthRequiredError": "dedalus_mcp.errors",
    "BadRequestError": "dedalus_mcp.errors",
    "BearerAuth": "dedalus_mcp.client.auth",
    "Connectable": "dedalus_mcp.client.connecting",
    "DPoPAuth": "dedalus_mcp.client.auth",
    "ForbiddenError": "dedalus_mcp.errors",
    "MCPClient": "dedalus_mcp.client.client",
    "MCPConnectionError": "dedalus_mcp.errors",
    "ServerError": "dedalus_mcp.errors",
    "SessionExpiredError": "dedalus_mcp.errors",
    "TransportError": "dedalus_mcp.errors",
    "generate_dpop_proof": "dedalus_mcp.client.auth",
}

__all__ = (
    "AuthRequiredError",
    "BadRequestError",
    "BearerAuth",
    "Connectable",
    "DPoPAuth",
    "ForbiddenError",
    "MCPClient",
    "MCPConnectionError",
    "ServerError",
    "SessionExpiredError",
    "TransportError",
    "generate_dpop_proof",
)


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 - at first use

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
