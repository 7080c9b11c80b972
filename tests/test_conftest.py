"""The tests run on the event loop that was asked for."""

from __future__ import annotations

import asyncio

import anyio
import pytest


def whose_loop() -> str:
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_async_tests_run_on_the_loop_that_was_asked_for(pytestconfig: pytest.Config) -> None:
    assert whose_loop() == pytestconfig.getoption("--loop")


def test_what_a_test_starts_by_itself_does_so_too(pytestconfig: pytest.Config) -> None:
    async def look() -> str:
        return whose_loop()

    assert anyio.run(look) == asyncio.run(look()) == pytestconfig.getoption("--loop")
