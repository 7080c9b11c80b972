"""Schemas of strangers: any is enforced or a `ValueError`, and any value is checked by it in bounded time.

a schema
---
a value
"""

from __future__ import annotations

from dedalus_mcp.schema.effort import Effort
from dedalus_mcp.schema.json_schema import JsonSchema
from tests.fuzz.judging import allowed
from tests.fuzz.pieces import json, json_object, parts

__all__ = ("target",)

LONGEST = 400
MOST = 20
"""Problems that are told."""


def target(data: bytes) -> None:
    """Check a value by a schema."""
    schema, value = parts(data, 2)
    with allowed(ValueError, longest=LONGEST):
        checked = json_object(schema) or {}
        Effort(checked)  # refuses what is too much whatever the value is
        problems = JsonSchema(checked, "outputSchema").problems(json(value), "structuredContent")
        assert len(problems) <= MOST
        assert all(len(problem) <= LONGEST for problem in problems)
