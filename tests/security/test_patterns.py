"""No regular expression takes longer than in proportion to what it reads, or to its bound."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from tests.sources import modules

constants: Any = import_module("re._constants")
parser: Any = import_module("re._parser")

FOR_AUTHORS = {
    "dedalus_mcp.cli.target",
    "dedalus_mcp.schema.docstrings",
    "dedalus_mcp.server.composition",
    "dedalus_mcp.types.keys",
}
"""Modules whose patterns read what authors of servers have written, and no peer."""


def patterns() -> Iterator[tuple[str, str | bytes]]:
    """Each pattern that a module of the library keeps under a name, compiled or not, or writes where it is used."""
    for name, path in modules():
        tree = ast.parse(path.read_text())
        uses_re = any(
            isinstance(node, ast.Import) and any(each.name == "re" for each in node.names) for node in tree.body
        )
        if not uses_re:
            continue
        kept = vars(import_module(name))
        for value in kept.values():
            if isinstance(value, re.Pattern):
                yield name, value.pattern  # pyright: ignore[reportUnknownMemberType]
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr=attr), args=[first, *_]) if (
                    attr != "compile"
                ):
                    found: Any = kept.get(first.id) if isinstance(first, ast.Name) else getattr(first, "value", None)
                    if isinstance(found, str | bytes):
                        yield name, found
                case _:
                    pass


def repeats(parsed: Any, *, within: bool = False) -> bool:
    """Whether something that repeats without bound is in something that does, so that it can be cut in many ways.

    A repeat in another is harmless where each turn begins with a character that the inner one does not take; those
    patterns are written without an inner repeat here.
    """
    for operation, argument in parsed:
        if operation in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            _, most, inner = argument
            endless = most is constants.MAXREPEAT
            if (endless and within) or repeats(inner, within=within or endless):
                return True
        elif operation is constants.BRANCH:
            if any(repeats(each, within=within) for each in argument[1]):
                return True
        elif operation is constants.SUBPATTERN:
            if repeats(argument[-1], within=within):
                return True
        elif operation in (constants.ASSERT, constants.ASSERT_NOT) and repeats(argument[1], within=within):
            return True
    return False


FOUND = sorted({(name, pattern) for name, pattern in patterns() if name not in FOR_AUTHORS}, key=str)


@pytest.mark.parametrize(("module", "pattern"), FOUND, ids=[f"{name}-{at}" for at, (name, _) in enumerate(FOUND)])
def test_no_pattern_repeats_what_repeats_itself(module: str, pattern: str | bytes) -> None:
    """OWASP's regular expression denial of service: `(a+)+` takes twice as long for each character."""
    assert not repeats(parser.parse(pattern)), module


def test_the_patterns_are_found_and_a_bad_one_is_told() -> None:
    assert len(FOUND) > 20
    for bad in ("(a+)+", "(?:a*b?)*", "(?=(?:x|y+)*)"):
        assert repeats(parser.parse(bad))
    for good in ("a+b+", "(?:a|b)*c", "(?:a{1,9})*"):
        assert not repeats(parser.parse(good))
