"""The table of features: each row names tests that exist, or says that it is not there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.sources import ROOT

TABLE = ROOT / "docs" / "features.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
NOT_THERE = ("later", "not there")


def rows() -> Iterator[tuple[str, str, str]]:
    """The cells of each row but the head: the feature, how it is here, the tests."""
    lines = [line for line in TABLE.read_text().splitlines() if line.startswith("|")]
    for line in lines[2:]:
        feature, here, tests = (cell.strip() for cell in line.strip("|").split("|"))
        yield feature, here, tests


@cache
def functions(path: Path) -> set[str]:
    return {
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@pytest.mark.parametrize(("feature", "here", "tests"), [pytest.param(*row, id=row[0]) for row in rows()])
def test_a_feature_is_shown_by_tests_that_exist(feature: str, here: str, tests: str) -> None:
    found = NAMED.findall(tests)

    assert NAMED.sub("", tests).strip() == "", "nothing else stands among the tests"
    assert found or here.startswith(NOT_THERE), "without a test it is not there, and says so"
    assert [(path, name) for path, name in found if name not in functions(ROOT / path)] == []


def test_no_feature_has_two_rows() -> None:
    features = [feature for feature, _, _ in rows()]

    assert len(set(features)) == len(features) > 40
