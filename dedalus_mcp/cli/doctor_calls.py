"""Whether tools return what they promise: those are called that say that they only read, and on demand alone.

Layer: L6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dedalus_mcp.cli.doctor_answers import Answer, items, maybe_object, members, said
from dedalus_mcp.cli.doctor_findings import Check, Finding, several
from dedalus_mcp.cli.doctor_visit import Visit
from dedalus_mcp.schema.effort import Effort
from dedalus_mcp.schema.json_schema import JsonSchema

__all__ = ("CHECKS", "call_read_only")

RESULTS = Check(
    "results",
    "The result of a tool has `content`, and where there is an output schema `structuredContent` that fits it.",
    "MCP 2026-07-28, server/tools",
    "TOOL-09",
    "Return what the schema says, or mend the schema.",
)
CHECKS = (RESULTS,)

MAX_CALLS = 20
"""Tools that are called, of those that only read."""


async def call_read_only(visit: Visit, tools: list[Mapping[str, Any]]) -> list[Finding]:
    """Call the tools that say that they only read, and need no arguments."""
    chosen = [tool for tool in tools if _may_be_called(tool)][:MAX_CALLS]
    if not chosen:
        return [RESULTS.skipped("no tool says readOnlyHint and needs no arguments", visit.revision)]
    faults: list[str] = []
    slow: list[str] = []
    for tool in chosen:
        answer = await visit.ask("tools/call", {"name": tool["name"], "arguments": {}})
        found = [f"{said(tool['name'])}: {text}" for text in _result_faults(tool, answer)]
        (faults if answer.waited is None else slow).extend(found)
        if answer.ended is not None:
            break
    if faults:
        return [RESULTS.failed(several(faults), visit.revision)]
    if slow:
        return [RESULTS.warned(several(slow), visit.revision)]
    return [RESULTS.passed(f"{len(chosen)} tools called", visit.revision)]


def _may_be_called(tool: Mapping[str, Any]) -> bool:
    return (
        members(tool.get("annotations")).get("readOnlyHint") is True
        and not items(members(tool.get("inputSchema")).get("required"))
        and isinstance(tool.get("name"), str)
    )


def _result_faults(tool: Mapping[str, Any], answer: Answer) -> Iterator[str]:
    result = answer.result
    if result is None:
        yield str(answer)
        return
    if result.get("resultType", "complete") != "complete":
        return  # it asks somebody first
    if not isinstance(result.get("content"), list):
        yield f"content is {said(result.get('content'))}, no array"
    output = maybe_object(tool.get("outputSchema"))
    if result.get("isError") is True or output is None:
        return
    if "structuredContent" not in result:
        yield "structuredContent is missing"
        return
    value = result["structuredContent"]
    try:
        schema, effort = JsonSchema(output, "outputSchema"), Effort(output)
        if effort.allows(value):
            yield from schema.problems(value, "structuredContent")
    except (ImportError, ValueError, RecursionError):
        return  # of a schema that is none, another check tells; one that takes for ever tells nothing
