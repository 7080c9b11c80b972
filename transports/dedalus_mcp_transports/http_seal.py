"""Session ids that carry their session: what was agreed on, sealed, so that nobody need keep it.

    seal(terms) ──▶ "1.<what was agreed on>.<HMAC-SHA256>" ──open()──▶ the same terms, in any process with the keys

The seal is bound to the caller that was authenticated, so the id is of use to nobody else.  It
hides nothing: a client reads what it said itself.

Source: MCP 2025-11-25, basic/transports, "Session Management".
Layer: L2; imports `session`, `state_keys`, `types` and `http_session` only.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Iterator, Sequence
from secrets import token_bytes

import msgspec
from msgspec.structs import replace

from dedalus_mcp.session import Terms
from dedalus_mcp.state_keys import MIN_KEY_BYTES, key_bytes
from dedalus_mcp.types import ClientCapabilities, Implementation, LoggingLevel
from dedalus_mcp_transports.http_session import SessionNotFound, digestible

__all__ = ("SessionSeal",)

MAX_ID = 4096
"""Characters in an id, at most: web servers and proxies take header fields of 8 KiB in all."""
MAX_AGE_SECONDS = 30 * 86400
"""How long an id is good: longer than a client is likely to run, since many take a 404 badly."""

_VERSION = "1"
_LABEL = b"dedalus-mcp legacy session 1"  # so that one key, used for several things, is several keys
_NONCE_BYTES = 12  # tells clients apart that say the same in the same second


class _Sealed(msgspec.Struct, array_like=True):
    revision: str
    capabilities: ClientCapabilities
    client_info: Implementation | None
    log_level: LoggingLevel | None
    issued: int  # seconds since 1970
    nonce: bytes


_decode = msgspec.json.Decoder(_Sealed).decode


class SessionSeal:
    """Makes ids of sessions, and reads them.

    Args:
        keys: The first seals and all open; none for a random one, which ends with this process.

    Raises:
        ValueError: See `key_bytes`.
    """

    def __init__(self, keys: Sequence[bytes | str] = ()) -> None:
        self._keys = [hmac.digest(key, _LABEL, "sha256") for key in key_bytes(keys) or [token_bytes(MIN_KEY_BYTES)]]

    def seal(self, terms: Terms, owner: str | None, now: float) -> str:
        """Return an id for a session: random in part, and of visible ASCII (HTTP-41).

        What would make it too long is left out: experimental capabilities and extensions first,
        then who the client says it is.

        Args:
            terms: What was agreed on.
            owner: The caller that was authenticated; None where nobody is.
            now: Seconds since 1970.
        """
        nonce = token_bytes(_NONCE_BYTES)
        ids = (
            self._sealed(_Sealed(terms.revision, capabilities, info, terms.log_level, int(now), nonce), owner)
            for capabilities, info in _ever_less(terms)
        )
        return next(id for id in ids if len(id) <= MAX_ID)

    def _sealed(self, content: _Sealed, owner: str | None) -> str:
        said = f"{_VERSION}.{_text(msgspec.json.encode(content))}"
        return f"{said}.{_text(_mac(self._keys[0], said, owner))}"

    def open(self, id: str, owner: str | None, now: float) -> Terms:
        """Return what was agreed on.

        Raises:
            SessionNotFound: The id was not made with one of the keys, or for another caller, or too
                long ago.  Which of these is not told.
        """
        said, _, mac = id.rpartition(".")
        version, _, payload = said.partition(".")
        if len(id) > MAX_ID or version != _VERSION or not id.isascii():
            raise SessionNotFound
        given = mac.encode()
        if not any(hmac.compare_digest(given, _text(_mac(key, said, owner)).encode()) for key in self._keys):
            raise SessionNotFound
        try:
            sealed = _decode(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        except (NotBase64, msgspec.DecodeError):  # another version of this package made it
            raise SessionNotFound from None
        if now - sealed.issued > MAX_AGE_SECONDS:
            raise SessionNotFound
        return Terms(sealed.revision, sealed.client_info, sealed.capabilities, sealed.log_level)


def _ever_less(terms: Terms) -> Iterator[tuple[ClientCapabilities, Implementation | None]]:
    said = terms.client_info
    info = said and Implementation(name=said.name, version=said.version, title=said.title)
    known = replace(terms.capabilities, experimental=None, extensions=None)
    yield terms.capabilities, info
    yield known, info
    yield known, None


def _mac(key: bytes, said: str, owner: str | None) -> bytes:
    bound = digestible(owner)
    return hmac.digest(key, b"%d:%b%b" % (len(bound), bound, said.encode()), "sha256")


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
