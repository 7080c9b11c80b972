"""The page on errors has an entry for all that is sent or raised, none for what is not, and quotes what is said."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache

import pytest

from dedalus_mcp import errors
from tests.sources import ROOT, modules

PAGE = (ROOT / "docs" / "errors.md").read_text()
HEADINGS = set(re.findall(r"^#+ (\S+)$", PAGE, re.MULTILINE))
INSIDE = PAGE.partition("### Classes that stay inside")[2].partition("\n## ")[0]
MESSAGES = re.findall(r"^\| (?P<first>`.+?`) \|", PAGE.replace(INSIDE, ""), re.MULTILINE)
BESIDE = re.findall(r"^### \d+\n\n`(.+?)`", PAGE, re.MULTILINE)
QUOTED = sorted({*BESIDE, *(text for cell in MESSAGES for text in re.findall(r"`(.+?)`(?:, |$)", cell))})
CODES = {name: value for name in errors.__all__ if isinstance(value := getattr(errors, name), int)}
ANSWERS = ("respond", "respond_failure", "refuse", "Refusal", "Refused", "end", "end_all", "give_up")


def ours() -> Iterator[str]:
    """The modules of the library; the command line tells of its errors by exit codes, on a page of its own."""
    return (name for name, _ in modules() if name.split(".")[1:2] != ["cli"])


@cache
def trees() -> dict[str, ast.Module]:
    """The modules of the library as syntax, by name."""
    known = set(ours())
    return {name: ast.parse(path.read_text()) for name, path in modules() if name in known}


@cache
def said() -> str:
    """All texts in the source, with a zero byte between them, and a question mark for each value that is put in."""
    return "\0".join(text_of(node) for tree in trees().values() for node in ast.walk(tree))


def text_of(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "?" for part in node.values)
    value = node.value if isinstance(node, ast.Constant) else None
    return value.decode(errors="replace") if isinstance(value, bytes) else value if isinstance(value, str) else ""


def exceptions() -> set[str]:
    """The names of all public exceptions; warnings are none."""
    loaded = [importlib.import_module(name) for name in ours()]
    public = ((name, getattr(module, name)) for module in loaded for name in getattr(module, "__all__", ()))
    classes = {name: value for name, value in public if isinstance(value, type) and issubclass(value, BaseException)}
    return {name for name, value in classes.items() if not issubclass(value, Warning)}


def statuses() -> set[str]:
    """The HTTP statuses that the transports answer with."""
    transports = [tree for name, tree in trees().items() if name.startswith("dedalus_mcp_transports.")]
    places = [place for tree in transports for node in ast.walk(tree) for place in answering(node)]
    return {name_of(each) for each in places if is_status(each)}


def answering(node: ast.AST) -> list[ast.AST]:
    """Where a status may stand in `node`: in whatever answers, and in tables of statuses."""
    match node:
        case ast.Call(func=function, args=given) if name_of(function) in ANSWERS:
            return list(given)
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target) if name_of(target) in (
            "_STATUS",
            "ENDED",
            "GONE",
        ):
            return list(ast.walk(node))
        case _:
            return []


def name_of(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Constant(value=value):
            return str(value)
        case _:
            return ""


def is_status(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and 200 <= node.value < 600


def test_every_public_exception_has_an_entry() -> None:
    inside = set(re.findall(r"`(\w+)`", INSIDE))

    assert exceptions() - HEADINGS - inside == set()
    assert inside - exceptions() == set()


def test_every_code_has_an_entry_that_says_its_number() -> None:
    rows = dict(re.findall(r"^\| (-\d+) \| \[(\w+)\]", PAGE, re.MULTILINE))

    assert {name: int(number) for number, name in rows.items()} == CODES
    for name, code in CODES.items():
        assert re.search(rf"^### {name}\n\n{code}\b", PAGE, re.MULTILINE), name


def test_every_status_has_an_entry() -> None:
    assert {each for each in HEADINGS if each.isdigit()} == statuses()


def test_no_entry_is_of_what_is_not_there() -> None:
    words = {"Errors", "Codes", "Exceptions"}

    assert {each for each in HEADINGS if not each.isdigit()} - exceptions() - set(CODES) - words == set()


@pytest.mark.parametrize("message", QUOTED)
def test_what_is_quoted_is_said(message: str) -> None:
    """In the order of the quotation, and with `...` for what is put in or left out."""
    parts = [re.escape(part) for part in message.split("...") if part]

    assert re.search("[^\0]*".join(parts), said())


def test_there_is_much_to_quote() -> None:
    assert len(QUOTED) > 100
