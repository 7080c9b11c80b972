"""The headers of streamable HTTP, as an ASGI server hands them over.

`Headers` finds one value by name and refuses two that differ.  `encode_value` and
`decode_value` carry any text in a header.  `is_json` and `accepts` read media types.

Source: MCP 2026-07-28, basic/transports/streamable-http; RFC 9110, 5.5, 8.3 and 12.5.1.
Layer: L2; imports `errors` only.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Collection
from functools import lru_cache

from dedalus_mcp.errors import DedalusError

__all__ = ("ConflictingHeader", "Headers", "accepts", "decode_value", "encode_value", "is_json")

_PREFIX, _SUFFIX = "=?base64?", "?="
# Nothing after a quote is read twice, even where it is never closed: a text full of quotes would take seconds.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.?)*"?')
_LONGEST_MEMO = 512  # bytes of a header that is worth remembering; real ones have up to 200


class ConflictingHeader(DedalusError, ValueError):
    """A header that has one value came with several that differ (AMB-41).

    Attributes:
        name: The header's name, in lower case.
        values: What came, without the white space round it.
    """

    def __init__(self, name: str, values: list[str]) -> None:
        super().__init__(name, values)
        self.name = name
        self.values = values

    def __str__(self) -> str:
        return f"header {self.name!r} came {len(self.values)} times with different values"


class Headers:
    """The headers of one request.

    Args:
        pairs: Names and values, the names in lower case as ASGI demands (HTTP-58).
    """

    __slots__ = ("_pairs", "_repeats", "_values")

    def __init__(self, pairs: Collection[tuple[bytes, bytes]]) -> None:
        self._pairs = pairs
        self._values = dict(pairs)
        self._repeats = len(self._values) != len(pairs)  # seldom: then the dictionary does not say it all

    def one(self, name: bytes) -> str | None:
        """Return the header's one value without the white space round it; None if it did not come.

        The same value sent twice is one value.

        Raises:
            ConflictingHeader: It came with values that differ.
        """
        value = self._values.get(name)
        if value is None:
            return None
        if self._repeats:
            values = self.all(name)
            if len(set(values)) > 1:
                raise ConflictingHeader(name.decode("latin-1"), values)
        return value.decode("latin-1").strip(" \t")

    def says(self, name: bytes, text: str) -> bool:
        """Whether the header came once, and just as `encode_value` writes this text; others may say the same."""
        return not self._repeats and len(text) <= _LONGEST_MEMO and self._values.get(name) == _written(text)

    def all(self, name: bytes) -> list[str]:
        """Return every value of the header, in order, without the white space round each."""
        return [value.decode("latin-1").strip(" \t") for each, value in self._pairs if each == name]

    def joined(self, name: bytes) -> bytes | None:
        """Return a header whose value is a list, all of its lines as one; None if it did not come."""
        if not self._repeats or name not in self._values:
            return self._values.get(name)
        return b", ".join([value for each, value in self._pairs if each == name])


def encode_value(text: str) -> str:
    """Write any text as the value of `Mcp-Name` or `Mcp-Param-*` (HTTP-55).

    Printable ASCII stands for itself, unless it has blanks at an end or looks like what all
    else becomes: the base64 of its UTF-8.

    Raises:
        ValueError: It holds half of a surrogate pair, which UTF-8 lacks.
    """
    looks_encoded = text.startswith(_PREFIX) and text.endswith(_SUFFIX)
    if _is_plain(text) and text.strip(" ") == text and not looks_encoded:
        return text
    return f"{_PREFIX}{b2a_base64(text.encode(), newline=False).decode()}{_SUFFIX}"


@lru_cache(maxsize=1024)  # methods, and the names that are called
def _written(text: str) -> bytes:
    return encode_value(text).encode()


def decode_value(header: bytes | str) -> str:
    """Read the value of `Mcp-Name` or `Mcp-Param-*` (HTTP-56, HTTP-59).

    The markers are told by their exact case; what has only one of them is literal text.

    Raises:
        ValueError: It has characters that no such value has, or its base64 or UTF-8 is broken.
    """
    text = (header.decode("latin-1") if isinstance(header, bytes) else header).strip(" \t")
    if not _is_plain(text):
        raise ValueError("characters other than printable ASCII must be encoded")
    if not (text.startswith(_PREFIX) and text.endswith(_SUFFIX)) or len(text) < len(_PREFIX) + len(_SUFFIX):
        return text
    inner = text[len(_PREFIX) : -len(_SUFFIX)]
    data = a2b_base64(inner)
    if b2a_base64(data, newline=False) != inner.encode():  # how strict the decoder itself is depends on the Python
        raise ValueError("the base64 is not as an encoder writes it")
    return data.decode()


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def is_json(content_type: bytes | str | None) -> bool:
    """Tell whether a body of this `Content-Type` is JSON; parameters do not matter (B079)."""
    if content_type == b"application/json":  # nearly always
        return True
    text = content_type.decode("latin-1") if isinstance(content_type, bytes) else content_type or ""
    return text.partition(";")[0].strip(" \t").lower() == "application/json"


def accepts(accept: bytes | None) -> tuple[bool, bool]:
    """Tell whether a client that sends this `Accept` reads JSON, and whether it reads event streams.

    The most specific range decides, `q=0` refuses, and a client that does not say reads both.
    """
    if accept is None or len(accept) > _LONGEST_MEMO:
        return _accepts(accept or b"")
    return _accepts_memo(accept)


def _accepts(accept: bytes) -> tuple[bool, bool]:
    wanted: dict[str, bool] = {}
    for part in _QUOTED.sub("", accept.decode("latin-1").lower()).split(","):
        media, *parameters = [piece.strip(" \t") for piece in part.split(";")]
        if media:
            wanted[media] = wanted.get(media, False) or not any(map(_is_zero, parameters))
    if not wanted:
        return True, True
    return _wants(wanted, "application/json"), _wants(wanted, "text/event-stream")


_accepts_memo = lru_cache(maxsize=256)(_accepts)  # kinds of clients, not clients


def _is_zero(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    return name == "q" and value != "" and value.strip("0.") == ""


def _wants(wanted: dict[str, bool], media: str) -> bool:
    ranges = (media, media.partition("/")[0] + "/*", "*/*")
    return next((wanted[each] for each in ranges if each in wanted), False)
