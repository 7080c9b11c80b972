"""Signed tokens (JWT): the one room that knows the library which signs.

    SigningKey ──sign──▶ token ──unverified──▶ what it claims ──verify──▶ what its signer says

Asymmetric signatures only, and nothing encrypted.  joserfc comes with the extra `auth`, and is
loaded when the first key is used.

Layer: L2; joserfc is imported where it is used.
Source: RFC 7515 (JWS), RFC 7517 (JWK), RFC 7519 (JWT), RFC 7638 (thumbprints).
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple, Self

import msgspec

from dedalus_mcp.errors import DedalusError

__all__ = ("InvalidToken", "JsonWebToken", "SigningKey", "thumbprint", "unverified", "verify")

ALGORITHMS = ("ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512", "Ed25519")
"""What may be signed with.  None is symmetric: a public key is never taken for a shared secret."""

MAX_TOKEN = 16_384  # characters: more does not fit into the headers that most servers take
_COMPACT = re.compile(r"([\w-]+)\.([\w-]+)\.[\w-]+", re.ASCII)
_IDENTIFYING = {"EC": ("crv", "kty", "x", "y"), "OKP": ("crv", "kty", "x"), "RSA": ("e", "kty", "n")}
_USUAL = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "Ed25519"}
_OBJECT = msgspec.json.Decoder(dict[str, Any])


class InvalidToken(DedalusError, ValueError):
    """A token is none, or its signature is not of the key that it should be."""


class JsonWebToken(NamedTuple):
    """What is in a token.

    Attributes:
        header: How it is signed, and what kind of token it is.
        claims: What it says.
    """

    header: dict[str, Any]
    claims: dict[str, Any]


class SigningKey:
    """A private key, for one algorithm.

    Args:
        key: A PEM text, or a JWK as a mapping.
        algorithm: What to sign with, for example ``ES256``; None for what is usual with such a key.
        key_id: What verifiers know the key by (`kid`); None for what a JWK says, if that.
        password: Of an encrypted PEM.

    Raises:
        ValueError: `key` is no private key, or none for `algorithm`.
        ImportError: The extra `auth` is not installed.

    Attributes:
        algorithm: See above.
        key_id: See above.
        public: The public half, as a JWK of nothing but what identifies it.
        thumbprint: Its thumbprint.
    """

    def __init__(
        self,
        key: str | bytes | Mapping[str, Any],
        algorithm: str | None = None,
        *,
        key_id: str | None = None,
        password: str | None = None,
    ) -> None:
        self._key, self.public = _private(key, password)
        self.algorithm = algorithm or self._key.alg or _USUAL.get(self.public.get("crv", ""), "RS256")
        self.key_id = key_id or self._key.kid
        self.thumbprint = thumbprint(self.public)
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"cannot sign with {self.algorithm!r:.40}; legal are {', '.join(ALGORITHMS)}")
        try:
            self.sign({}, {})
        except Exception as error:  # whatever the library says of it
            raise ValueError(f"the key is none for {self.algorithm}") from error

    def __repr__(self) -> str:
        return f"SigningKey({self.algorithm}, {self.thumbprint})"

    @classmethod
    def generate(cls) -> Self:
        """Make a new key, for ES256.

        Raises:
            ImportError: The extra `auth` is not installed.
        """
        jwk, _ = _joserfc()
        return cls(jwk.ECKey.generate_key("P-256").as_dict(private=True))

    def pem(self, password: str | None = None) -> str:
        """Return the private key as a PEM text, to be kept where nobody else can read it.

        Args:
            password: What it is encrypted with; None for not at all.
        """
        text: bytes = self._key.as_pem(private=True, password=password)
        return text.decode()

    def sign(self, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
        """Return a token of these claims; `alg` and `kid` need not be in the header."""
        _, jws = _joserfc()
        known = {"alg": self.algorithm} if self.key_id is None else {"alg": self.algorithm, "kid": self.key_id}
        token: str = jws.serialize_compact(
            {**known, **header}, msgspec.json.encode(claims), self._key, registry=_registry(jws, [self.algorithm])
        )
        return token


def unverified(token: str) -> JsonWebToken:
    """Return what a token claims to be: to find the key that it has to be signed with, and for nothing else.

    Raises:
        InvalidToken: It is no token.
    """
    parts = _COMPACT.fullmatch(token) if len(token) <= MAX_TOKEN else None
    if parts is None:
        raise InvalidToken(f"no signed token of {MAX_TOKEN} characters or less, in three parts")
    try:
        header, claims = (_OBJECT.decode(urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in parts.groups())
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InvalidToken("the parts of the token are not JSON objects in base64url") from error
    return JsonWebToken(header, claims)


def verify(token: str, key: Mapping[str, Any], algorithms: Collection[str] = ALGORITHMS) -> JsonWebToken:
    """Return what the signer of a token says; whether it holds, now and here, is another matter.

    Args:
        token: In the compact form.
        key: The signer's public key, a JWK.
        algorithms: What it may be signed with.

    Raises:
        InvalidToken: It is no token, or not signed with this key.
        ImportError: The extra `auth` is not installed.
    """
    found = unverified(token)
    if found.header.get("alg") not in set(algorithms) & set(ALGORITHMS):
        raise InvalidToken(f"the token is not signed with {' or '.join(algorithms)}")
    if "crit" in found.header:  # it may change what everything else means
        raise InvalidToken("the token says that something must be understood (crit) which is not")
    jwk, jws = _joserfc()
    try:
        public = jwk.import_key(_identifying(key))
        jws.deserialize_compact(token, public, registry=_registry(jws, list(algorithms)))
    except Exception as error:  # whatever a key from elsewhere makes of the library, the token is not verified
        raise InvalidToken("the token is not signed with the key that it should be") from error
    return found


def thumbprint(key: Mapping[str, Any]) -> str:
    """Return the thumbprint of a public key, a JWK: SHA-256, in base64url.

    Raises:
        InvalidToken: It is no such key.
    """
    digest = sha256(msgspec.json.encode(_identifying(key), order="sorted")).digest()
    return urlsafe_b64encode(digest).decode().rstrip("=")


def _identifying(key: Mapping[str, Any]) -> dict[str, str]:
    """The members of a JWK that make it this key, and no others: nothing private gets out, nor wishes in."""
    kind = key.get("kty")
    needed = _IDENTIFYING.get(kind, ()) if isinstance(kind, str) else ()
    members = {name: key.get(name) for name in needed}
    found = {name: member for name, member in members.items() if isinstance(member, str)}
    if not needed or len(found) < len(needed):
        raise InvalidToken(f"no public key (JWK) of a kind that is known: {', '.join(_IDENTIFYING)}")
    return found


def _private(key: str | bytes | Mapping[str, Any], password: str | None) -> tuple[Any, dict[str, str]]:
    """The key as the library has it, and its public half."""
    jwk, _ = _joserfc()
    kinds = (jwk.ECKey, jwk.RSAKey, jwk.OKPKey)
    given = dict(key) if isinstance(key, Mapping) else key
    for kind in kinds:
        with suppress(Exception):  # whatever the library says of a key that is not of this kind
            imported = kind.import_key(given, password=password)
            if imported.is_private:
                return imported, _identifying(imported.as_dict(private=False))
    raise ValueError("no private key: legal are a PEM text and a JWK, of an elliptic curve or for RSA")


def _joserfc() -> tuple[Any, Any]:
    try:
        from joserfc import jwk, jws  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError("signed tokens need the extra 'auth': pip install 'dedalus-mcp[auth]'") from error
    return jwk, jws


def _registry(jws: Any, algorithms: list[str]) -> Any:
    """What is legal in a token: headers of any length and kind that a token may have."""
    registry = jws.JWSRegistry(algorithms=algorithms, strict_check_header=False)
    registry.max_header_length = MAX_TOKEN
    return registry
