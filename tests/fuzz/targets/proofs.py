"""Proofs of DPoP: any text is a proof or an error of its own kind, and nothing is one that does not fit its request.

the header of a token
---
what it claims, with any header and a signature that is none, and with a good header and signature
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import msgspec

from dedalus_mcp.auth import DPoPValidationError, DPoPValidator, DPoPValidatorConfig, SigningKey
from tests.fuzz.pieces import json_object, parts

__all__ = ("target",)

NOW = 1_700_000_000.0
URL = "https://mcp.example/mcp"
KEY = SigningKey.generate()
GOOD = {"typ": "dpop+jwt", "jwk": KEY.public}
FORGED = msgspec.json.encode({**GOOD, "alg": "ES256"})


def target(data: bytes) -> None:
    """Check proofs."""
    header, claims = parts(data, 2)
    _is_refused(data.decode("latin-1"))
    _is_refused(b".".join(map(_part, (header, claims, b"s" * 64))).decode())
    _is_refused(b".".join(map(_part, (FORGED, claims, b"s" * 64))).decode())
    said = json_object(claims)
    if said is not None:
        _is_checked(KEY.sign(GOOD, said), said)


def _is_refused(proof: str) -> None:
    try:
        _validator().validate_proof(proof, "POST", URL)
    except DPoPValidationError:
        return
    raise AssertionError(f"{proof!r} is taken for a proof")


def _is_checked(proof: str, claims: dict[str, Any]) -> None:
    validator = _validator()
    try:
        found = validator.validate_proof(proof, "POST", URL, expected_thumbprint=KEY.thumbprint)
    except DPoPValidationError:
        return
    assert claims["htm"] == "POST"
    assert abs(found.issued_at - NOW) <= validator.config.leeway
    try:
        validator.validate_proof(proof, "POST", URL)
    except DPoPValidationError:
        return
    raise AssertionError("a proof is taken twice")


def _validator() -> DPoPValidator:
    return DPoPValidator(DPoPValidatorConfig(clock=lambda: NOW))


def _part(text: bytes) -> bytes:
    return urlsafe_b64encode(text).rstrip(b"=")
