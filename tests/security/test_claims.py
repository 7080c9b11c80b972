"""What `docs/security.md` says is shown by tests that exist, and the bounds in it are those of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.sources import ROOT

PAGE = ROOT / "docs" / "security.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
BOUND = re.compile(r"^\| [^|]+ \| `([\w.]+):([\w.]+)` \| ([^|]+) \|", re.MULTILINE)
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "s": 1, "min": 60, "h": 3600, "days": 86400}


def threats() -> Iterator[tuple[str, str]]:
    """Each section of the page that tells of one threat: its title, and its text."""
    for section in PAGE.read_text().split("\n## ")[1:]:
        for part in section.split("\n### ")[1:]:
            title, _, text = part.partition("\n")
            yield title, text


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def default(module: str, name: str) -> Any:
    """A constant of a module, or what a field of one of its settings is where nothing is said."""
    found = getattr(import_module(module), name.partition(".")[0])
    if "." not in name:
        return found
    fields = {field.name: field.default for field in msgspec.structs.fields(found)}
    return fields[name.partition(".")[2]]


def number(text: str) -> float:
    digits, _, unit = text.strip().partition(" ")
    return float(digits.replace(",", "")) * UNITS.get(unit, 1)


@pytest.mark.parametrize(("title", "text"), [pytest.param(*each, id=each[0]) for each in threats()])
def test_what_is_said_of_a_threat_is_shown_by_tests_that_exist(title: str, text: str) -> None:
    found = NAMED.findall(text)

    assert found, f"nothing shows what is said of {title}"
    assert text.count("`tests/") == len(found), "a test is named by its file and its function"
    assert [(path, name) for path, name in found if name not in functions(ROOT / path)] == []


def test_the_page_tells_of_each_threat_once() -> None:
    titles = [title for title, _ in threats()]

    assert len(set(titles)) == len(titles) > 20


@pytest.mark.parametrize(("module", "name", "said"), BOUND.findall(PAGE.read_text()))
def test_a_bound_is_what_the_page_says(module: str, name: str, said: str) -> None:
    assert default(module, name) == number(said)


def test_most_bounds_are_on_the_page() -> None:
    assert len(BOUND.findall(PAGE.read_text())) > 40
