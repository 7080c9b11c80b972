"""Which revisions a server speaks, and how it agrees on one.

Layer: L6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dedalus_mcp.cli.doctor_answers import Answer, items, members, said
from dedalus_mcp.cli.doctor_findings import Check, Finding, several
from dedalus_mcp.cli.doctor_visit import Patient
from dedalus_mcp.types.meta import PROTOCOL_VERSION_KEY
from dedalus_mcp.types.revisions import LEGACY, MODERN, REVISIONS

__all__ = ("CHECKS", "REACH", "SPOKEN", "find_revisions", "hint_faults", "opening")

REACH = Check(
    "reach",
    "The server starts, or listens, and answers.",
    "MCP 2026-07-28, basic/transports",
    "HTTP-08",
    "Start the command by hand, or open the URL: what does it say?",
)
SPOKEN = Check(
    "revisions",
    "The server speaks one revision of the protocol at least.",
    "MCP 2026-07-28, basic/versioning",
    "VER-05",
    "Answer `initialize` (2025-11-25 and before) or `server/discover` (2026-07-28) with a result.",
)
INITIALIZE = Check(
    "initialize",
    "The result of `initialize` has `protocolVersion`, `capabilities` and `serverInfo` with `name` and `version`.",
    "MCP 2025-11-25, basic/lifecycle",
    "LIFE-04",
    "Put in what is missing.",
)
NEGOTIATION = Check(
    "negotiation",
    "An unknown revision in `initialize` is answered with one that the server speaks.",
    "MCP 2025-11-25, basic/lifecycle",
    "LIFE-03",
    "Answer with your newest revision where you do not know the one that is asked for; never repeat it.",
)
DISCOVER = Check(
    "discover",
    "The result of `server/discover` has `supportedVersions`, `capabilities`, `resultType`, `ttlMs` and `cacheScope`.",
    "MCP 2026-07-28, server/discover",
    "DISC-02",
    "Put in what is missing.",
)
UNSUPPORTED = Check(
    "unsupported-version",
    "A request of an unknown revision is answered with error -32022, whose data has `supported` and `requested`.",
    "MCP 2026-07-28, basic/versioning",
    "VER-01",
    "Compare the version in `_meta` with those that you speak before anything else.",
)
ENVELOPE = Check(
    "envelope",
    "A request without `clientCapabilities` in its `_meta` is answered with error -32602.",
    "MCP 2026-07-28, basic/index",
    "META-03",
    "Check that `_meta` has both keys that every request must have.",
)
OLDER = Check(
    "older-transport",
    "A server at a URL has streamable HTTP, not the transport of 2024-11-05 alone.",
    "MCP 2026-07-28, basic/transports/streamable-http",
    "HTTP-79",
    "Serve streamable HTTP too: newer clients give the older transport up.",
)
CHECKS = (REACH, SPOKEN, INITIALIZE, NEGOTIATION, DISCOVER, UNSUPPORTED, ENVELOPE, OLDER)

UNKNOWN_LEGACY = "1999-01-01"
UNKNOWN_MODERN = "2999-01-01"


async def find_revisions(patient: Patient) -> tuple[list[Finding], dict[str, Answer]]:
    """Try every revision, newest first, and return how each that is spoken was agreed on."""
    spoken: dict[str, Answer] = {}
    findings: list[Finding] = []
    silent: list[str] = []
    for revision in reversed(REVISIONS):
        try:
            async with patient.visit(revision) as visit:
                opening, speaks = visit.opening, visit.speaks
        except OSError as error:
            return [REACH.failed(str(error))], {}
        if speaks:
            spoken[revision] = opening
            findings.append(SPOKEN.passed("spoken", revision))
            continue
        offered = (opening.result or {}).get("protocolVersion")
        seen = str(opening) if offered is None else f"the server offers {said(offered)} instead"
        findings.append(SPOKEN.skipped(f"not spoken: {seen}", revision))
        if opening.reply is None and opening.status is None:
            silent.append(f"{revision}: {opening}")
    if spoken:
        return [REACH.passed(), *findings], spoken
    if len(silent) == len(REVISIONS) and not patient.heard.wrong:
        return [REACH.failed(several(silent, 1))], {}
    if patient.become_older():
        older, spoken = await find_revisions(patient)
        if spoken:
            return [*older, OLDER.warned("it is served by the transport of 2024-11-05")], spoken
    return [REACH.passed(), *findings, SPOKEN.failed("none of the five")], {}


async def opening(patient: Patient, spoken: Mapping[str, Answer]) -> list[Finding]:
    """Look at how revisions were agreed on, and at what happens where they cannot be."""
    findings: list[Finding] = []
    for revision, answer in spoken.items():
        result = answer.result or {}
        check, faults = (
            (DISCOVER, _discover_faults(result)) if revision in MODERN else (INITIALIZE, _initialize_faults(result))
        )
        findings.append(check.failed(several(faults), revision) if faults else check.passed(revision=revision))
    if any(revision in LEGACY for revision in spoken):
        findings.append(await _negotiation(patient, spoken))
    for revision in spoken:
        if revision in MODERN:
            findings += await _refusals(patient, revision)
    return findings


async def _negotiation(patient: Patient, spoken: Mapping[str, Answer]) -> Finding:
    async with patient.visit(UNKNOWN_LEGACY) as visit:
        answer = visit.opening
    offered = (answer.result or {}).get("protocolVersion")
    if offered in spoken:
        return NEGOTIATION.passed(said(offered))
    if answer.code == -32602:
        return NEGOTIATION.warned(f"{answer}")
    return NEGOTIATION.failed(f"{UNKNOWN_LEGACY} was answered with {answer}")


async def _refusals(patient: Patient, revision: str) -> list[Finding]:
    async with patient.visit(revision) as visit:
        other = {**visit.envelope(), PROTOCOL_VERSION_KEY: UNKNOWN_MODERN}
        unknown = await visit.ask("server/discover", {"_meta": other})
        bare = await visit.ask("server/discover", {"_meta": {PROTOCOL_VERSION_KEY: revision}})
    data = members((unknown.error or {}).get("data"))
    is_refused = unknown.code == -32022 and revision in items(data.get("supported")) and unknown.status in (None, 400)
    return [
        UNSUPPORTED.passed(revision=revision) if is_refused else UNSUPPORTED.failed(_with_data(unknown), revision),
        ENVELOPE.passed(revision=revision)
        if bare.code == -32602 and bare.status in (None, 400)
        else ENVELOPE.failed(str(bare), revision),
    ]


def _with_data(answer: Answer) -> str:
    return f"{answer}" + (f", data {said(answer.error.get('data'))}" if answer.error is not None else "")


def _initialize_faults(result: Mapping[str, Any]) -> list[str]:
    info = members(result.get("serverInfo"))
    missing = [name for name in ("name", "version") if not isinstance(info.get(name), str)]
    faults = [f"serverInfo.{name} is {said(info.get(name))}" for name in missing]
    return faults + _common_faults(result)


def _discover_faults(result: Mapping[str, Any]) -> list[str]:
    versions = result.get("supportedVersions")
    faults = [] if all(_is_text(each) for each in items(versions)) else [f"supportedVersions is {said(versions)}"]
    return faults + hint_faults(result) + _common_faults(result)


def _common_faults(result: Mapping[str, Any]) -> list[str]:
    faults: list[str] = []
    if not isinstance(result.get("capabilities"), dict):
        faults.append(f"capabilities is {said(result.get('capabilities'))}, not an object")
    for name, value in members(result.get("capabilities")).items():
        if not isinstance(value, dict):
            faults.append(f"capabilities.{name:.40} is {said(value)}, not an object")
    if not isinstance(result.get("instructions", ""), str):
        faults.append(f"instructions is {said(result['instructions'])}, no text")
    return faults


def hint_faults(result: Mapping[str, Any]) -> list[str]:
    """Return what a result of 2026-07-28 that may be kept lacks."""
    faults: list[str] = []
    if result.get("resultType") != "complete":
        faults.append(f'resultType is {said(result.get("resultType"))}, not "complete"')
    ttl = result.get("ttlMs")
    if not isinstance(ttl, int) or isinstance(ttl, bool) or ttl < 0:
        faults.append(f"ttlMs is {said(ttl)}, no integer from 0 on")
    if result.get("cacheScope") not in ("public", "private"):
        faults.append(f'cacheScope is {said(result.get("cacheScope"))}, neither "public" nor "private"')
    return faults


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""
