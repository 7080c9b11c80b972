"""Requests that stand alone: what each of them costs, and leaves behind."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import anyio
import pytest

from dedalus_mcp.server.answering import Answering
from tests.interaction.server import make
from tests.transports.asgi import serving


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Run without the search for cycles."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
async def test_a_conversation_of_one_request_is_freed_with_it() -> None:
    """A search for cycles would take a fifth of the time of a call."""
    server = make()
    async with serving(server) as web:
        client = await web.open("2026-07-28")
        for n in range(5):
            await client.use(n, "echo", text="hi")
            await client.use(n, "progress", steps=1)
        await anyio.wait_all_tasks_blocked()

        found = [each for each in gc.get_objects() if isinstance(each, Answering)]
        assert [each for each in found if each.server is server] == []
