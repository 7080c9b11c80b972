"""What a server offers: whether its capabilities say so, and its lists can be read.

Layer: L6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dedalus_mcp.cli.doctor_answers import Answer, items, maybe_object, members, said
from dedalus_mcp.cli.doctor_findings import Check, Finding, several
from dedalus_mcp.cli.doctor_lifecycle import hint_faults
from dedalus_mcp.cli.doctor_visit import Visit

__all__ = ("CHECKS", "Offer", "look_at_lists")

CAPABILITIES = Check(
    "capabilities",
    "What a capability promises is answered, and what none promises is answered with error -32601.",
    "MCP 2026-07-28, server/discover",
    "DISC-05",
    "Declare exactly the families of methods that you have.",
)
PAGES = Check(
    "pages",
    "Every list ends: `nextCursor` is a string that was not there before, and missing on the last page.",
    "MCP 2026-07-28, server/utilities/pagination",
    "PAGE-03",
    "Make the cursor move on, and leave it out on the last page.",
)
CURSOR = Check(
    "bad-cursor",
    "An unknown cursor is answered with error -32602.",
    "MCP 2026-07-28, server/utilities/pagination",
    "PAGE-06",
    "Check cursors, and refuse those that you did not make.",
)
NAMES = Check(
    "unique-names",
    "Names of tools and prompts are unique in their list, and so are URIs of resources.",
    "MCP 2026-07-28, server/tools",
    "TOOL-04",
    "Rename one, or list it once.",
)
SHAPES = Check(
    "listed-shapes",
    "What is listed has its members: tools `name` and `inputSchema`, resources `uri` and `name`, templates "
    "`uriTemplate` and `name`, prompts `name`.",
    "MCP 2026-07-28, schema",
    "RES-03",
    "Put in what is missing.",
)
ORDER = Check(
    "order",
    "A list has the same order every time.",
    "MCP 2026-07-28, server/tools",
    "TOOL-03",
    "Sort it, or keep the order in which things were added: models cache prompts that begin with it.",
)
HINTS = Check(
    "caching",
    "Lists have `resultType`, `ttlMs` and `cacheScope`, the latter the same on all pages.",
    "MCP 2026-07-28, server/utilities/caching",
    "CACHE-01",
    'Say `ttlMs: 0` and `cacheScope: "private"` where nothing may be kept.',
)
CHECKS = (CAPABILITIES, PAGES, CURSOR, NAMES, SHAPES, ORDER, HINTS)

MAX_PAGES = 1000
"""Pages of a list: one with more does not end for anybody."""


@dataclass(frozen=True, slots=True)
class _Family:
    capability: str
    method: str
    member: str
    key: str
    needs: tuple[str, ...]


FAMILIES = (
    _Family("tools", "tools/list", "tools", "name", ("name",)),
    _Family("resources", "resources/list", "resources", "uri", ("uri", "name")),
    _Family("resources", "resources/templates/list", "resourceTemplates", "uriTemplate", ("uriTemplate", "name")),
    _Family("prompts", "prompts/list", "prompts", "name", ("name",)),
)


@dataclass(slots=True)
class Offer:
    """What a server offers, by the member that lists it."""

    listed: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict[str, list[Mapping[str, Any]]])


@dataclass(slots=True)
class _Faults:
    """What is wrong with lists, by check."""

    of: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def add(self, check: Check, text: str) -> None:
        self.of.setdefault(check.id, []).append(text)


async def look_at_lists(visit: Visit, offer: Offer) -> list[Finding]:
    """Read every list, and keep what is in it."""
    declared = members((visit.opening.result or {}).get("capabilities"))
    faults = _Faults()
    paged: list[_Family] = []
    for family in FAMILIES:
        pages = await _pages(visit, family, faults)
        if family.capability not in declared:
            _check_undeclared(visit, family, pages[0], faults)
        elif pages[0].result is None and not (family.member == "resourceTemplates" and pages[0].code == -32601):
            faults.add(CAPABILITIES, f"{family.capability} is declared, and {family.method}: {pages[0]}")
        if pages[0].result is None:
            continue
        paged += [family] * (len(pages) > 1)
        listed = [members(each) for page in pages for each in items((page.result or {}).get(family.member))]
        offer.listed[family.member] = listed
        _check_listed(family, pages, listed, faults, hints=visit.modern)
        await _check_order(visit, family, pages[0], faults)
    await _check_others(visit, declared, faults)
    findings = [_found(check, faults, visit) for check in (CAPABILITIES, PAGES, NAMES, SHAPES)]
    findings.append(_found(ORDER, faults, visit, severe=False))
    if visit.modern:
        findings.append(_found(HINTS, faults, visit))
    return [*findings, await _bad_cursor(visit, paged)]


async def _pages(visit: Visit, family: _Family, faults: _Faults) -> list[Answer]:
    pages: list[Answer] = []
    seen: set[str] = set()
    cursor: str | None = None
    while len(pages) < MAX_PAGES:
        pages.append(page := await visit.ask(family.method, None if cursor is None else {"cursor": cursor}))
        if page.result is None:
            if cursor is not None:
                faults.add(PAGES, f"{family.method} with cursor {said(cursor)}: {page}")
            return pages
        following = page.result.get("nextCursor")
        if "nextCursor" not in page.result:
            return pages
        if not isinstance(following, str):
            faults.add(PAGES, f"{family.method}: nextCursor is {said(following)}, no string")
            return pages
        if following in seen:
            faults.add(PAGES, f"{family.method}: cursor {said(following)} comes again")
            return pages
        seen.add(following)
        cursor = following
    faults.add(PAGES, f"{family.method} has more than {MAX_PAGES} pages")
    return pages


def _check_undeclared(visit: Visit, family: _Family, answer: Answer, faults: _Faults) -> None:
    listed = items((answer.result or {}).get(family.member))
    if listed or (visit.modern and answer.code != -32601):
        faults.add(CAPABILITIES, f"{family.capability} is not declared, and {family.method}: {answer}")


def _check_listed(
    family: _Family, pages: list[Answer], listed: list[Mapping[str, Any]], faults: _Faults, *, hints: bool
) -> None:
    for page in pages:
        result = page.result or {}
        if not isinstance(result.get(family.member), list):
            faults.add(SHAPES, f"{family.method}: {family.member} is {said(result.get(family.member))}, no array")
        for fault in hint_faults(result) if hints and page.result is not None else ():
            faults.add(HINTS, f"{family.method}: {fault}")
    if len({said((page.result or {}).get("cacheScope")) for page in pages}) > 1:
        faults.add(HINTS, f"{family.method}: cacheScope is another one on another page")
    names: set[str] = set()
    for each in listed:
        name = each.get(family.key)
        if isinstance(name, str) and name in names:
            faults.add(NAMES, f"{family.member}: {said(name)} is listed twice")
        names.add(str(name))
        _check_item(family, each, faults)


def _check_item(family: _Family, each: Mapping[str, Any], faults: _Faults) -> None:
    for need in family.needs:
        if not isinstance(each.get(need), str) or not each[need]:
            faults.add(SHAPES, f"{family.member}: {need} of {said(each, 60)} is {said(each.get(need))}")
    name = said(each.get(family.key))
    if family.member == "tools" and maybe_object(each.get("inputSchema")) is None:
        faults.add(SHAPES, f"tools: inputSchema of {name} is {said(each.get('inputSchema'))}, no object")
    if family.member == "prompts":
        _check_arguments(name, each.get("arguments", []), faults)


def _check_arguments(prompt: str, arguments: object, faults: _Faults) -> None:
    names = [members(each).get("name") for each in items(arguments)]
    if (arguments and not names) or not all(isinstance(name, str) and name for name in names):
        faults.add(SHAPES, f"prompts: arguments of {prompt} are {said(arguments)}")
    elif len(set(names)) < len(names):
        faults.add(NAMES, f"prompts: an argument of {prompt} is there twice")


async def _check_order(visit: Visit, family: _Family, first: Answer, faults: _Faults) -> None:
    again = await visit.ask(family.method)
    keys = [
        [said(members(each).get(family.key)) for each in items((page.result or {}).get(family.member))]
        for page in (first, again)
    ]
    if keys[0] != keys[1] and sorted(keys[0]) == sorted(keys[1]):
        faults.add(ORDER, f"{family.method} came in another order")


async def _check_others(visit: Visit, declared: Mapping[str, Any], faults: _Faults) -> None:
    reference = {"type": "ref/prompt", "name": "doctor-no-such-prompt"}
    complete = {"ref": reference, "argument": {"name": "a", "value": ""}}
    answer = await visit.ask("completion/complete", complete)
    if ("completions" in declared and answer.code == -32601) or answer.ended is not None:
        faults.add(CAPABILITIES, f"completions is declared, and completion/complete: {answer}")
    if "completions" not in declared and visit.modern and answer.code != -32601:
        faults.add(CAPABILITIES, f"completions is not declared, and completion/complete: {answer}")
    if "logging" in declared and not visit.modern:
        answer = await visit.ask("logging/setLevel", {"level": "info"})
        if answer.result is None:
            faults.add(CAPABILITIES, f"logging is declared, and logging/setLevel: {answer}")


async def _bad_cursor(visit: Visit, paged: list[_Family]) -> Finding:
    if not paged:
        return CURSOR.skipped("no list has a second page", visit.revision)
    answer = await visit.ask(paged[0].method, {"cursor": "doctor-no-such-cursor"})
    if answer.code == -32602:
        return CURSOR.passed(revision=visit.revision)
    return CURSOR.warned(f"{paged[0].method}: {answer}", visit.revision)


def _found(check: Check, faults: _Faults, visit: Visit, *, severe: bool = True) -> Finding:
    found = faults.of.get(check.id)
    if found is None:
        return check.passed(revision=visit.revision)
    return (check.failed if severe else check.warned)(several(found), visit.revision)
