"""Calls over HTTP on 32 connections that are kept, both eras, against a bare ASGI application on the same web server.

CPU is that of the server, web server and all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

from benchmarks.driver import CASES, MODERN, Case, child_command
from benchmarks.http_driver import HttpChild, connected, exchange
from benchmarks.measure import Effort, Row, take

__all__ = ("TITLE", "run")

TITLE = "Calls over HTTP: CPU of the server for one"
COMMANDS = {
    "ours": child_command("ours.py", "--http"),
    "bare": child_command("bare_http.py"),
    "tasks": child_command("bare_http.py", "--tasks"),
}
CONNECTIONS = 32
_Open: TypeAlias = tuple[HttpChild, Sequence[bytes]]
"""A server, and the ids of its sessions."""


def run(effort: Effort) -> list[Row]:
    """Measure."""
    children = {who: HttpChild(command) for who, command in COMMANDS.items()}
    try:
        servers = {who: (child, [child.open() for _ in range(CONNECTIONS)]) for who, child in children.items()}
        cases = [(revision, case) for revision, cases in CASES.items() for case in cases if case.name != "confirm"]
        return [row(servers, revision, case, effort) for revision, case in cases]
    finally:
        for child in children.values():
            child.close()


def row(servers: Mapping[str, _Open], revision: str, case: Case, effort: Effort) -> Row:
    calls = effort.times(4000)
    samplers = {who: partial(spent, *server, case, calls, modern=revision == MODERN) for who, server in servers.items()}
    return take(f"{revision} {case.name}, {CONNECTIONS} connections, cpu", "us", samplers, effort.rounds)


def spent(child: HttpChild, sessions: Sequence[bytes], case: Case, calls: int, *, modern: bool) -> float:
    """CPU of one call in microseconds."""
    calls = max(1, calls // len(sessions)) * len(sessions)
    with connected(child, sessions) as sockets:
        exchange(child, sockets, case, len(sockets), modern=modern)  # they are accepted by then
        start = child.cpu
        exchange(child, sockets, case, calls, modern=modern)
        return (child.cpu - start) / calls / 1000
