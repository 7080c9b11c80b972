"""Faults of a peer that never stops do not fill the log."""

from __future__ import annotations

import pytest

from dedalus_mcp.complaints import MAX_EACH, Complaints


def test_the_first_faults_are_told_one_by_one(caplog: pytest.LogCaptureFixture) -> None:
    complaints = Complaints()

    for number in range(1, MAX_EACH):
        complaints.tell("dropped %s", number)

    assert caplog.messages == [f"dropped {number}" for number in range(1, MAX_EACH)]


def test_of_many_more_it_is_told_how_many_they_are(caplog: pytest.LogCaptureFixture) -> None:
    complaints = Complaints()

    for number in range(1, MAX_EACH * 1000):
        complaints.tell("dropped %s", number)

    assert len(caplog.messages) == MAX_EACH + 9
    assert caplog.messages[MAX_EACH - 1] == "dropped 20 (number 20 of such; next is told of number 40)"
    assert caplog.messages[-1] == "dropped 10240 (number 10240 of such; next is told of number 20480)"
