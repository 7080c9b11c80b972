"""`pause_before_repeat`: what a busy server says is done, within reason."""

from __future__ import annotations

import pytest

from dedalus_mcp.client.patience import BUSY, FIRST_PAUSE, LONGEST, LONGEST_PAUSE, PAUSE, BackOff, pause_before_repeat
from dedalus_mcp.errors import MCPConnectionError, ServerError
from dedalus_mcp.jsonrpc.clock import Timeout


def refused(status: int | None, retry_after: float | None = None) -> MCPConnectionError:
    error = ServerError("busy", status)
    error.retry_after = retry_after
    return error


def pause(error: MCPConnectionError, timeout: float | None = None, jitter: float = 0) -> float | None:
    return pause_before_repeat(error, None if timeout is None else Timeout(timeout), jitter=lambda: jitter)


@pytest.mark.parametrize("status", sorted(BUSY))
def test_a_busy_server_is_given_the_time_that_it_asks_for(status: int) -> None:
    assert pause(refused(status, 3)) == 3
    assert pause(refused(status)) == PAUSE
    assert pause(refused(status, 0), jitter=1) == PAUSE


@pytest.mark.parametrize("status", [None, 400, 401, 403, 404, 405, 413, 501])
def test_any_other_refusal_is_final(status: int | None) -> None:
    assert pause(refused(status, 0)) is None


def test_nobody_waits_longer_than_is_reasonable() -> None:
    assert pause(refused(503, LONGEST)) == LONGEST
    assert pause(refused(503, LONGEST + 1)) is None


def test_nobody_waits_longer_than_the_call_may_take() -> None:
    assert pause(refused(429, 4), timeout=5) == 4
    assert pause(refused(429, 5), timeout=5) is None


def test_pauses_grow_up_to_a_bound_and_shrink_with_real_progress() -> None:
    """B091: given up never, and never a busy loop."""
    back_off = BackOff(jitter=lambda: 0)
    pauses = [back_off.pause() for _ in range(100)]

    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE
    back_off.succeeded()
    assert back_off.pause() == FIRST_PAUSE
    assert BackOff(jitter=lambda: 1).pause() == FIRST_PAUSE * 1.25


def test_a_pause_is_no_shorter_than_the_server_asks_for_within_reason() -> None:
    back_off = BackOff(jitter=lambda: 0)
    back_off.failed(5)
    assert back_off.pause() == 5
    back_off.failed(1e9)
    assert back_off.pause() == LONGEST_PAUSE
    back_off.failed()
    assert back_off.pause() < 5
