"""Timeouts: what may be given for one."""

from __future__ import annotations

from typing import Any

import pytest

from dedalus_mcp import Timeout
from dedalus_mcp.client.timeouts import DEFAULT, timeout_of


def test_seconds_and_timeouts_and_none_are_timeouts() -> None:
    given = Timeout(5, total=60)

    assert timeout_of(None) is None
    assert timeout_of(given) is given
    assert repr(timeout_of(2.5)) == repr(Timeout(2.5))


@pytest.mark.parametrize("wrong", ["5", DEFAULT, [1]], ids=repr)
def test_what_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="a number of seconds, a Timeout or None"):
        timeout_of(wrong)


def test_what_stands_for_nothing_given_says_so_in_signatures() -> None:
    assert repr(DEFAULT) == "<the client's own>"
