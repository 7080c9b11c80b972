"""Connections that cut writes in pieces, hold them back, and let what went over different ones arrive in any order."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.faults.line import Line, bytewise, halves
from tests.faults.scenes import HttpScene
from tests.faults.sweep import REVISIONS, scene_of

each = pytest.mark.parametrize("revision", REVISIONS)
in_pieces = pytest.mark.parametrize("split", [halves, bytewise], ids=lambda split: split.__name__)


@each
@in_pieces
async def test_pipes_that_cut_every_write_in_pieces(revision: str, split: Callable[[bytes], list[bytes]]) -> None:
    async with scene_of("stdio", revision) as scene:
        assert await scene.play(Line(split=split)) == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@each
@in_pieces
async def test_connections_of_http_that_cut_every_write_in_pieces(
    revision: str, split: Callable[[bytes], list[bytes]]
) -> None:
    async with scene_of("http", revision) as scene:
        assert await scene.play(Line(split=split)) == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@each
@pytest.mark.parametrize("seed", range(3))
async def test_what_goes_over_different_connections_of_http_may_arrive_in_any_order(revision: str, seed: int) -> None:
    """The reply to a question, and what the call leads to; what is said unasked, and what is answered."""
    choose = random.Random(seed).random
    async with HttpScene.opened(revision) as scene:
        scene.shuffle = lambda: choose() / 100
        assert await scene.play(Line(split=halves)) == []
