"""Where an import's time goes: CPU of each module alone, the least of several runs, dearest first.

    python -m benchmarks.imports ["from dedalus_mcp import MCPServer, tool"] [runs]

`python -X importtime` shows wall time, which on a busy machine is mostly other people's.
"""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.bench_start import LIBRARIES
from benchmarks.driver import ENVIRONMENT

__all__ = ("breakdown",)

PROBE = """
import json, sys, time
import importlib._bootstrap as bootstrap
load, spent, stack = bootstrap._load_unlocked, {{}}, [0]
def timed(spec):
    start = time.process_time_ns()
    stack.append(0)
    try:
        return load(spec)
    finally:
        total = time.process_time_ns() - start
        spent[spec.name] = total - stack.pop()
        stack[-1] += total
bootstrap._load_unlocked = timed
{statement}
json.dump(spent, sys.stdout)
"""


def breakdown(statement: str, runs: int) -> dict[str, float]:
    """Milliseconds of CPU by module, without what it imports in turn; dearest first."""
    least: dict[str, float] = {}
    for _ in range(runs):
        command = [sys.executable, "-c", PROBE.format(statement=statement)]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=True)
        spent: dict[str, int] = json.loads(done.stdout)
        for name, nanoseconds in spent.items():
            least[name] = min(nanoseconds / 1e6, least.get(name, float("inf")))
    return dict(sorted(least.items(), key=lambda item: -item[1]))


def main(statement: str = "from dedalus_mcp import MCPServer, tool", runs: str = "10") -> None:
    ours = breakdown(statement, int(runs))
    theirs = breakdown(LIBRARIES, int(runs))
    extra = {name: spent for name, spent in ours.items() if name not in theirs}
    own = {name: spent for name, spent in extra.items() if name.startswith("dedalus_mcp")}
    print(f"{statement}: {sum(ours.values()):.1f} ms; {LIBRARIES}: {sum(theirs.values()):.1f} ms")
    print(f"of the difference {sum(own.values()):.1f} ms is in {len(own)} modules of ours,")
    print(f"{sum(extra.values()) - sum(own.values()):.1f} ms in {len(extra) - len(own)} others")
    for name, spent in list(extra.items())[:60]:
        print(f"  {spent:6.2f}  {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
