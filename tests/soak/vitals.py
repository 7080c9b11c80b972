"""What a process holds: tasks, threads, descriptors, objects by type, memory; all of it has to come back."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import cast

import msgspec

from tests.client.counting import living_tasks

__all__ = ("Vitals", "grown", "rss", "take")


class Vitals(msgspec.Struct, frozen=True):
    """What a process holds at one moment.

    Attributes:
        tasks: Tasks of its event loop.
        threads: Threads.
        descriptors: Open file descriptors.
        objects: Python objects that the collector knows, by the name of their type.
        frozen: Objects that were there before all, and that it leaves alone.
        blocks: Blocks of memory that Python has handed out, for the objects that it does not know too.
        rss: Resident memory in KiB, once what is free was given back to the system.
    """

    tasks: int
    threads: int
    descriptors: int
    objects: dict[str, int]
    frozen: int
    blocks: int
    rss: int

    @property
    def counted(self) -> int:
        """How many objects there are."""
        return sum(self.objects.values()) + self.frozen


def take() -> Vitals:
    """Collect garbage and look."""
    for _ in range(2):  # what one collection ends may be what held something else
        gc.collect()
    with suppress(OSError, AttributeError):  # only where the C library is glibc
        ctypes.CDLL(None).malloc_trim(0)
    objects = gc.get_objects()
    # asyncio keeps timers that are cancelled for a while, a hundred and more, and with each its context.
    over = {id(each) for each in objects if isinstance(each, asyncio.TimerHandle) and each.cancelled()}
    over |= {id(each._context) for each in objects if id(each) in over}
    types = Counter(cast("type[object]", type(each)) for each in objects if id(each) not in over)
    kinds = {f"{kind.__module__}.{kind.__qualname__}": count for kind, count in types.items()}
    return Vitals(
        living_tasks(),
        threading.active_count(),
        len(list(Path("/proc/self/fd").iterdir())),
        kinds,
        gc.get_freeze_count(),
        sys.getallocatedblocks(),
        rss(),
    )


def grown(before: Vitals, after: Vitals, least: int) -> dict[str, tuple[int, int]]:
    """The types that `after` has more of, by a hundredth of what there were and by `least` at the same time."""
    return {
        name: (before.objects.get(name, 0), count)
        for name, count in after.objects.items()
        if count - before.objects.get(name, 0) >= max(least, before.objects.get(name, 0) / 100)
    }


def rss() -> int:
    """The resident memory in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
