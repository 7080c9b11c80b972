"""Secrets in messages, masked before anybody sees them.

    {"apiKey": "abc", "text": "Bearer abc"} ──▶ {"apiKey": "[masked]", "text": "Bearer [masked]"}

A member is a secret by its name; in other text, what looks like a token is.

Layer: L6; no I/O.
"""

from __future__ import annotations

import re
from typing import Any, cast

from dedalus_mcp.schema.shapes import is_array

__all__ = ("MASK", "masked", "masked_text")

MASK = "[masked]"

_NAMES = frozenset(
    (
        "assertion",
        "authorization",
        "clientassertion",
        "codeverifier",
        "cookie",
        "credentials",
        "devicecode",
        "dpop",
        "mcpsessionid",
        "passwd",
        "privatekey",
        "proxyauthorization",
        "requeststate",
        "sessionid",
        "setcookie",
    )
)
"""Names of members, in small letters alone."""

_ENDINGS = ("token", "secret", "password", "apikey", "passphrase")
_HARMLESS = frozenset(("progresstoken", "nexttoken", "pagetoken"))
"""Names with such an ending that hold no secret."""

_TOKENS = re.compile(
    r"(?i:(?P<kept>\b(?:bearer|basic|dpop)\s+|[?&;](?:access_token|refresh_token|id_token|token|api_?key|code|secret"
    r"|password|signature)=))[^\s\"'&;,]+"
    r"|\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"
)
_LETTERS = re.compile(r"[^a-z0-9]+")


def masked(value: Any) -> Any:
    """Return a value of JSON without its secrets.

    Raises:
        RecursionError: It is nested too deeply.
    """
    if isinstance(value, str):
        return masked_text(value)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: MASK if _is_secret(name, each) else masked(each) for name, each in members.items()}
    if is_array(value):
        return [masked(each) for each in value]
    return value


def masked_text(text: str) -> str:
    """Return text without what looks like a token."""
    return _TOKENS.sub(lambda found: f"{found['kept'] or ''}{MASK}", text)


def _is_secret(name: str, value: Any) -> bool:
    if value is None or isinstance(value, bool | dict):  # a schema may describe a secret: what it says is none
        return False
    plain = _LETTERS.sub("", name.lower())
    return plain in _NAMES or (plain.endswith(_ENDINGS) and plain not in _HARMLESS)
