"""One of each for each event loop."""

from __future__ import annotations

import gc
from weakref import WeakSet

import anyio
import pytest

from dedalus_mcp.jsonrpc.loops import PerLoop


class Made:
    """Something that is made, and may be gone."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_each_loop_has_its_own_and_takes_it_along() -> None:
    made: WeakSet[Made] = WeakSet()

    def make() -> Made:
        one = Made()
        made.add(one)
        return one

    each: PerLoop[Made] = PerLoop(make)

    async def twice() -> int:
        assert each.known() is None
        first = each.here()
        assert each.here() is first
        assert each.known() is first
        return id(first)

    for backend in ("asyncio", "trio", "asyncio"):
        anyio.run(twice, backend=backend)
    gc.collect()
    anyio.run(twice)
    gc.collect()

    assert len(made) <= 1


def test_there_is_none_without_a_loop() -> None:
    with pytest.raises(RuntimeError):
        PerLoop(Made).here()
