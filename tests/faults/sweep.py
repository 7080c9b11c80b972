"""Cuts a conversation at one place after the other."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import NamedTuple

from tests.faults.line import Cut, Direction, Line
from tests.faults.scenes import HttpScene, Scene, StdioScene

__all__ = ("REVISIONS", "Swept", "scene_of", "sweep")

REVISIONS = ("2025-11-25", "2026-07-28")
"""Live questions, and questions in rounds."""


class Swept(NamedTuple):
    """What came of cuts.

    Attributes:
        cuts: How many there were.
        wrong: What was wrong after which.
    """

    cuts: int
    wrong: dict[int, list[str]]


@asynccontextmanager
async def scene_of(transport: str, revision: str) -> AsyncGenerator[Scene]:
    """Return where conversations are held."""
    async with HttpScene.opened(revision) if transport == "http" else nullcontext(StdioScene(revision)) as scene:
        yield scene


async def sweep(scene: Scene, direction: Direction, choose: Callable[[Line], Sequence[int]], *, lasting: bool) -> Swept:
    """Record a conversation, and hold it again for each place that is chosen, cut there."""
    record = Line()
    await scene.record(record)
    wrong: dict[int, list[str]] = {}
    chosen = choose(record)
    for place in chosen:
        line = Line(Cut(direction, place, lasting))
        found = await scene.play(line)
        if found:
            wrong[place] = found
    return Swept(len(chosen), wrong)
