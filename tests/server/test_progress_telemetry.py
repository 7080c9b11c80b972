"""What those who measure are told of a call's progress.  In virtual time."""

from __future__ import annotations

import itertools
import logging
from fractions import Fraction
from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPServer, ProgressTelemetry, progress, tool
from dedalus_mcp.errors import LocalProtocolError
from dedalus_mcp.server.progress_telemetry import (
    ProgressClosed,
    ProgressEmitted,
    ProgressFailed,
    ProgressStarted,
    ProgressThrottled,
)
from dedalus_mcp.testing import mock_context
from tests.interaction.raw import serving
from tests.virtual_time import virtual

HOOKS = ("on_start", "on_emit", "on_throttle", "on_error", "on_close")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual(request.param)


def telling(events: list[Any]) -> ProgressTelemetry:
    return ProgressTelemetry(**dict.fromkeys(HOOKS, events.append))


async def test_everything_that_becomes_of_progress_is_told_in_its_order() -> None:
    events: list[Any] = []
    with mock_context(request_id="r", progress_token="t") as context:
        async with progress(4, emit_hz=2, telemetry=telling(events)) as bar:
            for step in (1, 2, 3):
                await bar.set(step, message=f"step {step}")
            await anyio.sleep(10)
            await bar.advance()

    assert events == [
        ProgressStarted("r", "t", 4),
        ProgressEmitted("r", "t", 1, 4, "step 1"),
        ProgressThrottled("r", 2),
        ProgressThrottled("r", 3),
        ProgressEmitted("r", "t", 3, 4, "step 3"),
        ProgressEmitted("r", "t", 4, 4, "step 3"),
        ProgressClosed("r", 4, 4, emitted=3, throttled=2, error=None),
    ]
    assert [value for value, _, _ in context.captured_progress] == [1, 3, 4]


async def test_where_nobody_asked_for_progress_nothing_is_emitted() -> None:
    events: list[Any] = []
    with mock_context(request_id="r", progress_token=None) as context:
        async with context.progress(telemetry=telling(events)) as bar:
            await bar.advance()

    assert events == [ProgressStarted("r", None, None), ProgressClosed("r", 1, None, 0, 0, None)]


async def test_a_notice_that_cannot_be_sent_is_told_and_still_raised() -> None:
    events: list[Any] = []
    half: Any = Fraction(1, 2)
    with mock_context(request_id="r") as context, pytest.raises(LocalProtocolError) as caught:
        async with context.progress(telemetry=telling(events)) as bar:
            await bar.set(half)

    assert events[1:] == [
        ProgressFailed("r", half, caught.value),
        ProgressClosed("r", half, None, 0, 0, caught.value),
    ]


@pytest.mark.parametrize("error", [RuntimeError("mine"), KeyboardInterrupt()], ids=repr)
async def test_what_ended_the_block_is_told_with_its_end(error: BaseException) -> None:
    events: list[Any] = []
    with mock_context() as context, pytest.raises(type(error)):
        async with context.progress(telemetry=telling(events)):
            raise error

    assert events[-1].error is error


async def test_the_end_is_told_of_a_call_that_is_cancelled_and_no_notice_is() -> None:
    events: list[Any] = []

    @tool
    async def work(ctx: Context) -> None:
        async with ctx.progress(emit_hz=0, telemetry=telling(events)) as bar:
            await bar.advance()
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await bar.advance()

    server = MCPServer("test")
    server.collect(work)
    async with serving(server) as raw:
        await raw.open("2025-11-25")
        await raw.begin(1, "tools/call", name="work", _meta={"progressToken": "t"})
        await raw.hear()
        await raw.notify("notifications/cancelled", requestId=1)
        await anyio.sleep(1)

    assert [type(event) for event in events] == [ProgressStarted, ProgressEmitted, ProgressClosed]
    assert isinstance(events[-1].error, anyio.get_cancelled_exc_class())


@pytest.mark.parametrize("error", [ValueError("mine"), SystemExit("mine")], ids=repr)
@pytest.mark.parametrize("bad", HOOKS)
async def test_a_hook_that_raises_is_logged_and_changes_nothing(
    bad: str, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise error

    hooks: dict[str, Any] = {bad: fail}
    half: Any = Fraction(1, 2)
    with mock_context() as context, caplog.at_level(logging.ERROR, "dedalus_mcp"):
        async with context.progress(telemetry=ProgressTelemetry(**hooks)) as bar:
            assert await bar.advance() == 1
            assert await bar.advance() == 2
        if bad == "on_error":
            with pytest.raises(LocalProtocolError):
                async with context.progress(telemetry=ProgressTelemetry(**hooks)) as bar:
                    await bar.set(half + 2)

    assert [value for value, _, _ in context.captured_progress] == [1, 2]
    assert {record.message for record in caplog.records} == {"progress telemetry failed"}


async def test_an_interrupt_within_a_hook_is_no_fault_of_it() -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    with mock_context() as context, pytest.raises(KeyboardInterrupt):
        async with context.progress(telemetry=ProgressTelemetry(on_start=interrupted)):
            raise AssertionError


@pytest.mark.parametrize(("hook", "wrong"), [*itertools.product(HOOKS, ["async", "word"])])
def test_what_is_no_plain_function_is_refused_by_name(hook: str, wrong: str) -> None:
    async def hear(_: object) -> None:
        raise AssertionError

    hooks: dict[str, Any] = {hook: hear if wrong == "async" else "word"}

    with pytest.raises(TypeError, match=f"^{hook} is a plain function, which is called at once, not "):
        ProgressTelemetry(**hooks)
