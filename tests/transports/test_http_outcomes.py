"""Calls over HTTP that come to an end, in whatever way: nothing is kept of them."""

from __future__ import annotations

import gc
from typing import Any

import anyio
import pytest

from tests.interaction.server import Story, make
from tests.transports.asgi import Client, serving

MODERN = "2026-07-28"
HOLD = {"name": "hold", "arguments": {"key": "k"}}
OUTCOMES: dict[str, tuple[str, dict[str, Any]]] = {
    "success": ("tools/call", {"name": "echo", "arguments": {"text": "x"}}),
    "failure": ("tools/call", {"name": "fail", "arguments": {"how": "tool"}}),
    "error": ("tools/call", {"name": "fail", "arguments": {"how": "protocol"}}),
    "bad argument": ("tools/call", {"name": "echo", "arguments": {"text": 5}}),
    "bad params": ("tools/call", {"name": 5}),
    "unknown": ("no/such", {}),
    "stream": ("tools/call", {"name": "progress", "arguments": {"steps": 2}, "_meta": {"progressToken": "p"}}),
    "cancelled": ("tools/call", HOLD),
}


async def come_to(client: Client, id: int, outcome: str, story: Story) -> None:
    """Make a call that ends so."""
    exchange = client.begin(id, *OUTCOMES[outcome])
    if outcome == "cancelled":
        story.told.clear()
        await story.until("k began")
        if client.revision == MODERN:
            exchange.leave()
        else:
            await client.notify("notifications/cancelled", requestId=id)
        await story.until("k over")
        await exchange.done()
    else:
        await exchange.ended()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_nothing_is_kept_of_calls_that_are_over(
    revision: str, outcome: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B140: objects, not megabytes; and their ids are free at once."""
    story = Story()
    async with serving(make(story=story)) as web:
        client = await web.open(revision)
        for _ in range(150):  # what is kept for a while by design is full then
            await come_to(client, 1, outcome, story)
        caplog.clear()
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(200):
            await come_to(client, 1, outcome, story)
        caplog.clear()
        await anyio.wait_all_tasks_blocked()
        gc.collect()

        assert len(gc.get_objects()) - before < 200
