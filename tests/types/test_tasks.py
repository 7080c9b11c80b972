"""Tasks."""

from __future__ import annotations

import msgspec

from dedalus_mcp.types.methods import TASKS_GET


def test_a_task_kept_for_ever_says_so() -> None:
    task = b'{"taskId":"1","status":"working","createdAt":"t","lastUpdatedAt":"t","ttl":null}'

    assert msgspec.json.encode(TASKS_GET.decode_result(task)) == task
