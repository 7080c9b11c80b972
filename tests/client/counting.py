"""How many tasks live in this event loop: what a closed connection leaves behind must be none."""

from __future__ import annotations

import asyncio
import sys

import anyio
from anyio.lowlevel import checkpoint

__all__ = ("back_to", "living_tasks")


def living_tasks() -> int:
    """Return the number of tasks that are not over."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        living: int = trio.lowlevel.current_statistics().tasks_living
        return living
    return len(asyncio.all_tasks())


async def back_to(baseline: int) -> None:
    """Return when no more than that live; a task that is over may take a turn to be forgotten."""
    with anyio.fail_after(20):
        while living_tasks() > baseline:
            await checkpoint()
