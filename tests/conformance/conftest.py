"""Says at the end what became of the scenarios of the official suite, leg by leg."""

from __future__ import annotations

import pytest

from tests.conformance.suite import PROPERTY

__all__ = ()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each leg that was examined."""
    reports = [each for outcome in ("passed", "failed") for each in terminalreporter.getreports(outcome)]
    lines = sorted(line for line in map(told, reports) if line is not None)
    if lines:
        terminalreporter.section("scenarios of the official conformance suite")
        terminalreporter.write("".join(f"{line}\n" for line in lines))


def told(report: object) -> str | None:
    """What is to be said of a test; None for one that has examined no scenarios."""
    if not isinstance(report, pytest.TestReport) or report.when != "call":
        return None
    said = dict(report.user_properties).get(PROPERTY)
    if said is None:
        return None
    side = "client" if "official_client" in report.nodeid else "server"
    leg = report.nodeid.partition("[")[2].rstrip("]")
    return f"{side} {leg}: {said}"
