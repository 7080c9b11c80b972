"""The page of the examples names each of them, and each says how it is run."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.examples.programs import EXAMPLES
from tests.sources import ROOT

PROGRAMS = sorted(EXAMPLES.glob("*.py"))


def test_the_page_has_a_row_for_each_example() -> None:
    rows = re.findall(r"^\| `(\w+\.py)` \|", (ROOT / "docs" / "examples.md").read_text(), re.MULTILINE)

    assert sorted(rows) == [program.name for program in PROGRAMS]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_an_example_says_how_it_is_run_and_fits_on_a_few_pages(program: Path) -> None:
    source = program.read_text()

    assert f"python examples/{program.name}" in (ast.get_docstring(ast.parse(source)) or "")
    assert source.count("\n") <= 200
