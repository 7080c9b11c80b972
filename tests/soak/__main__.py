"""The long forms:  python -m tests.soak [--calls N] [--uvloop] [NAME ...]."""

from __future__ import annotations

import argparse
import sys
import time

import anyio

from tests.soak.places import PLACES
from tests.soak.soaking import soak

CALLS = {
    "memory-legacy": 250_000,
    "memory-modern": 250_000,
    "stdio-legacy": 150_000,
    "stdio-modern": 150_000,
    "http-legacy": 80_000,
    "http-modern": 80_000,
    "http-stateless": 40_000,
}
"""A million, most of them where they cost least."""
WARM = 10_000
EACH = 400
"""Calls in one visit."""
TOLD_SECONDS = 60.0


class Told:
    """Says now and then how far it is."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last = time.monotonic()

    def __call__(self, calls: int) -> None:
        now = time.monotonic()
        if now - self._last > TOLD_SECONDS:
            self._last = now
            print(f"  ... {self._name}: {calls:,}", file=sys.stderr, flush=True)


def main() -> None:
    """Run what is named."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="Load and soak, at length.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all if not given; {', '.join(PLACES)}")
    parser.add_argument("--scale", type=float, default=1.0, help="how many times as much, or as little")
    parser.add_argument("--uvloop", action="store_true", help="clients run on uvloop")
    options = parser.parse_args()
    left = False
    for name in options.names or PLACES:
        if name not in PLACES:
            sys.exit(f"nothing is called {name!r}; there are {', '.join(PLACES)}")
        warm, calls = int(WARM * min(options.scale, 1.0)), int(CALLS[name] * options.scale)
        soaked = anyio.run(soak, name, warm, calls, EACH, Told(name), backend_options={"use_uvloop": options.uvloop})
        print(*soaked.lines(), sep="\n", flush=True)
        left = left or bool(soaked.left)
    sys.exit(left)


if __name__ == "__main__":
    main()
