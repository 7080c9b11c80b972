"""URI templates, in both directions: the values in a URI, and the URI of values.

    {x}      one segment                                    a%20b  is  a b
    {+x}     segments and the slashes between them          a/b    is  a/b
    {x*}     the same
    {?a,b}   a query, at the end; each part may be absent

A value is percent-decoded once.  It leads out of no directory: one with a `..` segment, a leading
slash, a drive or a NUL, plain or encoded, is no match.

Matching takes time in proportion to the URI.  One variable takes what is left: the one with
slashes, else the last.  Those before it are as short as they can be, from the front, and those
after it from the back.  That finds a match where there is one, so nothing is ever tried again.

Layer: L4; no I/O.
Source: RFC 6570; here is the part of it that can be read backwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ("UriTemplate",)

_SEGMENT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SEGMENTS = _SEGMENT | {"/"}
# RFC 6570 leaves `?`, `#` and `%` alone, too.  A value is data: it comes back as it went in.
_RESERVED = _SEGMENTS | set(":[]@!$&'()*+,;=")
_ENDS_SEGMENT = frozenset("/?#")
_HEX = frozenset("0123456789ABCDEFabcdef")


class UriTemplate:
    """A URI template.

    Args:
        text: The template.
        any_path: Let `{+x}`, `{x*}` and the query have any value: whoever uses it has to check.

    Attributes:
        text: As given.
        path: The names of the variables that every URI has, in order.
        query: The names of those that it may have.

    Raises:
        ValueError: It is no template, or one that cannot be read backwards; the text says why.
    """

    def __init__(self, text: str, *, any_path: bool = False) -> None:
        self.text = text
        self._any_path = any_path
        self._texts, expressions = _split(text)
        self.query: tuple[str, ...] = ()
        if expressions and expressions[-1].startswith("?"):
            self.query = tuple(expressions.pop()[1:].split(","))
            if self._texts.pop():
                raise ValueError(f"{text!r}: the query stands at the end")
        self._variables = [_Variable(expression) for expression in expressions]
        self.path = tuple(variable.name for variable in self._variables)
        self._check()
        wide = (at for at, variable in enumerate(self._variables) if variable.slashes)
        self._rest = next(wide, len(self._variables) - 1)
        self._trailing = [text[::-1] for text in reversed(self._texts[self._rest + 1 :])]

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the values in a URI, absent parts of the query left out; None if it is no match."""
        if not uri.isprintable():  # line breaks above all: `^x$` would let one pass
            return None
        query: dict[str, str] | None = {}
        if self.query:
            uri, mark, parts = uri.partition("?")
            query = self._read_query(parts) if mark else query
        texts = self._cut(uri)
        if texts is None or query is None:
            return None
        values: dict[str, str] = {}
        for variable, text in zip(self._variables, texts, strict=True):
            value = variable.read(text, any_path=self._any_path)
            if value is None:
                return None
            values[variable.name] = value
        return values | query

    def expand(self, values: Mapping[str, str]) -> str:
        """Return the URI of these values; `match` reads the same out of it.

        Raises:
            ValueError: There is none: a name is missing or unknown, or a value is one that
                `match` refuses, or cannot tell from the template's own text.
        """
        uri = self._texts[0]
        for variable, text in zip(self._variables, self._texts[1:], strict=True):
            uri += _encoded(values.get(variable.name, ""), variable.plain) + text
        given = [f"{name}={_encoded(values[name], _SEGMENT)}" for name in self.query if name in values]
        uri += "?" + "&".join(given) if given else ""
        if self.match(uri) != dict(values):
            raise ValueError(f"{self.text!r} has no URI for {dict(values)!r:.200}")
        return uri

    def _check(self) -> None:
        names = [*self.path, *self.query]
        for name in names:
            if not (name.isascii() and name.isidentifier()):
                raise ValueError(f"{self.text!r}: legal are {{x}}, {{+x}}, {{x*}} and {{?x,y}}, not {name!r}")
        if not names:
            raise ValueError(f"{self.text!r} names no variable")
        if len(set(names)) < len(names):
            raise ValueError(f"{self.text!r} names a variable twice")
        if "" in self._texts[1 : len(self._variables)]:
            raise ValueError(f"{self.text!r}: something must stand between two variables")
        if sum(variable.slashes for variable in self._variables) > 1:
            raise ValueError(f"{self.text!r}: one variable may have slashes, not more")
        if self.query and any("?" in text for text in self._texts):
            raise ValueError(f"{self.text!r}: there is one query; name its parts in it")

    def _cut(self, uri: str) -> list[str] | None:
        """Cut the values, still encoded, out of what stands between them."""
        if not self._variables:
            return [] if uri == self._texts[0] else None
        before = _leading(uri, self._texts[: self._rest + 1])
        after = _leading(uri[::-1], self._trailing)
        if before is None or after is None:
            return None
        rest = uri[before[1] : len(uri) - after[1]]
        return [*before[0], rest, *(value[::-1] for value in reversed(after[0]))]

    def _read_query(self, query: str) -> dict[str, str] | None:
        values: dict[str, str] = {}
        for part in query.split("&"):
            name, mark, text = part.partition("=")
            value = None if "#" in text else _decoded(text)
            if not mark or name not in self.query or name in values or value is None:
                return None
            if not (self._any_path or _stays_inside(value)):
                return None
            values[name] = value
        return values


