"""Results of 1 MiB over stdio and HTTP, against bare loops that write the same: most of it should be copying."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from benchmarks.driver import LARGE, Child, Driver, child_command, in_child
from benchmarks.http_driver import HttpChild, connected, exchange
from benchmarks.measure import Effort, Row, take

__all__ = ("TITLE", "run")

TITLE = "Results of 1 MiB: one at a time"


def run(effort: Effort) -> list[Row]:
    """Measure."""
    calls = effort.times(100)
    return [*on_stdio(calls, effort.rounds), *over_http(calls, effort.rounds)]


def on_stdio(calls: int, rounds: int) -> list[Row]:
    children = {who: Child(child_command(f"{who}.py")) for who in ("ours", "bare")}
    try:
        return [
            take(f"stdio, {words}", "us", {who: partial(_stdio, child, calls, words) for who, child in each}, rounds)
            for words, each in (("cpu", children.items()), ("wall", children.items()))
        ]
    finally:
        for child in children.values():
            child.close()


def over_http(calls: int, rounds: int) -> list[Row]:
    commands = {"ours": child_command("ours.py", "--http"), "bare": child_command("bare_http.py")}
    children = {who: HttpChild(command) for who, command in commands.items()}
    try:
        opened = {who: (child, child.open()) for who, child in children.items()}
        return [
            take(
                f"HTTP, {words}",
                "us",
                {who: partial(_http, *each, calls, words) for who, each in opened.items()},
                rounds,
            )
            for words in ("cpu", "wall")
        ]
    finally:
        for child in children.values():
            child.close()


def _stdio(child: Child, calls: int, words: str) -> float:
    clock = time.perf_counter if words == "wall" else lambda: child.cpu
    return _timed(clock, lambda: in_child(child, Driver(LARGE, calls, 1)), calls)


def _http(child: HttpChild, session: bytes, calls: int, words: str) -> float:
    clock = time.perf_counter if words == "wall" else lambda: child.cpu / 1e9
    with connected(child, [session]) as opened:
        return _timed(clock, lambda: exchange(child, opened, LARGE, calls, modern=False), calls)


def _timed(clock: Callable[[], float], work: Callable[[], object], calls: int) -> float:
    start = clock()
    work()
    return (clock() - start) / calls * 1e6
