"""`pause_before_repeat`: what a busy server says is done, within reason."""

from __future__ import annotations

import pytest

from dedalus_mcp.client.patience import BUSY, LONGEST, PAUSE, pause_before_repeat
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
