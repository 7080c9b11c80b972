"""The official conformance suite as functions: run a part of it, and read what it found.

The suite is other people's program; `make interop` installs it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from tests.interop.install import CONFORMANCE, home, node
from tests.sources import ROOT

__all__ = ("ENVIRONMENT", "PROPERTY", "checks_in", "problems", "run", "summary")

PROPERTY = "scenarios"
"""The name under which a test records its `summary`."""

ENVIRONMENT = {
    **os.environ,
    "PATH": f"{node().parent}{os.pathsep}{os.environ['PATH']}",
    "PYTHONPATH": os.pathsep.join(str(ROOT / source) for source in (".", "transports", "dedalus_mcp/_names")),
}
"""For programs that import from this repository, and that find the Node which is new enough."""


def run(*arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run the suite's program to its end, in the folder of this repository."""
    program = home(*CONFORMANCE) / "node_modules" / ".bin" / "conformance"
    return subprocess.run(
        [str(node()), str(program), *arguments],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def checks_in(output: Path) -> dict[str, list[dict[str, Any]]]:
    """The checks that the suite left in a folder, by scenario."""
    return {
        re.sub(r"^server-|-\d{4}-\d\d-\d\dT[^/]*$", "", str(path.parent.relative_to(output))): json.loads(
            path.read_text()
        )
        for path in output.rglob("checks.json")
    }


def problems(checks: list[dict[str, Any]]) -> list[str]:
    """What is wrong in a scenario; one that could check nothing counts as well."""
    bad = [check for check in checks if check["status"] in {"FAILURE", "WARNING"}]
    if not bad and all(check["status"] != "SUCCESS" for check in checks):
        return ["no check could be made"]
    return [f"{check['status']} {check['id']}: {check.get('errorMessage')}" for check in bad]


def summary(count: int, *, failing: int, waiting: int = 0) -> str:
    """What became of so many scenarios, in words."""
    counts = {"pass": count - failing - waiting, "fail": failing, "wait for what is not there yet": waiting}
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number)