class _Variable:
    """A variable of the path.

    Attributes:
        name: Its name.
        slashes: Whether it takes several segments.
        plain: The characters that are not encoded.
    """

    __slots__ = ("name", "plain", "slashes")

    def __init__(self, expression: str) -> None:
        reserved, exploded = expression.startswith("+"), expression.endswith("*")
        self.name = expression[1:] if reserved else expression.removesuffix("*")
        self.slashes = reserved or exploded
        self.plain = _RESERVED if reserved else _SEGMENTS if exploded else _SEGMENT

    def read(self, text: str, *, any_path: bool) -> str | None:
        """Return the value; None if it has none that is legal here."""
        if not self.slashes and not _ENDS_SEGMENT.isdisjoint(text):
            return None
        value = _decoded(text)
        if not value or (self.slashes and any_path):
            return value or None
        if not _stays_inside(value) or (self.slashes and "//" in value):
            return None
        return value


def _split(text: str) -> tuple[list[str], list[str]]:
    """Split a template into its expressions and the texts round them, one more."""
    first, *parts = text.split("{")
    texts, expressions = [first], list[str]()
    for part in parts:
        expression, mark, after = part.partition("}")
        if not mark:
            raise ValueError(f"{text!r}: a brace is not closed")
        expressions.append(expression)
        texts.append(after)
    if any("}" in each for each in texts):
        raise ValueError(f"{text!r}: a brace is not open")
    return texts, expressions


def _leading(uri: str, texts: Sequence[str]) -> tuple[list[str], int] | None:
    """Read text, value, text ... from the start, each value as short as it can be; return how far that went."""
    if not uri.startswith(texts[0]):
        return None
    values: list[str] = []
    at = len(texts[0])
    for text in texts[1:]:
        stop = uri.find(text, at + 1)
        if stop < 0:
            return None
        values.append(uri[at:stop])
        at = stop + len(text)
    return values, at


def _stays_inside(value: str) -> bool:
    """Whether a value, taken for a path on any system, stays inside the directory that it is joined to."""
    segments = value.replace("\\", "/").split("/")
    leads_away = ".." in segments or (len(segments) > 1 and segments[0] == "")
    drive = len(segments) > 1 and segments[0][1:] == ":"
    return not (leads_away or drive or "\0" in value)


def _decoded(text: str) -> str | None:
    """Decode what is percent-encoded, once; None if that is no text."""
    first, *parts = text.split("%")
    data = [first.encode()]
    for part in parts:
        if len(part) < 2 or not _HEX.issuperset(part[:2]):
            return None
        data += bytes.fromhex(part[:2]), part[2:].encode()
    try:
        return b"".join(data).decode()
    except UnicodeDecodeError:
        return None


def _encoded(value: str, plain: frozenset[str]) -> str:
    return "".join(
        character if character in plain else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in value
    )
