"""The long forms of load: each storm at its strongest, with what good clients feel of it."""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from tests.soak.neighbour import neighbour
from tests.soak.places import program
from tests.soak.slow import WAYS, throughput
from tests.soak.storms import STORMS
from tests.soak.unread import unread

__all__ = ("LOADS", "allow_descriptors")

CALLS = 1000
"""Calls of a neighbour for each figure."""
STRENGTH = {"connections": 5000, "slow-writers": 1000}
STALLED = 300
"""Of the others, those that stall."""
SLOW_SECONDS = 5.0
SLOW_CALLS = 1000
UNREAD = [(5_000, 10_000), (50_000, 100), (50_000, 10_000)]
"""Calls that are written before a reply is read, and the bytes of each reply."""


def allow_descriptors() -> int:
    """Ask for as many descriptors as this process may have, and return how many those are."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def storm(name: str) -> Iterator[str]:
    """Raise a storm."""
    many = STRENGTH.get(name, STALLED)
    calm, meanwhile, seen, memory = asyncio.run(_beside(name, many))
    yield f"{name} ({many}): {', '.join(f'{what} {count:,}' for what, count in sorted(seen.items()))}"
    yield f"  a neighbour: {_times(calm)} without, {_times(meanwhile)} with; the server {memory[0]} -> {memory[1]} MiB"


async def _beside(name: str, many: int) -> tuple[list[float], list[float], Counter[str], tuple[int, int]]:
    with program("impatient" if name == "slow-writers" else "http") as (process, url):
        async with neighbour(url) as other:
            await other.calls(CALLS)
            calm, before = await other.calls(CALLS), _memory(process.pid)
            async with STORMS[name](url, many) as seen:
                meanwhile, during = await other.calls(CALLS), _memory(process.pid)
            return calm, meanwhile, seen, (before, during)


def slow_calls() -> Iterator[str]:
    """Keep slow calls open."""
    ideal = SLOW_CALLS / SLOW_SECONDS
    yield f"{SLOW_CALLS} calls of {SLOW_SECONDS:g} s in flight, which are {ideal:g}/s at best"
    for way in WAYS:
        got = asyncio.run(throughput(way, SLOW_CALLS, SLOW_SECONDS, 3))
        yield f"  {way}: {got:.0f}/s ({got / ideal:.0%})"


def unread_pipe() -> Iterator[str]:
    """Write and do not read."""
    for calls, size in UNREAD:
        seen, memory = unread(calls, size)
        said = "; ".join(f"{what}: {count:,}" for what, count in seen.items())
        yield f"{calls:,} calls with replies of {size:,} bytes before any was read, {memory} MiB: {said}"


def _times(took: list[float]) -> str:
    ordered = sorted(took)
    return f"p50 {ordered[len(took) // 2]:.1f} and p99 {ordered[len(took) * 99 // 100]:.1f} ms"


def _memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0]) >> 10


def _storm(name: str) -> Callable[[], Iterator[str]]:
    return lambda: storm(name)


LOADS: dict[str, Callable[[], Iterator[str]]] = {
    **{name: _storm(name) for name in STORMS},
    "slow-calls": slow_calls,
    "unread-pipe": unread_pipe,
}
