"""Every input that is worth keeping holds the invariant of its target."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.targets import CORPUS, NAMES, load

KEPT = [path for name in NAMES for path in sorted((CORPUS / name).iterdir())]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_invariant_holds_for_what_is_kept(path: Path) -> None:
    """B101."""
    load(path.parent.name)(path.read_bytes())


def test_each_target_has_a_corpus() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(NAMES)
