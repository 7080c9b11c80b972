"""The official conformance suite against our client: no failure, no warning, and exit code 0.

Scenarios are run one by one, since only then does the suite look at warnings and exit codes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.conformance.suite import PROPERTY, checks_in, problems, run, summary
from tests.interop.install import CONFORMANCE, home
from tests.interop.peers import bring

pytestmark = pytest.mark.interop

SECONDS = 60
"""A scenario takes one second; its client is given up after half of this."""
AT_ONCE = 3
"""Scenarios: each is two processes, most of the time waiting for one another."""

SCENARIOS = {"2025-03-26": 2, "2025-11-25": 25, "2026-07-28": 39}
"""How many the suite has for clients at a revision, those that it does not score included."""

OLDER = ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"]
"""What it has for a revision without requirements of its own."""


def scenarios(revision: str) -> list[str]:
    """The names of the client's scenarios at a revision."""
    if revision == "2025-03-26":
        return OLDER
    listed = run("list", "--requirements", revision, seconds=SECONDS).stdout
    scored, _, others = listed.partition("Client scenarios")[2].partition("Run and reported")
    return re.findall(r"- (\S+)$", scored, re.MULTILINE) + re.findall(r"- (\S+) \[client\]", others)


def examine(scenario: str, revision: str, output: Path) -> list[str]:
    """Play one scenario, and return what went wrong."""
    command = f"{sys.executable} -W error -m tests.conformance.client"
    which = ("--command", command, "--scenario", scenario, "--spec-version", revision, "--force")
    limits = ("--timeout", f"{SECONDS * 500}", "--output-dir", str(output / scenario))
    done = run("client", *which, *limits, seconds=SECONDS)
    checks = checks_in(output / scenario)
    found = [bad for made in checks.values() for bad in problems(made)]
    # The suite forgives some scenarios an exit code, but says that there was one.
    if not found and (done.returncode or not checks or "CLIENT EXITED" in done.stdout):
        found = [f"{done.stdout}\n{done.stderr}"]
    return [f"{scenario}: {bad}" for bad in found]


@pytest.mark.parametrize("revision", SCENARIOS)
def test_every_scenario_passes_with_no_warning(
    revision: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    bring(home(*CONFORMANCE))
    names = scenarios(revision)
    assert len(names) == SCENARIOS[revision]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(partial(examine, revision=revision, output=tmp_path), names))

    record_property(PROPERTY, summary(len(names), failing=sum(map(bool, found))))
    assert not any(found), "\n".join(bad for bads in found for bad in bads)
