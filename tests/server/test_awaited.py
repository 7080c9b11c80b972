"""A forgotten `await` counts as no answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPClient, MCPServer, tool
from dedalus_mcp.server.asking import Asking
from dedalus_mcp.server.awaited import Unawaited, to_be_awaited
from tests.interaction.reach import PATIENCE, text_of


@to_be_awaited
async def confirm(value: bool) -> bool:
    await anyio.lowlevel.checkpoint()
    return value


async def test_it_is_awaited_like_any_coroutine() -> None:
    heard: list[bool] = []

    async def hear(value: bool) -> None:
        heard.append(await confirm(value))

    async with anyio.create_task_group() as group:
        group.start_soon(hear, True)
        group.start_soon(confirm, False)

    assert heard == [True]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_tasks_and_waiting_of_asyncio_take_it(anyio_backend: str) -> None:
    assert await asyncio.create_task(confirm(True)) is True
    assert list(await asyncio.gather(confirm(True), confirm(False))) == [True, False]
    assert await asyncio.wait_for(confirm(True), PATIENCE) is True


def test_it_is_neither_true_nor_false() -> None:
    with pytest.raises(RuntimeError, match=r"was not awaited: write `await ctx\.confirm"):
        bool(confirm(True))


def test_it_can_be_driven_by_hand() -> None:
    async def raising() -> None:
        raise ValueError("x")

    one: Unawaited[None] = Unawaited(raising(), "x")
    with pytest.raises(ValueError, match="x"):
        one.send(None)
    other: Unawaited[None] = Unawaited(raising(), "x")
    with pytest.raises(KeyError):
        other.throw(KeyError("k"))
    Unawaited(raising(), "x").close()


@tool
def sync_and_careless(ctx: Context) -> str:
    return "did it" if ctx.confirm("sure?") else "no"  # type: ignore[truthy-bool, unused-ignore]


@tool
async def careless(ctx: Context) -> str:
    return "did it" if ctx.confirm("sure?") else "no"  # type: ignore[truthy-bool, unused-ignore]


@tool
async def careless_step(ctx: Context) -> str:
    return "did it" if ctx.step("x", lambda: False) else "no"  # type: ignore[truthy-bool, unused-ignore]


@pytest.mark.parametrize("function", [sync_and_careless, careless, careless_step])
async def test_a_tool_that_forgets_does_nothing(function: Callable[..., Any], caplog: pytest.LogCaptureFixture) -> None:
    server = MCPServer("careless")
    server.collect(function)
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, elicitation=lambda params: {"confirm": True}) as client:
            result = await client.call_tool(function.__name__)

    assert result.isError
    assert "did it" not in text_of(result)
    assert "was not awaited" in caplog.text
    caplog.clear()


def test_everything_that_asks_is_so() -> None:
    asks = [name for name in vars(Asking) if not name.startswith("_") and name != "wait"]

    assert {"confirm", "elicit", "choose", "choose_many", "text", "number", "sample", "list_roots"} <= set(asks)
    assert [name for name in asks if not hasattr(vars(Asking)[name], "__wrapped__")] == []
