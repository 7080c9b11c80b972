"""What clients and servers both need to prove and to check who asks; no I/O.

Signing needs the extra `auth`.
"""

from __future__ import annotations

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
from dedalus_mcp.auth.jose import InvalidToken, SigningKey

__all__ = (
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
    "InvalidToken",
    "SigningKey",
    "compute_access_token_hash",
    "compute_jwk_thumbprint",
    "generate_dpop_keypair",
    "generate_dpop_proof",
)
