"""`Asking`: the questions of one round, and what becomes of the others when one fails."""

from __future__ import annotations

import anyio
import pytest

from dedalus_mcp.client.asking import Asking
from dedalus_mcp.types import ElicitResult


class Odd(BaseException):
    """Neither an error nor a cancellation."""


async def never() -> None:
    await anyio.sleep_forever()


@pytest.mark.parametrize("error", [KeyError("x"), Odd(), SystemExit(3), BaseExceptionGroup("mine", [Odd()])], ids=repr)
async def test_what_a_handler_raises_comes_out_as_itself_and_ends_the_others(error: BaseException) -> None:
    """B155: in no group that is not the handler's own."""
    ended: list[str] = []

    async def waits() -> ElicitResult:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("waits")
        raise AssertionError

    async def fails() -> ElicitResult:
        await anyio.wait_all_tasks_blocked()
        raise error

    asks = Asking()
    asks.add("a", waits)
    asks.add("b", fails)
    with anyio.fail_after(20):
        with pytest.raises(type(error)) as raised:
            await asks.run(never)

    assert raised.value is error
    assert ended == ["waits"]
    assert raised.value.__notes__[-1] == "raised by the handler that answers the server's question 'b'"


async def test_nothing_is_left_when_the_connection_ends_first() -> None:
    asks = Asking()

    async def waits() -> ElicitResult:
        await anyio.sleep_forever()
        raise AssertionError

    async def at_once() -> None: ...

    asks.add("a", waits)
    with anyio.fail_after(20):
        assert await asks.run(at_once) is None
