"""Connections that are cut in the middle of a conversation, wherever that is.

Every call ends with its result or says that the connection was lost; nothing happens twice; nothing is left
on the server; and the next conversation works.  Here at a sample of places: `python -m tests.faults` takes all.
"""

from __future__ import annotations

import logging
from functools import partial

import pytest

from tests.faults.line import DIRECTIONS, Direction, places
from tests.faults.sweep import REVISIONS, scene_of, sweep

each = pytest.mark.parametrize("revision", REVISIONS)
both_ways = pytest.mark.parametrize("direction", DIRECTIONS)
for_good = pytest.mark.parametrize("lasting", [False, True], ids=["one connection", "everything"])


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "dedalus_mcp")  # what is lost is told there, hundreds of times


@each
@both_ways
@for_good
async def test_pipes_that_are_cut(revision: str, direction: Direction, *, lasting: bool) -> None:
    """B034, B047."""
    async with scene_of("stdio", revision) as scene:
        swept = await sweep(scene, direction, partial(places, direction=direction, spread=15), lasting=lasting)

    assert swept.wrong == {}
    assert swept.cuts > 20


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@each
@both_ways
@for_good
async def test_connections_of_http_that_are_cut(revision: str, direction: Direction, *, lasting: bool) -> None:
    """B067, B091, HTTP-35."""
    choose = partial(places, direction=direction, spread=5, by=0 if lasting else 1)
    async with scene_of("http", revision) as scene:
        swept = await sweep(scene, direction, choose, lasting=lasting)

    assert swept.wrong == {}
    assert swept.cuts > 5
