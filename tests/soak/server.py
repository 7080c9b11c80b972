"""The server that load and soak are about.

python -m tests.soak.server stdio             on stdio
python -m tests.soak.server http              over HTTP, at a free port that it names on stderr
python -m tests.soak.server stateless         the same without sessions
python -m tests.soak.server bounded           over HTTP, with bounds small enough to be reached
python -m tests.soak.server impatient         over HTTP, with as little patience for slow writers as a test has
"""

from __future__ import annotations

import logging
import sys
import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import anyio
import msgspec

from dedalus_mcp import Context, Limits, McpError, MCPServer, ServerConfig, ToolError, resource, resource_template, tool
from dedalus_mcp.server.config import ParkingConfig
from tests.interaction.reach import PATIENCE
from tests.soak.vitals import take

__all__ = ("DOCUMENT", "ROUND_SECONDS", "THREADS", "make")

DOCUMENT, THING = "soak://document", "soak://things/{name}"
IDLE_SECONDS = 2.0
"""How long the server keeps what nobody comes back for: so short that the end of a test sees it go."""
ROUND_SECONDS = 20.0
"""How long it waits for answers: longer than an honest client takes, however busy the machine is."""
LINGER_SECONDS = 4.0
THREADS = 16
"""Threads that a look at the server finds, always: else it is chance, and each is a few dozen objects."""
PARKING = ParkingConfig(
    round_seconds=ROUND_SECONDS, outcome_seconds=IDLE_SECONDS, max_parked=100_000, max_parked_by_principal=100_000
)


@resource(DOCUMENT)
async def document() -> str:
    return "text"


@tool
async def echo(text: str) -> str:
    return text


@tool
def compute(number: int) -> int:
    return number * number


@tool
async def fail() -> str:
    raise ToolError("as asked")


@tool
async def refuse() -> str:
    raise McpError(-32000, "as asked", {"why": "asked"})


@tool
async def steps(count: int, ctx: Context) -> str:
    for number in range(1, count + 1):
        await ctx.report_progress(number, total=count)
    return "done"


@tool
async def murmur(count: int, size: int, ctx: Context) -> str:
    for number in range(count):
        await ctx.report_progress(number, message="x" * size)
    return "done"


@tool
async def chatter(count: int, size: int, ctx: Context) -> str:
    for _ in range(count):
        await ctx.info("x" * size)
    return "done"


@tool
async def confirm(ctx: Context) -> str:
    return str(await ctx.confirm("Sure?"))


@tool
def confirm_in_thread(ctx: Context) -> str:
    return str(ctx.wait(ctx.confirm("Sure?")))


@tool
async def wait() -> None:
    await anyio.sleep_forever()


@tool
async def linger() -> None:
    """Wait for a cancellation; where that gets lost, as when a client has to leave in a hurry, not for ever."""
    await anyio.sleep(LINGER_SECONDS)


@tool
async def delay(seconds: float) -> str:
    await anyio.sleep(seconds)
    return "done"


@resource_template(THING)
async def thing(name: str) -> str:
    return name


@tool
async def touch(ctx: Context, uris: Sequence[str] = (DOCUMENT,)) -> str:
    for uri in uris:
        await ctx.server.notify_resource_updated(uri)
    await ctx.server.notify_tools_list_changed()
    return "told"


@tool
async def vitals() -> str:
    return msgspec.json.encode(take()).decode()


def make(**limits: Any) -> MCPServer:
    """Make one; `limits` are those of a `ServerConfig`."""
    gathered: defaultdict[str, list[anyio.Event]] = defaultdict(list)

    @tool
    async def gather(count: int, key: str) -> str:
        """Return when so many of these calls run at once."""
        came = anyio.Event()
        gathered[key].append(came)
        if len(gathered[key]) == count:
            for each in gathered.pop(key):
                each.set()
        await came.wait()
        return "all are here"

    all_threads = threading.Barrier(THREADS)

    @tool
    def meet() -> str:
        """Return when as many threads are there as there ever are."""
        all_threads.wait(PATIENCE)
        return "all are here"

    server = MCPServer("soak", version="1", config=ServerConfig(parking=PARKING, **limits))
    server.collect(echo, compute, fail, refuse, steps, murmur, chatter, confirm, confirm_in_thread, wait, linger)
    server.collect(delay, touch, vitals, gather, meet, document, thing)
    return server


def main(way: str) -> None:
    """Serve as a whole program."""
    logging.disable(logging.CRITICAL)  # storms make a line for each of their messages
    if way == "stdio":
        make().run()
    elif way == "bounded":
        make(max_listens=5, limits=Limits(max_in_flight=5)).run("http", port=0, max_sessions=5)
    elif way == "impatient":
        make().run("http", port=0, body_seconds=IDLE_SECONDS)
    else:
        make().run("http", port=0, stateless=way == "stateless", session_idle_seconds=IDLE_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1])
