"""The long forms:  python -m tests.soak [--scale X] [--uvloop] [NAME ...]."""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial

import anyio

from tests.soak import vitals
from tests.soak.loading import LOADS, allow_descriptors
from tests.soak.places import PLACES
from tests.soak.soaking import soak

CALLS = {
    "memory-legacy": 300_000,
    "memory-modern": 300_000,
    "stdio-legacy": 150_000,
    "stdio-modern": 150_000,
    "http-legacy": 40_000,
    "http-modern": 40_000,
    "http-stateless": 20_000,
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
            print(f"  ... {self._name}: {calls:,} calls, {vitals.rss():,} KiB", file=sys.stderr, flush=True)


def main() -> None:
    """Run what is named."""
    names = (*LOADS, *PLACES)
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="Load and soak, at length.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all if not given; {', '.join(names)}")
    parser.add_argument("--scale", type=float, default=1.0, help="how many times as many calls of a soak, or as few")
    parser.add_argument("--uvloop", action="store_true", help="clients of a soak run on uvloop, as a server does")
    options = parser.parse_args()
    print(f"{allow_descriptors():,} descriptors may be open", flush=True)
    left = False
    for name in options.names or names:
        if name in LOADS:
            for line in LOADS[name]():
                print(line, flush=True)
        elif name in PLACES:
            warm, calls = int(WARM * min(options.scale, 1.0)), int(CALLS[name] * options.scale)
            run = partial(soak, name, warm, calls, EACH, Told(name), leaves=True)
            soaked = anyio.run(run, backend_options={"use_uvloop": options.uvloop})
            print(*soaked.lines(), sep="\n", flush=True)
            left = left or bool(soaked.left)
        else:
            parser.error(f"nothing is called {name!r}; there are {', '.join(names)}")
    sys.exit(left)


if __name__ == "__main__":
    main()
