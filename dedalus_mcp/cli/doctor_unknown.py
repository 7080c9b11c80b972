"""Whether a server refuses what does not exist by the right error.

Layer: L6.
"""

from __future__ import annotations

from dedalus_mcp.cli.doctor_answers import Answer, items, members
from dedalus_mcp.cli.doctor_findings import Check, Finding
from dedalus_mcp.cli.doctor_visit import Visit

__all__ = ("CHECKS", "unknown_items")

UNKNOWN_TOOL = Check(
    "unknown-tool",
    "A call of a tool that does not exist is answered with error -32602.",
    "MCP 2026-07-28, server/tools",
    "TOOL-16",
    "Look the name up first; `isError` results are for tools that there are.",
)
UNKNOWN_RESOURCE = Check(
    "unknown-resource",
    "Reading what does not exist is answered with error -32602, before 2026-07-28 with -32002.",
    "MCP 2026-07-28, server/resources",
    "RES-06",
    "Answer with the error; never with empty `contents`.",
)
UNKNOWN_PROMPT = Check(
    "unknown-prompt",
    "A prompt that does not exist is answered with error -32602.",
    "MCP 2026-07-28, server/prompts",
    "PROMPT-04",
    "Look the name up first.",
)
CHECKS = (UNKNOWN_TOOL, UNKNOWN_RESOURCE, UNKNOWN_PROMPT)


async def unknown_items(visit: Visit) -> list[Finding]:
    """Ask for tools, resources and prompts that do not exist."""
    declared = members((visit.opening.result or {}).get("capabilities"))
    findings: list[Finding] = []
    revision = visit.revision
    if "tools" in declared:
        answer = await visit.ask("tools/call", {"name": "doctor-no-such-tool", "arguments": {}})
        if answer.code == -32602:
            findings.append(UNKNOWN_TOOL.passed(revision=revision))
        elif answer.code is not None or (answer.result or {}).get("isError") is True:
            findings.append(UNKNOWN_TOOL.warned(str(answer), revision))
        else:
            findings.append(UNKNOWN_TOOL.failed(str(answer), revision))
    if "resources" in declared:
        answer = await visit.ask("resources/read", {"uri": "doctor:///no-such-resource"})
        findings.append(_unknown_resource(visit, answer))
    if "prompts" in declared:
        answer = await visit.ask("prompts/get", {"name": "doctor-no-such-prompt"})
        if answer.code == -32602:
            findings.append(UNKNOWN_PROMPT.passed(revision=revision))
        else:
            severe = answer.code is None
            findings.append((UNKNOWN_PROMPT.failed if severe else UNKNOWN_PROMPT.warned)(str(answer), revision))
    return findings


def _unknown_resource(visit: Visit, answer: Answer) -> Finding:
    legal = -32602 if visit.modern else -32002
    if answer.code == legal:
        return UNKNOWN_RESOURCE.passed(revision=visit.revision)
    contents = (answer.result or {}).get("contents")
    if answer.code is not None or items(contents):  # a template may stand for any URI
        return (UNKNOWN_RESOURCE.passed if items(contents) else UNKNOWN_RESOURCE.warned)(str(answer), visit.revision)
    return UNKNOWN_RESOURCE.failed(str(answer), visit.revision)
