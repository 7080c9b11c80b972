"""Checks of proofs (DPoP), for a server that takes tokens which are bound to a key.

    proof ──▶ signed by the key in it ──▶ for this request, token and nonce ──▶ young ──▶ never seen ──▶ remembered

What is seen is remembered last, so that a proof which does not hold costs its sender nothing but itself.

Layer: L2; no I/O.
Source: RFC 9449, 4.3 and 11.1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from heapq import heappop, heappush
from hmac import compare_digest
from typing import Any, TypeGuard

from dedalus_mcp.auth.dpop_proof import PROOF_TYPE, compute_access_token_hash, target_of
from dedalus_mcp.auth.jose import InvalidToken, thumbprint, unverified, verify
from dedalus_mcp.errors import DedalusError

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
)

MAX_PROOF = 8192  # characters; a proof with an RSA key of 4,096 bits has less than 3,000
MAX_JTI = 512  # characters; those that are made here have 22


class DPoPValidationError(DedalusError, ValueError):
    """A proof does not show what it should; its classes tell what."""


class InvalidDPoPProofError(DPoPValidationError):
    """It is no proof, or is not signed by the key in it."""


class DPoPReplayError(DPoPValidationError):
    """It was used before."""


class DPoPMethodMismatchError(DPoPValidationError):
    """It is for another method."""


class DPoPUrlMismatchError(DPoPValidationError):
    """It is for another URL."""


class DPoPExpiredError(DPoPValidationError):
    """It was made too long ago, or is from the future."""


class DPoPThumbprintMismatchError(DPoPValidationError):
    """It is made with another key than the token is bound to, or for another token."""


class DPoPNonceMismatchError(DPoPValidationError):
    """It does not carry the nonce that was asked for."""


@dataclass(frozen=True, slots=True)
class DPoPValidatorConfig:
    """How proofs are checked.

    Attributes:
        clock: What time it is, in seconds since 1970.
        leeway: How old a proof may be, and how far its clock may run ahead, in seconds.
        jti_cache_size: How many proofs are remembered, at most.  When there are more, the oldest are forgotten
            and whatever is as old as they were is refused: a proof that was used never becomes good again.
        allowed_algorithms: What proofs may be signed with.
    """

    clock: Callable[[], float] = time.time
    leeway: float = 60.0
    jti_cache_size: int = 100_000
    allowed_algorithms: Sequence[str] = ("ES256",)


@dataclass(frozen=True, slots=True)
class DPoPProofResult:
    """What a proof that holds says.

    Attributes:
        thumbprint: Of the key that its sender holds.
        jti: The proof's own id.
        issued_at: When it was made, in seconds since 1970.
    """

    thumbprint: str
    jti: str
    issued_at: float


class DPoPValidator:
    """Checks proofs, and remembers them: one for all requests, or replays are not found.

    Args:
        config: How.
    """

    def __init__(self, config: DPoPValidatorConfig | None = None) -> None:
        self.config = config or DPoPValidatorConfig()
        self._seen: set[bytes] = set()
        self._oldest: list[tuple[float, bytes]] = []  # a heap, by time of issue
        self._forgotten = 0.0  # up to this time of issue, proofs may have been seen

    def validate_proof(
        self,
        proof: str,
        method: str,
        url: str,
        *,
        expected_thumbprint: str | None = None,
        access_token: str | None = None,
        expected_nonce: str | None = None,
    ) -> DPoPProofResult:
        """Check the proof of one request, and remember it if it holds.

        Args:
            proof: The value of the one header `DPoP`.
            method: The request's method.
            url: Where the client sent it to.
            expected_thumbprint: Of the key that the token is bound to.
            access_token: The token that came with it; None only where there is none.
            expected_nonce: What it has to carry.

        Raises:
            DPoPValidationError: It does not hold; its classes tell why.
        """
        jwk, claims = self._proof(proof)
        self._check_request(claims, method, url)
        found = thumbprint(jwk)
        if expected_thumbprint is not None and not _equal(found, expected_thumbprint):
            raise DPoPThumbprintMismatchError("the proof is made with another key than the token is bound to")
        if access_token is not None and not _equal(claims.get("ath"), compute_access_token_hash(access_token)):
            raise DPoPThumbprintMismatchError("the proof is not for this token: its claim 'ath' is another, or missing")
        if expected_nonce is not None and not _equal(claims.get("nonce"), expected_nonce):
            raise DPoPNonceMismatchError("the proof does not carry the nonce that was asked for")
        issued_at = self._check_age(claims.get("iat"))
        jti: str = claims["jti"]
        self._remember(issued_at, found, jti)
        return DPoPProofResult(found, jti, issued_at)

    def _proof(self, proof: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The key in a proof, and what it says, signed with that key."""
        if len(proof) > MAX_PROOF:
            raise InvalidDPoPProofError(f"the proof has more than {MAX_PROOF} characters")
        try:
            header = unverified(proof).header
            jwk = header.get("jwk")
            if header.get("typ") != PROOF_TYPE or not _is_object(jwk):
                raise InvalidDPoPProofError(f"not a proof: 'typ' is {PROOF_TYPE!r}, and 'jwk' a public key")
            if "d" in jwk or "k" in jwk:
                raise InvalidDPoPProofError("the proof shows a private key")
            claims = verify(proof, jwk, self.config.allowed_algorithms).claims
        except InvalidToken as error:
            raise InvalidDPoPProofError(str(error)) from error
        if not isinstance(claims.get("jti"), str) or not 0 < len(claims["jti"]) <= MAX_JTI:
            raise InvalidDPoPProofError(f"the proof has no id ('jti') of 1 to {MAX_JTI} characters")
        return jwk, claims

    def _check_request(self, claims: dict[str, Any], method: str, url: str) -> None:
        if claims.get("htm") != method:
            raise DPoPMethodMismatchError(f"the proof is not for {method}: its claim 'htm' is another, or missing")
        try:
            same = isinstance(claims.get("htu"), str) and target_of(claims["htu"]) == target_of(url)
        except ValueError:
            same = False
        if not same:
            raise DPoPUrlMismatchError("the proof is not for this URL: its claim 'htu' is another, or missing")

    def _check_age(self, issued_at: object) -> float:
        if isinstance(issued_at, bool) or not isinstance(issued_at, int | float):
            raise InvalidDPoPProofError("the proof does not say when it was made: 'iat' is a number of seconds")
        now, leeway = self.config.clock(), self.config.leeway
        if not now - leeway <= issued_at <= now + leeway or issued_at <= self._forgotten:
            raise DPoPExpiredError(f"the proof was not made within {leeway:g} seconds of now")
        return float(issued_at)

    def _remember(self, issued_at: float, key: str, jti: str) -> None:
        """Keep a proof in mind for as long as it is young enough to be good."""
        while self._oldest and self._oldest[0][0] < self.config.clock() - self.config.leeway:
            self._seen.discard(heappop(self._oldest)[1])
        digest = sha256(f"{key} {jti}".encode()).digest()
        if digest in self._seen:
            raise DPoPReplayError("the proof was used before")
        self._seen.add(digest)
        heappush(self._oldest, (issued_at, digest))
        if len(self._oldest) > self.config.jti_cache_size:
            self._forgotten, forgotten = heappop(self._oldest)
            self._seen.discard(forgotten)


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _equal(claimed: object, expected: str) -> bool:
    return isinstance(claimed, str) and compare_digest(claimed.encode(), expected.encode())
