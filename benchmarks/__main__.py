"""All benchmarks:  python -m benchmarks [--quick] [--only codec,start] [--json FILE]."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks import (
    bench_codec,
    bench_exchange,
    bench_http,
    bench_large,
    bench_listing,
    bench_peers,
    bench_round_trip,
    bench_rounds,
    bench_sessions,
    bench_start,
)
from benchmarks.measure import Effort, Row, show

BENCHMARKS = {
    "codec": bench_codec,
    "exchange": bench_exchange,
    "http": bench_http,
    "large": bench_large,
    "listing": bench_listing,
    "peers": bench_peers,
    "round_trip": bench_round_trip,
    "rounds": bench_rounds,
    "sessions": bench_sessions,
    "start": bench_start,
}


def machine() -> str:
    """Return one paragraph on what the figures were measured with."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("anyio", "msgspec"))
    load = ", ".join(f"{load:.2f}" for load in os.getloadavg())
    return (
        f"{processor()}, {os.cpu_count()} cores; {platform.system()} {platform.release()}\n"
        f"Python {platform.python_version()}, {libraries}\nload {load}"
    )


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure ours against bare loops.")
    parser.add_argument("--quick", action="store_true", help="in less than a minute, and rough")
    parser.add_argument("--only", default=",".join(BENCHMARKS), help="some of " + ",".join(BENCHMARKS))
    parser.add_argument("--json", type=Path, help="where to write every sample")
    options = parser.parse_args()
    effort = Effort(rounds=3, scale=0.05) if options.quick else Effort(rounds=5, scale=0.4)
    print(machine())
    taken: dict[str, list[Row]] = {}
    for name in options.only.split(","):
        if name not in BENCHMARKS:
            sys.exit(f"no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
        taken[name] = BENCHMARKS[name].run(effort)
        show(BENCHMARKS[name].TITLE, taken[name])
    if options.json:
        samples = {name: {row.name: dict(row.samples) for row in rows} for name, rows in taken.items()}
        options.json.write_text(json.dumps({"machine": machine(), "samples": samples}, indent=1))


if __name__ == "__main__":
    main()
