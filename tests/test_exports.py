"""`__all__` is the truth: a tuple in every public module, of exactly what it defines for others."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.sources import modules

PUBLIC = [found for found in modules() if not any(part.startswith("_") for part in found[0].split("."))]


def defined(path: Path) -> Iterator[str]:
    """The public classes and functions that a module makes itself.

    A constant may stay at home: it is a bound or a table that has a name for those who read the module.
    """
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def imported(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def published(module: ModuleType) -> tuple[str, ...]:
    names: tuple[str, ...] = getattr(module, "__all__", ())
    assert isinstance(names, tuple), "__all__ is a tuple"
    return names


@pytest.mark.parametrize(("name", "path"), [pytest.param(*found, id=found[0]) for found in PUBLIC])
def test_a_module_publishes_what_it_defines(name: str, path: Path) -> None:
    names = published(importlib.import_module(name))

    own = set(defined(path))

    assert own - set(names) == set()
    if own and path.name != "__init__.py":  # what defines something hands on nothing of others
        assert set(names) & set(imported(path)) == set()


@pytest.mark.parametrize("name", [name for name, _ in PUBLIC])
def test_every_published_name_is_there_once(name: str) -> None:
    module = importlib.import_module(name)
    names = published(module)

    assert len(set(names)) == len(names)
    assert [each for each in names if not hasattr(module, each)] == []
