"""Whether tools are described so that models and clients can use them.

Layer: L6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from dedalus_mcp.cli.doctor_answers import items, maybe_object, members, said
from dedalus_mcp.cli.doctor_findings import Check, Finding, several
from dedalus_mcp.schema.json_schema import JsonSchema
from dedalus_mcp_transports.http_params import annotation_fault

__all__ = ("CHECKS", "look_at_tools")

NAMES = Check(
    "tool-names",
    "The name of a tool has 1 to 128 characters: letters, digits, '_', '-' and '.'.",
    "MCP 2026-07-28, server/tools",
    "TOOL-04",
    "Rename it; what people read goes into `title`.",
)
INPUT = Check(
    "input-schemas",
    '`inputSchema` is a valid schema (JSON Schema 2020-12 if it does not say) with `type` "object".',
    "MCP 2026-07-28, server/tools",
    "TOOL-06",
    'Write {"type": "object", "properties": {...}}.',
)
OUTPUT = Check(
    "output-schemas",
    '`outputSchema` is a valid schema; before 2026-07-28 with `type` "object".',
    "MCP 2025-11-25, server/tools",
    "TOOL-08",
    "Put other values into a member of an object.",
)
REFERENCES = Check(
    "remote-references",
    "A `$ref` points into the schema itself: clients fetch nothing.",
    "MCP 2026-07-28, basic/index",
    "META-29",
    "Copy what it refers to into `$defs`.",
)
HEADERS = Check(
    "x-mcp-header",
    "`x-mcp-header` is a header name, once in a tool, on a string, integer or boolean that `properties` lead to.",
    "MCP 2026-07-28, basic/transports/streamable-http",
    "HTTP-63",
    "Mend it: clients drop tools where it is wrong.",
)
ANNOTATIONS = Check(
    "annotations",
    "Hints of a tool are true or false, and do not contradict each other.",
    "MCP 2026-07-28, schema, ToolAnnotations",
    "TOOL-14",
    "A tool that only reads destroys nothing: leave `destructiveHint` out, or say that it writes.",
)
CHECKS = (NAMES, INPUT, OUTPUT, REFERENCES, HEADERS, ANNOTATIONS)

_SEVERE = (INPUT, OUTPUT, HEADERS)
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def look_at_tools(tools: list[Mapping[str, Any]], revision: str, *, objects_only: bool) -> list[Finding]:
    """Look at how tools are described.

    Args:
        tools: As they were listed.
        revision: The revision that was spoken.
        objects_only: Whether results are objects in it.
    """
    faults: dict[str, list[str]] = {}
    for tool in tools:
        for check, text in _faults_of(tool, objects_only=objects_only):
            faults.setdefault(check.id, []).append(f"{said(tool.get('name'))}: {text}")
    return [_found(check, faults.get(check.id, []), len(tools), revision) for check in CHECKS]


def _found(check: Check, faults: list[str], tools: int, revision: str) -> Finding:
    if faults:
        return (check.failed if check in _SEVERE else check.warned)(several(faults), revision)
    if check in (INPUT, OUTPUT) and find_spec("jsonschema_rs") is None:
        return check.skipped("needs jsonschema-rs: install dedalus-mcp[schema]", revision)
    return check.passed(f"{tools} tools", revision)


def _faults_of(tool: Mapping[str, Any], *, objects_only: bool) -> Iterator[tuple[Check, str]]:
    name, given, output = tool.get("name"), maybe_object(tool.get("inputSchema")), tool.get("outputSchema")
    if isinstance(name, str) and name and not _NAME.fullmatch(name):
        yield NAMES, "not a legal name"
    if given is not None and given.get("type") != "object":
        yield INPUT, f"type is {said(given.get('type'))}"
    if output is not None and objects_only and members(output).get("type") != "object":
        yield OUTPUT, f"type is {said(members(output).get('type'))}"
    for check, schema in ((INPUT, given), (OUTPUT, maybe_object(output))):
        if schema is not None:
            yield from _schema_faults(check, schema)
    fault = annotation_fault(given or {})
    if fault is not None:
        yield HEADERS, fault
    for text in _hint_faults(tool):
        yield ANNOTATIONS, text


def _schema_faults(check: Check, schema: Mapping[str, Any]) -> Iterator[tuple[Check, str]]:
    remote = [each for each in _references(schema) if not each.startswith("#")]
    if remote:
        yield REFERENCES, said(remote[0])
        return
    try:
        JsonSchema(schema, "it")
    except ImportError:  # told once for all
        return
    except (ValueError, RecursionError) as error:
        yield check, str(error)


def _hint_faults(tool: Mapping[str, Any]) -> Iterator[str]:
    hints = members(tool.get("annotations"))
    for name in _HINTS:
        if name in hints and not isinstance(hints[name], bool):
            yield f"{name} is {said(hints[name])}, neither true nor false"
    if hints.get("readOnlyHint") is True and hints.get("destructiveHint") is True:
        yield "readOnlyHint and destructiveHint are both true"


def _references(schema: object) -> Iterator[str]:
    """Every `$ref` in a schema; no recursion, however deep."""
    waiting: list[object] = [schema]
    while waiting:
        found = waiting.pop()
        for name, value in members(found).items():
            if name in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
        waiting += members(found).values()
        waiting += items(found)
