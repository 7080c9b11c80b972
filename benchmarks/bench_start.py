"""What a program pays before its first call: imports, memory, distributions, and the first reply of a server."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import Requirement

from benchmarks.driver import ENVIRONMENT, Child, child_command
from benchmarks.measure import Effort, Row, take

__all__ = ("TITLE", "distributions", "run")

TITLE = "Start: CPU and memory of imports, and time to the first reply"

IMPORTS = {
    "import dedalus_mcp": "import dedalus_mcp",
    "import dedalus_mcp; dedalus_mcp.MCPServer": "import dedalus_mcp; dedalus_mcp.MCPServer",
    "from dedalus_mcp import MCPServer, tool": "from dedalus_mcp import MCPServer, tool",
    "from dedalus_mcp import MCPClient": "from dedalus_mcp import MCPClient",
}
LIBRARIES = "import anyio, msgspec"
# `import anyio` loads no event loop; whoever runs one pays for asyncio too.
RUNNING = "anyio.run(anyio.sleep, 0)"
SERVING = "from dedalus_mcp import MCPServer, tool; import anyio, dedalus_mcp.run, dedalus_mcp_transports.stdio"
# Without the interpreter's own start, and with memory as it is: the greatest ever is that of the parent's fork.
PROBE = """
import json, time
def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
before, start = resident(), time.process_time()
{statement}
print(json.dumps([(time.process_time() - start) * 1e3, (resident() - before) / 1024]))
"""


def run(effort: Effort) -> list[Row]:
    """Measure."""
    rounds = max(effort.rounds, effort.times(20))
    seen: dict[str, list[list[float]]] = {}
    loop, serving = f"{LIBRARIES}; {RUNNING}", f"{SERVING}; {RUNNING}"
    statements = [*IMPORTS.values(), LIBRARIES, loop, serving]
    for _ in range(rounds + 1):
        for statement in statements:
            seen.setdefault(statement, []).append(probe(statement))
    pairs = [(name, statement, "the libraries", LIBRARIES) for name, statement in IMPORTS.items()]
    pairs.append(("all that a stdio server loads, in a running loop", serving, "a bare loop", loop))
    rows = [
        Row(
            f"{name}, {what}",
            unit,
            {"ours": [one[n] for one in seen[statement][1:]], base_name: [one[n] for one in seen[base][1:]]},
        )
        for n, what, unit in ((0, "cpu", "ms"), (1, "memory", "MiB"))
        for name, statement, base_name, base in pairs
    ]
    return [*rows, first_reply(rounds), *counted(distributions())]


def probe(statement: str) -> list[float]:
    """CPU in ms and resident memory in MiB that a statement costs, in an interpreter of its own."""
    command = [sys.executable, "-c", PROBE.format(statement=statement)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=True)
    found: list[float] = json.loads(done.stdout)
    return found


def first_reply(rounds: int) -> Row:
    """Time from starting a server with one tool to its reply to `initialize`."""
    commands: Mapping[str, list[str]] = {
        "ours": child_command("ours.py", "--one"),
        "bare": child_command("bare.py"),
    }
    return take(
        "spawn to the first reply, wall", "ms", {who: partial(spawn, line) for who, line in commands.items()}, rounds
    )


def spawn(command: list[str]) -> float:
    start = time.perf_counter()
    child = Child(command)
    spent = time.perf_counter() - start
    child.close()
    return spent * 1e3


def counted(names: set[str]) -> list[Row]:
    """Return the row of that figure; none where this checkout is not installed."""
    return [Row("distributions installed", "", {"ours": [len(names)]})] if len(names) > 1 else []


def distributions() -> set[str]:
    """The core and all that it brings along, here and on this Python."""
    found: set[str] = set()
    wanted = {"dedalus-mcp"}
    while wanted:
        name = wanted.pop()
        found.add(name)
        try:
            needed = [Requirement(line) for line in requires(name) or ()]
        except PackageNotFoundError:
            continue
        wanted |= {
            one.name.lower() for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})
        } - found
    return found
