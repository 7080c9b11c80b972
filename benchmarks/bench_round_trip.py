"""Calls to a server, in memory and over stdio, against a bare loop that does the same for them.

CPU is that of the server alone on stdio, and that of both ends in memory.  "wall" is how long one call takes
when nothing else goes on.  "Our client" is measured against a driver that has its frames ready made.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias

import anyio

from benchmarks import bare
from benchmarks.driver import (
    CASES,
    ENVIRONMENT,
    LEGACY,
    OPEN,
    Case,
    Child,
    Driver,
    child_command,
    in_child,
    in_memory,
)
from benchmarks.measure import Effort, Row, Sampler, take
from benchmarks.ours import server
from dedalus_mcp import MCPClient, StdioServer
from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.transport import Duplex
from dedalus_mcp_transports.memory import pair

__all__ = ("TITLE", "run")

TITLE = "Round trips: time for one call"
COMMANDS = {
    "ours": child_command("ours.py"),
    "bare": child_command("bare.py"),
    "tasks": child_command("bare.py", "--tasks"),
}
Serve: TypeAlias = Callable[[Duplex], Coroutine[Any, Any, None]]
SERVE: Mapping[str, Serve] = {
    "ours": server.serve,
    "bare": partial(bare.serve, tasks=False),
    "tasks": partial(bare.serve, tasks=True),
}
WIDTHS = {1: "one at a time", 64: "64 in flight"}


def run(effort: Effort) -> list[Row]:
    """Measure."""
    children = {who: Child(command) for who, command in COMMANDS.items()}
    rows: list[Row] = []
    try:
        for revision, cases in CASES.items():
            for case in cases:
                rows += on_stdio(children, revision, case, effort)
                rows += through_memory(revision, case, effort)
    finally:
        for child in children.values():
            child.close()
    return rows + by_our_client(effort)


# A server and the driver.


def on_stdio(children: Mapping[str, Child], revision: str, case: Case, effort: Effort) -> list[Row]:
    calls = effort.times(2000)
    rows: list[Row] = []
    for width, words in WIDTHS.items():
        samplers = {who: _child_cpu(child, case, calls, width) for who, child in children.items()}
        rows.append(take(f"stdio {revision} {case.name}, {words}, cpu", "us", samplers, effort.rounds))
    walls = {who: _child_wall(child, case, calls) for who, child in children.items()}
    return [*rows, take(f"stdio {revision} {case.name}, {WIDTHS[1]}, wall", "us", walls, effort.rounds)]


def _child_cpu(child: Child, case: Case, calls: int, width: int) -> Sampler:
    def sample() -> float:
        start = child.cpu
        in_child(child, Driver(case, calls, width))
        return (child.cpu - start) / calls * 1e6

    return sample


def _child_wall(child: Child, case: Case, calls: int) -> Sampler:
    def sample() -> float:
        start = time.perf_counter()
        in_child(child, Driver(case, calls, 1))
        return (time.perf_counter() - start) / calls * 1e6

    return sample


def through_memory(revision: str, case: Case, effort: Effort) -> list[Row]:
    calls = effort.times(2000)
    rows: list[Row] = []
    for width, words in WIDTHS.items():
        samplers = {who: _memory_cpu(serve, case, calls, width) for who, serve in SERVE.items()}
        rows.append(take(f"memory {revision} {case.name}, {words}, cpu", "us", samplers, effort.rounds))
    return rows


def _memory_cpu(serve: Serve, case: Case, calls: int, width: int) -> Sampler:
    async def drive() -> float:
        async with served(serve) as near:
            await near.send(OPEN)
            await near.receive()
            start = time.process_time()
            await in_memory(near, Driver(case, calls, width))
            return (time.process_time() - start) / calls * 1e6

    return partial(anyio.run, drive)


@asynccontextmanager
async def served(serve: Serve) -> AsyncGenerator[Duplex]:
    """Return one end of a pair whose other end is served."""
    near, far = pair()
    async with anyio.create_task_group() as group:
        group.start_soon(serve, far)
        yield near
        await near.aclose()


# Our client.


def by_our_client(effort: Effort) -> list[Row]:
    """Measure the client: with our server in memory, and with the bare one over stdio."""
    calls = effort.times(2000)
    case = next(case for case in CASES[LEGACY] if case.name == "echo")
    rows: list[Row] = []
    for width, words in WIDTHS.items():
        in_process = {
            "ours": _client_cpu(server, calls, width),
            "bare": _memory_cpu(SERVE["bare"], case, calls, width),
        }
        rows.append(take(f"our client, memory, our server, echo, {words}, cpu", "us", in_process, effort.rounds))
        program, *args = COMMANDS["bare"]
        apart = {
            "ours": _client_cpu(StdioServer(program, args, env=ENVIRONMENT), calls, width),
            "bare": _driver_cpu(case, calls, width),
        }
        rows.append(take(f"our client, stdio, echo, {words}, cpu", "us", apart, effort.rounds))
    return rows


def _client_cpu(target: Connectable, calls: int, width: int) -> Sampler:
    async def drive() -> float:
        async with MCPClient.connect(target, revision=LEGACY) as client:

            async def one_after_another() -> None:
                for _ in range(calls // width):
                    await client.call_tool("echo", {"text": "the quick brown fox"})

            start = time.process_time()
            async with anyio.create_task_group() as group:
                for _ in range(width):
                    group.start_soon(one_after_another)
            return (time.process_time() - start) / (calls // width * width) * 1e6

    return partial(anyio.run, drive)


def _driver_cpu(case: Case, calls: int, width: int) -> Sampler:
    def sample() -> float:
        child = Child(COMMANDS["bare"])
        start = time.process_time()
        in_child(child, Driver(case, calls, width))
        spent = time.process_time() - start
        child.close()
        return spent / calls * 1e6

    return sample
