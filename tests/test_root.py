"""The repository stays tidy: its root holds what is listed, and no file speaks of one machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sources import ROOT, tracked

LISTED = {
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "benchmarks",
    "dedalus_mcp",
    "dedalus_mcp_names.pth",
    "docs",
    "examples",
    "pyproject.toml",
    "tests",
    "transports",
    "zensical.toml",
}

# Each is written so that it does not match itself.
FORBIDDEN = {
    "a path of one machine": r"(?<![\w.])/wor[k]/|/tm[p]/[a-z]+/|/roo[t]/|\.pyen[v]/shims",
    "the host of a registry": r"pypi\.or[g]|pythonhoste[d]|npmj[s]\.(?:org|com)|deb\.debia[n]",
    "unfinished work": r"\b(?:TOD[O]|FIXM[E]|XX[X]|HAC[K])\b",
    "an ignore that names no rule": r"type: ignor[e](?!\[)|pyright: ignor[e](?!\[)|# noq[a](?!:)",
    "code hidden from coverage": r"pragma: no cove[r]",
}


def test_the_root_holds_only_what_is_listed() -> None:
    assert {path.parts[0] for path in tracked()} - LISTED == set()


def test_the_transports_folder_is_no_package() -> None:
    assert not (ROOT / "transports" / "__init__.py").exists()


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what])
    found = [
        f"{path}:{number}: {line.strip()[:100]}"
        for path in tracked()
        for number, line in enumerate(text(path).splitlines(), start=1)
        if pattern.search(line)
    ]

    assert found == []


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("a path of one machine", "see /wor" + "k/shared"),
        ("the host of a registry", "from npmj" + "s.com"),
        ("unfinished work", "# TOD" + "O: later"),
        ("an ignore that names no rule", "x = 1  # type: ignor" + "e"),
        ("code hidden from coverage", "# pragma: no cove" + "r"),
    ],
)
def test_the_scan_finds_what_it_looks_for(what: str, line: str) -> None:
    assert re.search(FORBIDDEN[what], line)


def text(path: Path) -> str:
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:  # a file of test data
        return ""
