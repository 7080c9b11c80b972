"""Calls over HTTP on 32 connections that are kept, both eras, against a bare ASGI application on the same web server.

CPU is that of the server, web server and all.  Our client is measured against the HTTP client that it is made
with, which posts the same call again and again, and looks at no answer.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import anyio
import httpx

from benchmarks.driver import CASES, LEGACY, MODERN, Case, child_command
from benchmarks.http_driver import HttpChild, connected, exchange
from benchmarks.measure import Effort, Row, take
from dedalus_mcp import MCPClient

__all__ = ("TITLE", "run")

TITLE = "Calls over HTTP: CPU of the server for one, or of our client"
COMMANDS = {
    "ours": child_command("ours.py", "--http"),
    "bare": child_command("bare_http.py"),
    "tasks": child_command("bare_http.py", "--tasks"),
}
CONNECTIONS = 32
WIDTHS = (1, 64)
"""Calls of our client at once."""
_Open: TypeAlias = tuple[HttpChild, Sequence[bytes]]
"""A server, and the ids of its sessions."""


def run(effort: Effort) -> list[Row]:
    """Measure."""
    children = {who: HttpChild(command) for who, command in COMMANDS.items()}
    try:
        servers = {who: (child, [child.open() for _ in range(CONNECTIONS)]) for who, child in children.items()}
        cases = [(revision, case) for revision, cases in CASES.items() for case in cases if case.name != "confirm"]
        rows = [row(servers, revision, case, effort) for revision, case in cases]
        return [*rows, *(by_our_client(servers["bare"], width, effort) for width in WIDTHS)]
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


# Our client.


def by_our_client(server: _Open, width: int, effort: Effort) -> Row:
    calls = effort.times(500)
    url = server[0].url
    samplers = {
        "ours": partial(anyio.run, partial(_by_ours, url, calls, width)),
        "httpx": partial(anyio.run, partial(_by_httpx, url, server[1][0], calls, width)),
    }
    return take(f"our client, echo, {width} at once, cpu", "us", samplers, effort.rounds)


async def _by_ours(url: str, calls: int, width: int) -> float:
    async with MCPClient.connect(url, revision=LEGACY) as client:
        return await _driven(lambda: client.call_tool("echo", {"text": "the quick brown fox"}), calls, width)


async def _by_httpx(url: str, session: bytes, calls: int, width: int) -> float:
    case = next(case for case in CASES[LEGACY] if case.name == "echo")
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    headers["mcp-session-id"] = session.decode()
    async with httpx.AsyncClient(headers=headers) as client:
        return await _driven(lambda: client.post(url, content=case.frame % 1), calls, width)


async def _driven(call: Callable[[], Awaitable[object]], calls: int, width: int) -> float:
    async def one_after_another(number: int) -> None:
        for _ in range(number):
            await call()

    async with anyio.create_task_group() as group:  # they are connected by then
        for _ in range(width):
            group.start_soon(one_after_another, 1)
    each = max(1, calls // width)
    start = time.process_time()
    async with anyio.create_task_group() as group:
        for _ in range(width):
            group.start_soon(one_after_another, each)
    return (time.process_time() - start) / (each * width) * 1e6
