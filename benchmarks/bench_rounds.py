"""Questions in rounds (2026-07-28): what one costs against the calls that it is made of, and a parked call's memory.

A question takes two requests of the client; so it is measured against two echo calls, and against the
same question asked live (2025-11-25).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.driver import (
    CASES,
    CONFIRM_IN_ROUNDS,
    CONFIRM_IN_THREAD,
    LEGACY,
    MODERN,
    Case,
    Child,
    Driver,
    child_command,
    in_child,
)
from benchmarks.measure import Effort, Row, Sampler, take

__all__ = ("TITLE", "run")

TITLE = "Questions in rounds"
WIDTHS = {1: "one at a time", 16: "16 in flight"}


def run(effort: Effort) -> list[Row]:
    """Measure."""
    child = Child(child_command("ours.py"))
    try:
        rows = [questions(child, width, words, effort) for width, words in WIDTHS.items()]
    finally:
        child.close()
    many = effort.times(25_000)
    waiting = Row(f"memory of one of {many} parked calls", "KiB", {"ours": [parked(CONFIRM_IN_ROUNDS, many)]})
    threads = Row("memory of one of 100, in threads", "KiB", {"ours": [parked(CONFIRM_IN_THREAD, 100)]})
    return [*rows, waiting, threads]


def questions(child: Child, width: int, words: str, effort: Effort) -> Row:
    """CPU of the server for one question, and for what it is compared with."""
    calls = effort.times(2000)
    samplers: Mapping[str, Sampler] = {
        "ours": cpu_of(child, CONFIRM_IN_ROUNDS, calls, width),
        "live": cpu_of(child, _case(LEGACY, "confirm"), calls, width),
        "two echoes": cpu_of(child, _case(MODERN, "echo"), calls, width, times=2),
    }
    return take(f"stdio, one question, {words}, cpu", "us", samplers, effort.rounds)


def cpu_of(child: Child, case: Case, calls: int, width: int, times: int = 1) -> Sampler:
    """Return what measures the CPU of the server for so many calls of one case, in microseconds."""

    def sample() -> float:
        before = child.cpu
        in_child(child, Driver(case, calls, width))
        return (child.cpu - before) / calls * 1e6 * times

    return sample


def parked(case: Case, many: int) -> float:
    """Memory in KiB of one call that waits for its retry: so many do, in hundreds."""
    child = Child(child_command("ours.py"))
    try:
        in_child(child, Driver(case, 100, 10))  # what is made once is no call's
        before = memory(child)
        replied = 0
        for first in range(1, many + 1, 100):
            child.send([case.frame % id for id in range(first, first + 100)])
            while replied < first + 99:
                replied += len(child.receive())
        return (memory(child) - before) / replied
    finally:
        child.kill()


def memory(child: Child) -> float:
    """Resident memory in KiB."""
    status = Path(f"/proc/{child.pid}/status").read_text()
    return next(float(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def _case(revision: str, name: str) -> Case:
    return next(case for case in CASES[revision] if case.name == name)
