"""`WWW-Authenticate`: what a server says about who it wants to hear from, without I/O.

    Bearer realm="a", scope="x y", Basic, DPoP algs="ES256"  ──▶  three challenges

A header may hold several challenges, there may be several headers, and a comma separates both
challenges and parameters: a name with `=` behind it is a parameter, one without begins the next
challenge.  Nothing in it is trusted: what cannot be read ends the reading, and what was read stays.

Layer: L4; no I/O.
Source: RFC 9110, 11.2 and 11.6.1; RFC 6750, 3; RFC 9728, 5.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ("WWWAuthenticateChallenge", "parse_www_authenticate", "token_challenge")

MAX_HEADER = 16 * 1024
"""Characters of a header that are read; no honest one has a quarter of them."""

MAX_CHALLENGES = 16
MAX_SCOPES = 256

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_SCHEME = re.compile(rf"[\s,]*({_TOKEN})(?=[\s,]|$)")
_PARAM = re.compile(rf'[\s,]*({_TOKEN})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|({_TOKEN}))(?=\s*(?:,|$))', re.DOTALL)
_TOKEN68 = re.compile(r"[ \t]+([A-Za-z0-9._~+/-]+=*)(?=\s*(?:,|$))")
_PAIR = re.compile(r"\\(.)", re.DOTALL)
# The part of a scope that OAuth allows (RFC 6749, 3.3).
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")


@dataclass(frozen=True, slots=True)
class WWWAuthenticateChallenge:
    """One challenge.

    Attributes:
        scheme: The authentication scheme as it was written.
        params: Its parameters, by lower-case name; of one given twice, the first.
        token68: What stands in their place, for schemes that have that; else None.
    """

    scheme: str
    params: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    token68: str | None = None

    @property
    def error(self) -> str | None:
        """The error code, for example ``insufficient_scope``."""
        return self.params.get("error")

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that are needed, each once; what cannot be a scope is left out."""
        found = self.params.get("scope", "").split(" ")
        legal = dict.fromkeys(each for each in found if _SCOPE.fullmatch(each))
        return tuple(legal)[:MAX_SCOPES]

    @property
    def resource_metadata(self) -> str | None:
        """The URL of the server's metadata (RFC 9728); not checked yet."""
        return self.params.get("resource_metadata")

    def is_for(self, *schemes: str) -> bool:
        """Whether it is of one of these schemes, given in lower case."""
        return self.scheme.lower() in schemes


def parse_www_authenticate(*headers: str) -> tuple[WWWAuthenticateChallenge, ...]:
    """Read the challenges of one or several headers, in order, as far as they can be read."""
    found: list[WWWAuthenticateChallenge] = []
    for header in headers:
        for challenge in _challenges(header[:MAX_HEADER]):
            if len(found) == MAX_CHALLENGES:
                return tuple(found)
            found.append(challenge)
    return tuple(found)


def token_challenge(*headers: str, scheme: str = "bearer") -> WWWAuthenticateChallenge | None:
    """Return the challenge that asks for a token; None if there is none.

    A server that takes both kinds of token says `Bearer` and `DPoP`, and may say the rest only once.

    Args:
        headers: The headers.
        scheme: The scheme to prefer, in lower case; what the other challenge says besides is added to it.
    """
    wanted = [each for each in parse_www_authenticate(*headers) if each.is_for("bearer", "dpop")]
    if not wanted:
        return None
    wanted.sort(key=lambda each: not each.is_for(scheme))
    params: dict[str, str] = {}
    for each in reversed(wanted):
        params |= each.params
    return WWWAuthenticateChallenge(wanted[0].scheme, MappingProxyType(params))


def _challenges(text: str) -> Iterator[WWWAuthenticateChallenge]:
    at = 0
    while begun := _SCHEME.match(text, at):
        at = begun.end()
        params: dict[str, str] = {}
        token68 = None
        if blob := _TOKEN68.match(text, at):  # a token alone may be the next scheme just as well: that needs a comma
            token68, at = blob[1], blob.end()
        while token68 is None and (param := _PARAM.match(text, at)):
            value = _PAIR.sub(r"\1", param[2]) if param[2] is not None else param[3]
            params.setdefault(param[1].lower(), value)
            at = param.end()
        yield WWWAuthenticateChallenge(begun[1], MappingProxyType(params), token68)
