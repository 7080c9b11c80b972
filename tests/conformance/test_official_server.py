"""The official conformance suite against our server: no failure and no warning in what is there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.suite import ENVIRONMENT, PROPERTY, checks_in, problems, run, summary
from tests.interop.install import CONFORMANCE, home
from tests.interop.peers import bring
from tests.sources import ROOT

pytestmark = pytest.mark.interop

SECONDS = 120
"""A leg takes three seconds; a scenario that hangs takes thirty."""

UNASKED = "answers to what the server has not asked"
TASKS = "the tasks extension"

# What fails because of something that the server does not have yet.  A scenario leaves the
# list as soon as it passes, and not before.
LATER = {
    "2025-11-25": {},
    "2026-07-28": {
        "tasks-lifecycle": TASKS,
        "tasks-capability-negotiation": TASKS,
        "tasks-wire-fields": TASKS,
        "tasks-request-state-removal": TASKS,
        "tasks-mrtr-input": TASKS,
        "tasks-request-headers": TASKS,
        "tasks-dispatch-and-envelope": TASKS,
        "tasks-status-notifications": TASKS,
        "tasks-required-task-error": TASKS,
        "tasks-mrtr-composition": TASKS,
    },
}
SCENARIOS = {"2025-11-25": 33, "2026-07-28": 50}
"""How many the suite runs at a revision, those that it does not score included."""


@contextmanager
def serving(*options: str) -> Generator[str]:
    """Run the server of the fixtures, and give its URL; nothing may go wrong in it meanwhile."""
    command = [sys.executable, "-W", "error", "-m", "tests.conformance.server", "--port", "0", *options]
    with subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said: list[str] = []
        try:
            for line in process.stderr:
                said.append(line)
                if running := re.search(r"MCP at http://127\.0\.0\.1:(\d+)", line):
                    yield f"http://localhost:{running[1]}/mcp"
                    break
        finally:
            process.terminate()
            said += process.stderr
    log = "".join(said)
    assert "MCP at" in log, log
    assert not re.search("ERROR|WARNING|Traceback", log), log


def examine(url: str, revision: str, output: Path) -> dict[str, list[dict[str, Any]]]:
    """Run every scenario of a revision, and return the checks of each."""
    done = run("server", "--url", url, "--requirements", revision, "--output-dir", str(output), seconds=SECONDS)
    checks = checks_in(output)
    assert checks, f"{done.stdout}\n{done.stderr}"
    return checks


@pytest.mark.parametrize("form", [(), ("--always-stream",)], ids=["JSON where it will do", "streams only"])
@pytest.mark.parametrize("revision", SCENARIOS)
def test_every_scenario_passes_with_no_warning(
    revision: str, form: tuple[str, ...], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    bring(home(*CONFORMANCE))
    later = LATER[revision]

    with serving(*form) as url:
        checks = examine(url, revision, tmp_path)

    found = {scenario: bad for scenario, made in checks.items() if (bad := problems(made))}
    faults = [f"{scenario}: {bad}" for scenario, bads in found.items() if scenario not in later for bad in bads]
    failing, waiting = len(found.keys() - later), len(found.keys() & later)
    record_property(PROPERTY, summary(len(checks), failing=failing, waiting=waiting))
    assert not faults, "\n".join(faults)
    assert sorted(found) == sorted(later), "what passes does not wait for anything"
    assert len(checks) == SCENARIOS[revision]
