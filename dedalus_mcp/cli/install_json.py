"""One member of a JSON document put in, replaced or taken out; every other byte stays as it is.

    put(text, ("mcpServers", "weather"), {...})        the objects on the way are made where they are missing
    drop(text, ("mcpServers", "weather"))

People and their programs wrote the rest: its order, indentation and numbers are theirs.

Layer: L6; no I/O.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

__all__ = ("BrokenJson", "drop", "holds", "put")

INDENT = "  "
"""What one level is indented by where the document does not show it."""

_SPACE = re.compile(r"[ \t\n\r]*")
_MARK = "\ufeff"


class BrokenJson(ValueError):
    """The document is no JSON, or no object where one has to be; the text says where."""


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    start: int  # of its name
    value: int  # where its value starts
    end: int  # behind its value


def holds(text: str, path: tuple[str, ...]) -> bool:
    """Whether the document has a member there.

    Raises:
        BrokenJson: See the class.
    """
    document = _Document(text)
    at = document.root
    for depth, name in enumerate(path, start=1):
        found = document.member(at, name)
        if found is None:
            return False
        if depth < len(path):
            at = document.object_at(found.value, path[:depth])
    return True


def put(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return the document with this value there, in the place of the old one or behind all others.

    Args:
        text: The document; empty stands for `{}`.
        path: The names of the members that lead there.
        value: What JSON can be made of.

    Raises:
        BrokenJson: See the class.
    """
    document = _Document(text if text.strip(f"{_MARK} \t\r\n") else "{}\n")
    at = document.root
    for depth, name in enumerate(path, start=1):
        found = document.member(at, name)
        if found is None:
            for missing in reversed(path[depth:]):
                value = {missing: value}
            return document.with_member(at, depth, name, value)
        if depth < len(path):
            at = document.object_at(found.value, path[:depth])
        else:
            return document.with_value(at, depth, found, value)
    raise ValueError("a path names one member at least")


def drop(text: str, path: tuple[str, ...]) -> str:
    """Return the document without the member there; as it is, if it has none.

    Raises:
        BrokenJson: See the class.
    """
    while holds(text, path):  # more than one of a name is legal JSON
        document = _Document(text)
        at = document.root
        for depth, name in enumerate(path[:-1], start=1):
            found = document.member(at, name)
            assert found is not None
            at = document.object_at(found.value, path[:depth])
        text = document.without_member(at, path[-1])
    return text


class _Document:
    """A JSON document as text, with the places of its members.

    Attributes:
        root: Where the outermost object begins.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._line = "\r\n" if "\r\n" in text else "\n"
        self._decoder = json.JSONDecoder()
        self.root = _space(text, len(_MARK) if text.startswith(_MARK) else 0)
        try:
            json.loads(text.removeprefix(_MARK), parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            raise BrokenJson(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
        except RecursionError:
            raise BrokenJson("it is nested too deep") from None
        self.object_at(self.root, ())

    def object_at(self, at: int, path: tuple[str, ...]) -> int:
        if self._text[at] == "{":
            return at
        what = f"{'.'.join(path)!r:.80}" if path else "the document"
        before = self._text[:at]
        line, column = before.count("\n") + 1, at - before.rfind("\n")
        raise BrokenJson(f"line {line}, column {column}: {what} has to be an object, {{...}}")

    def member(self, at: int, name: str) -> _Member | None:
        """Return the member of the object at `at`; the last one where there are several, as readers do."""
        return next((each for each in reversed(self._members(at)) if each.name == name), None)

    def with_member(self, at: int, depth: int, name: str, value: Any) -> str:
        members = self._members(at)
        if members:
            gap = self._gap(at, members, len(members) - 1) or " " * (len(members) == 1)
            end = members[-1].end
            return f"{self._text[:end]},{gap}{self._written(name, value, gap, depth)}{self._text[end:]}"
        gap = self._line + self._indent() * depth
        closing = self._line + self._indent() * (depth - 1)
        end = _space(self._text, at + 1)
        return f"{self._text[: at + 1]}{gap}{self._written(name, value, gap, depth)}{closing}{self._text[end:]}"

    def with_value(self, at: int, depth: int, old: _Member, value: Any) -> str:
        members = self._members(at)
        gap = self._gap(at, members, members.index(old))
        return self._text[: old.start] + self._written(old.name, value, gap, depth) + self._text[old.end :]

    def without_member(self, at: int, name: str) -> str:
        members = self._members(at)
        index = max(index for index, each in enumerate(members) if each.name == name)
        if len(members) == 1:
            start, end = at + 1, _space(self._text, members[0].end)
        elif index:
            start, end = members[index - 1].end, members[index].end
        else:
            start, end = members[0].start, members[1].start
        return self._text[:start] + self._text[end:]

    def _members(self, at: int) -> list[_Member]:
        text, found = self._text, list[_Member]()
        at = _space(text, at + 1)
        while text[at] != "}":
            name, after = self._decoder.raw_decode(text, at)
            value = _space(text, _space(text, after) + 1)
            end = self._decoder.raw_decode(text, value)[1]
            found.append(_Member(name, at, value, end))
            at = _space(text, end)
            if text[at] == ",":
                at = _space(text, at + 1)
        return found

    def _gap(self, at: int, members: list[_Member], index: int) -> str:
        """Return the white space before a member."""
        start = members[index].start
        floor = members[index - 1].end if index else at + 1
        before = self._text[floor:start]
        return before[before.find(",") + 1 :]

    def _indent(self) -> str:
        members = self._members(self.root)
        gap = self._gap(self.root, members, 0) if members else ""
        return gap.rpartition("\n")[2] if "\n" in gap else INDENT

    def _written(self, name: str, value: Any, gap: str, depth: int) -> str:
        key = json.dumps(name, ensure_ascii=False)
        if "\n" not in gap:
            return f"{key}: {json.dumps(value, ensure_ascii=False)}"
        deep = gap.rpartition("\n")[2]
        indent = deep[: len(deep) // depth] or INDENT
        lines = json.dumps(value, ensure_ascii=False, indent=indent).split("\n")
        return f"{key}: " + (self._line + deep).join(lines)


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _no_constant(name: str) -> NoReturn:
    raise BrokenJson(f"{name} is no JSON")
