"""Everything about tokens that are bound to a key (DPoP) under one name, for clients and for servers.

What needs httpx is loaded when it is first used: a server that checks proofs does without.

Layer: L6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dedalus_mcp.auth.dpop_proof import (
    compute_access_token_hash,
    compute_jwk_thumbprint,
    generate_dpop_keypair,
    generate_dpop_proof,
)
from dedalus_mcp.auth.dpop_validator import (
    DPoPExpiredError,
    DPoPMethodMismatchError,
    DPoPNonceMismatchError,
    DPoPProofResult,
    DPoPReplayError,
    DPoPThumbprintMismatchError,
    DPoPUrlMismatchError,
    DPoPValidationError,
    DPoPValidator,
    DPoPValidatorConfig,
    InvalidDPoPProofError,
)

if TYPE_CHECKING:
    from dedalus_mcp.client.auth.bearer import BearerAuth
    from dedalus_mcp.client.auth.dpop import DPoPAuth

__all__ = (
    "BearerAuth",
    "DPoPAuth",
    "DPoPExpiredError",
    "DPoPMethodMismatchError",
    "DPoPNonceMismatchError",
    "DPoPProofResult",
    "DPoPReplayError",
    "DPoPThumbprintMismatchError",
    "DPoPUrlMismatchError",
    "DPoPValidationError",
    "DPoPValidator",
    "DPoPValidatorConfig",
    "InvalidDPoPProofError",
    "compute_access_token_hash",
    "compute_jwk_thumbprint",
    "generate_dpop_keypair",
    "generate_dpop_proof",
)


def __getattr__(name: str) -> Any:
    if name not in {"BearerAuth", "DPoPAuth"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dedalus_mcp.client import auth  # noqa: PLC0415 - at first use

    return getattr(auth, name)


def __dir__() -> list[str]:
    return sorted(__all__)
