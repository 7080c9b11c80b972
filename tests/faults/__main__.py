"""Cuts conversations at every byte:  python -m tests.faults [stdio|http] [STEP]."""

from __future__ import annotations

import itertools
import logging
import sys
import time

import anyio

from tests.faults.line import DIRECTIONS, Direction, Line
from tests.faults.sweep import REVISIONS, scene_of, sweep

__all__ = ()


async def main(transport: str, step: int) -> int:
    """Print what came of every cut; return how many went wrong."""
    bad = 0
    for revision, direction, lasting in itertools.product(REVISIONS, DIRECTIONS, (False, True)):

        def every(line: Line, direction: Direction = direction) -> range:
            return range(0, line.heard[direction] + 1, step)

        began = time.process_time()
        async with scene_of(transport, revision) as scene:
            swept = await sweep(scene, direction, every, lasting=lasting)
        what = f"{transport} {revision} {direction:4} {'everything' if lasting else 'one connection'}"
        print(f"{what}: {swept.cuts} cuts, {len(swept.wrong)} wrong, {time.process_time() - began:.0f} s", flush=True)
        for place, wrong in itertools.islice(swept.wrong.items(), 20):
            print(f"    at {place}: {'; '.join(wrong)}")
        bad += len(swept.wrong)
    return bad


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    names = [each for each in sys.argv[1:] if not each.isdigit()] or ["stdio", "http"]
    steps = [int(each) for each in sys.argv[1:] if each.isdigit()] or [1]
    sys.exit(sum(anyio.run(main, name, steps[0]) for name in names) > 0)
