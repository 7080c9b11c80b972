"""A few thousand calls of every kind leave nothing behind; `python -m tests.soak` makes a million."""

from __future__ import annotations

import anyio
import pytest

from tests.soak.soaking import soak

SECONDS = 240.0
"""A bound on hanging."""


@pytest.mark.parametrize(
    ("anyio_backend", "name"),
    [
        ("asyncio", "memory-legacy"),
        ("trio", "memory-modern"),
        ("asyncio", "stdio-legacy"),
        ("asyncio", "http-modern"),
        ("asyncio", "http-stateless"),
    ],
)
async def test_calls_of_every_kind_leave_no_task_no_descriptor_and_no_object_behind(name: str) -> None:
    """Elicitations, errors, progress, cancellations, listening; clients that close, and that leave in the middle."""
    calls = 40 if name.startswith("http") else 600
    with anyio.fail_after(SECONDS):
        soaked = await soak(name, warm=calls, calls=calls, each=40)

    assert not soaked.left, "\n".join(soaked.lines())
