"""What CONTRIBUTING.md says is there: the commands, the files, the layers."""

from __future__ import annotations

import re

import pytest

from tests.sources import ROOT
from tests.test_documents import TARGET
from tests.test_layers import LAYERS

FILE = ROOT / "CONTRIBUTING.md"
pytestmark = pytest.mark.skipif(not FILE.exists(), reason="not a checkout")
PAGE = FILE.read_text() if FILE.exists() else ""


def test_every_command_that_is_named_exists() -> None:
    named = set(re.findall(r"`make (\w+)`", PAGE))
    targets = set(TARGET.findall((ROOT / "Makefile").read_text()))

    assert targets - named == {"clean", "interop"}
    assert named - targets == set()


def test_every_file_that_is_named_exists() -> None:
    named = re.findall(r"(?:`| )((?:docs|tests|transports|dedalus_mcp)/[\w/.]+)`", PAGE)

    assert len(named) > 4
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_layer_has_a_row() -> None:
    assert re.findall(r"^\| L(\d) \|", PAGE, re.MULTILINE) == [str(layer) for layer in sorted(set(LAYERS.values()))]


def test_the_bound_on_files_holds_for_the_library() -> None:
    (most,) = re.findall(r"A file has at most (\d+) lines", PAGE)
    long = [
        str(path.relative_to(ROOT))
        for package in ("dedalus_mcp", "transports")
        for path in (ROOT / package).rglob("*.py")
        if path.read_text().count("\n") > int(most)
    ]

    assert long == []
