"""Long fuzzing, with a process for each target: ``python -m tests.fuzz [TARGET ...]``, or ``make fuzz``.

An input that breaks the invariant ends its target; it is in the corpus then.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec

from tests.fuzz.targets import NAMES

__all__ = ("main",)

TAIL = 60
"""Lines of what a failed process said that are shown."""


def main() -> int:
    """Run what the command line says, and return how many targets failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Long fuzzing.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(NAMES)}; all if not given")
    parser.add_argument("--executions", type=int, default=1_000_000_000, help="inputs for each target, at most")
    parser.add_argument("--seconds", type=int, default=60, help="for each target, at most; 60 if not given")
    parser.add_argument("--plain", action="store_true", help="without atheris, even where it is installed")
    given = parser.parse_args()
    unknown = set(given.targets) - set(NAMES)
    if unknown:
        parser.error(f"no target {min(unknown)!r}; legal are {', '.join(NAMES)}")
    engine = "plain" if given.plain or find_spec("atheris") is None else "atheris"
    print(f"{'target':<16}{'executions':>12}{'a second':>10}{'MiB':>6}   ({engine})", flush=True)
    return sum(_fails(name, given.executions, given.seconds, engine) for name in given.targets or NAMES)


def _fails(name: str, executions: int, seconds: int, engine: str) -> bool:
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        command = [sys.executable, "-m", "tests.fuzz.run", name, str(executions), str(seconds), engine]
        failed = subprocess.run(command, stdout=said, stderr=said, check=False).returncode != 0
        said.seek(0)
        lines = said.read().splitlines()
    stats = dict(re.findall(r"stat::(\w+):\s+(\d+)", "\n".join(lines)))
    done, rate, memory = (
        stats.get(key, "-") for key in ("number_of_executed_units", "average_exec_per_sec", "peak_rss_mb")
    )
    print(f"{name:<16}{done:>12}{rate:>10}{memory:>6}{'   FAILED' if failed else ''}", flush=True)
    if failed:
        print("\n".join(lines[-TAIL:]), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main() != 0)
