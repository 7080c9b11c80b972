"""The whole examination of a server, in order.

    who is let in ──▶ revisions ──▶ lists and tools ──▶ messages, in both eras ──▶ HTTP ──▶ what was overheard

Nothing is called that has effects: of tools only those that say that they only read, and these on demand.

Layer: L6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from dedalus_mcp.cli import (
    doctor_calls,
    doctor_lifecycle,
    doctor_lists,
    doctor_messages,
    doctor_tools,
    doctor_unknown,
)
from dedalus_mcp.cli.doctor_answers import Answer
from dedalus_mcp.cli.doctor_findings import Finding
from dedalus_mcp.cli.doctor_visit import Patient
from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.types.revisions import MODERN
from dedalus_mcp_transports.stdio import StdioServer

if TYPE_CHECKING:
    from dedalus_mcp.cli.doctor_http_line import HttpLine

__all__ = ("examine",)

CHECKS = (
    *doctor_lifecycle.CHECKS,
    *doctor_lists.CHECKS,
    *doctor_tools.CHECKS,
    *doctor_unknown.CHECKS,
    *doctor_calls.CHECKS,
    *doctor_messages.CHECKS,
)
"""What is looked at on every transport; `doctor_http` and `doctor_auth` have more for servers at a URL."""


async def examine(target: Connectable, *, patience: float = 10.0, calls: bool = False) -> list[Finding]:
    """Look at everything of a server that can be looked at.

    Args:
        target: What `MCPClient.connect` takes.
        patience: How long each answer may take, in seconds.
        calls: Whether tools are called that say that they only read, and need no arguments.
    """
    patient = Patient(target, patience)
    try:
        return await _examine(patient, on_stdout=isinstance(target, StdioServer), calls=calls)
    finally:
        await patient.aclose()


async def _examine(patient: Patient, *, on_stdout: bool, calls: bool) -> list[Finding]:
    findings: list[Finding] = []
    if patient.web is not None:
        from dedalus_mcp.cli.doctor_auth import who_needs_a_token  # noqa: PLC0415 - loads httpx

        findings, is_locked = await who_needs_a_token(patient.web)
        if is_locked:
            why = "the server wants a token: give --bearer, or the variable DEDALUS_MCP_TOKEN"
            return [doctor_lifecycle.REACH.passed("HTTP 401"), *findings, doctor_lifecycle.SPOKEN.skipped(why)]
    reached, spoken = await doctor_lifecycle.find_revisions(patient)
    findings = [*reached, *findings]
    try:
        if spoken:
            findings += await doctor_lifecycle.opening(patient, spoken)
            findings += await _offer(patient, next(iter(spoken)), calls=calls)
        for revision in _one_of_each_era(spoken):
            findings += await _messages(patient, revision)
            findings += await _web(patient, revision)
    except OSError as error:  # it answered before
        findings.append(doctor_lifecycle.REACH.failed(f"not every time: {error}"))
    if patient.heard.frames:
        findings += doctor_messages.overheard(patient.heard, on_stdout=on_stdout)
    return findings


async def _offer(patient: Patient, revision: str, *, calls: bool) -> list[Finding]:
    offer = doctor_lists.Offer()
    async with patient.visit(revision) as visit:
        findings = await doctor_lists.look_at_lists(visit, offer)
        tools = offer.listed.get("tools", [])
        findings += doctor_tools.look_at_tools(tools, revision, objects_only=not visit.modern)
        if calls:
            findings += await doctor_calls.call_read_only(visit, tools)
    return findings


async def _messages(patient: Patient, revision: str) -> list[Finding]:
    """Look at what needs no offer; where a check ends the connection, the next one gets another."""
    findings: list[Finding] = []
    waiting = [doctor_unknown.unknown_items, *doctor_messages.EXAMS]
    while waiting:
        async with patient.visit(revision) as visit:
            while waiting and visit.ended is None:
                findings += await waiting.pop(0)(visit)
            if not visit.speaks:  # it let us in before
                return findings
    return findings


async def _web(patient: Patient, revision: str) -> list[Finding]:
    if patient.web is None:
        return []
    from dedalus_mcp.cli import doctor_http  # noqa: PLC0415 - loads httpx

    async with patient.visit(revision) as visit:
        line = cast("HttpLine", visit.line)
        findings = await doctor_http.who_is_let_in(visit, line)
        rules = doctor_http.modern_rules if visit.modern else doctor_http.legacy_rules
        return findings + await rules(visit, line)


def _one_of_each_era(spoken: Mapping[str, Answer]) -> list[str]:
    """Return the newest revision of each era that is spoken; `spoken` has the newest first."""
    modern = [revision for revision in spoken if revision in MODERN]
    legacy = [revision for revision in spoken if revision not in MODERN]
    return modern[:1] + legacy[:1]
