"""Text that nobody else can read, change or make: what a server gives a client to keep for it.

AES-256-GCM, under keys that are derived from the author's; the first seals, all of them open, so
that keys can be changed while what the old ones sealed is still about.

Layer: L4; `cryptography` is imported where it is used, and comes with the extra `seal`.
"""

from __future__ import annotations

import binascii
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dedalus_mcp.state_keys import key_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ("Seal",)

_NONCE_BYTES = 12
_PURPOSE = b"dedalus_mcp requestState 1"


class Seal:
    """Seals and opens.

    Args:
        keys: At least one, of at least 32 random bytes each; text counts as its UTF-8.

    Raises:
        ValueError: There is none, or one is too short.
        ImportError: The extra `seal` is not installed.
    """

    def __init__(self, keys: Sequence[bytes | str]) -> None:
        self._ciphers = [_cipher(key) for key in key_bytes(keys)]
        if not self._ciphers:
            raise ValueError("state_keys: at least one key is needed to seal with")

    def seal(self, data: bytes, bound_to: bytes) -> str:
        """Return `data`, sealed, as text for URLs.

        Args:
            data: What to keep.
            bound_to: What has to be the same when it is opened.
        """
        nonce = os.urandom(_NONCE_BYTES)
        return _text(nonce + self._ciphers[0].encrypt(nonce, data, bound_to))

    def open(self, text: str, bound_to: bytes) -> bytes | None:
        """Return what was sealed; None if it was not, not by these keys, or is bound to something else."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra

        try:
            sealed = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        except (UnicodeEncodeError, binascii.Error):
            return None
        if _text(sealed) != text:  # the decoder overlooks spare bits and characters that are none of its own
            return None
        nonce, box = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(nonce, box, bound_to)
            except (InvalidTag, ValueError):  # ValueError: too short
                continue
        return None


def _text(sealed: bytes) -> str:
    return urlsafe_b64encode(sealed).decode().rstrip("=")


def _cipher(key: bytes) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError("state_keys= needs the extra 'seal': pip install 'dedalus-mcp[seal]'") from error
    return AESGCM(HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(key))
