"""The repository's own files, for the tests that read them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ("PACKAGES", "ROOT", "modules", "tracked")

ROOT = Path(__file__).parent.parent
PACKAGES = {"dedalus_mcp": ROOT, "dedalus_mcp_transports": ROOT / "transports"}
"""Each import package, and the source root that it lies in."""


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of both packages: its name, and its file.  `_names` holds another package's names."""
    for package, root in PACKAGES.items():
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            if "_names" not in parts:
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def tracked() -> list[Path]:
    """Every file under version control, relative to the root.  Skips the test where that cannot be known."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
