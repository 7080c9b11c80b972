"""Calls over stdio to servers made with other packages, as many of them as `make interop` has installed.

Each says the same few words back, or adds two numbers, which is as much work.  CPU is that of the server alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from benchmarks.driver import CASES, ECHO, LEGACY, Case, Child, Driver, child_command, in_child, tool_case
from benchmarks.measure import Effort, Row, take
from tests.interop import peers

__all__ = ("TITLE", "run")

TITLE = "Beside other packages: echo over stdio, 2025-11-25"

_OURS = next(case for case in CASES[LEGACY] if case.name == "echo")
_SUM = tool_case("add", b'"name":"add","arguments":{"a":2,"b":3}', b'"5"')
_EVERYTHING = tool_case("echo", b'"name":"echo","arguments":{"message":"the quick brown fox"}', b"the quick brown fox")
PEERS: Mapping[str, tuple[tuple[str, ...], Case]] = {
    "official": (peers.OFFICIAL_SERVER, tool_case("echo", ECHO, b"the quick brown fox")),
    "typescript": (peers.TYPESCRIPT_SERVER, _SUM),
    "everything": (peers.EVERYTHING, _EVERYTHING),
}
WIDTHS = {1: "one at a time", 64: "64 in flight"}


def run(effort: Effort) -> list[Row]:
    """Measure; those that are not installed are left out."""
    calls = effort.times(1000)
    children = {who: (Child(command), case) for who, command, case in there()}
    rows: list[Row] = []
    try:
        for width, words in WIDTHS.items():
            cpu = {who: partial(_cpu, child, case, calls, width) for who, (child, case) in children.items()}
            wall = {who: partial(_wall, child, case, calls, width) for who, (child, case) in children.items()}
            rows.append(take(f"{words}, cpu", "us", cpu, effort.rounds))
            rows.append(take(f"{words}, wall", "us", wall, effort.rounds))
        return rows
    finally:
        for child, _ in children.values():
            child.kill()


def there() -> Iterator[tuple[str, tuple[str, ...], Case]]:
    """Find ours, and the peers that are installed."""
    yield "ours", tuple(child_command("ours.py")), _OURS
    for who, (command, case) in PEERS.items():
        if all(Path(part).exists() for part in command if part.startswith("/")):
            yield who, command, case


def _cpu(child: Child, case: Case, calls: int, width: int) -> float:
    start = child.cpu
    in_child(child, Driver(case, calls, width))
    return (child.cpu - start) / calls * 1e6


def _wall(child: Child, case: Case, calls: int, width: int) -> float:
    start = time.perf_counter()
    in_child(child, Driver(case, calls, width))
    return (time.perf_counter() - start) / calls * 1e6
