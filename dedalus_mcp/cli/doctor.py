"""Check a server, and say what is wrong with it and how to mend that.

Every revision of the protocol is tried.  Tools are not called, unless --call is given, and then only
those that say that they only read and need no arguments.

Layer: L6.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import anyio
from rich.text import Text

from dedalus_mcp.cli.doctor_examination import examine
from dedalus_mcp.cli.doctor_findings import Finding, Outcome
from dedalus_mcp.cli.exits import DONE, LOST, MISUSED, REFUSED, Misuse
from dedalus_mcp.cli.harmless import one_line
from dedalus_mcp.cli.target import add_target, opened
from dedalus_mcp.cli.terminal import Terminal, standard_terminal

__all__ = ("add_arguments", "doctor", "main")

PATIENCE = 10.0

MAX_LINE = 400
"""Characters of one line of what was seen."""
MAX_MORE = 6
"""Further lines of that, such as the last ones of a traceback."""

_STYLES = {"passed": "green", "failed": "bold red", "warned": "yellow", "skipped": "dim"}


def add_arguments(parser: argparse.ArgumentParser, command: Sequence[str] | None) -> None:
    """Add what the command takes."""
    add_target(parser, command=command)
    group = parser.add_argument_group("the examination")
    group.add_argument("--call", action="store_true", help="call tools that only read, and check results")
    group.add_argument(
        "--timeout",
        type=float,
        default=PATIENCE,
        metavar="SECONDS",
        help=f"how long each answer may take; {PATIENCE:.0f} if not given",
    )
    group.add_argument("--quiet", action="store_true", help="only what failed, or what is warned of")
    group.add_argument("--json", action="store_true", help="results as JSON on stdout, and nothing else there")


def main(options: argparse.Namespace) -> int:
    """Run the command."""
    return anyio.run(doctor, options, standard_terminal(json=options.json, quiet=options.quiet))


async def doctor(options: argparse.Namespace, terminal: Terminal) -> int:
    """Examine the server, show what came out, and return the exit code."""
    try:
        if not 0 < options.timeout < 1e9:
            raise Misuse(f"--timeout is a number of seconds above 0, not {options.timeout}")
        target = opened(options, stderr=_ignored)
    except Misuse as error:
        terminal.fail(str(error))
        return MISUSED
    findings = await examine(target, patience=options.timeout, calls=options.call)
    if terminal.json:
        terminal.emit([finding.as_json() for finding in findings])
    else:
        _show(findings, terminal)
    failed = [finding.check.id for finding in findings if finding.outcome == "failed"]
    return DONE if not failed else LOST if "reach" in failed else REFUSED


def _show(findings: Sequence[Finding], terminal: Terminal) -> None:
    for alike in _alike(findings):
        first = alike[0]
        is_bad = first.outcome in ("failed", "warned")
        if terminal.quiet and not is_bad:
            continue
        revisions = " ".join(each.revision for each in alike if each.revision is not None)
        line = Text.assemble((f"{first.outcome:<8}", _STYLES[first.outcome]), f"{first.check.id:<22}", revisions)
        seen, *more = first.seen.splitlines() or [""]
        line.append(f"  {one_line(seen, MAX_LINE)}", "" if is_bad else "dim")
        written = [line, *(Text(f"{'':<12}{one_line(each, MAX_LINE)}") for each in more[-MAX_MORE:])]
        if is_bad:
            written.append(Text(f"{'':<8}legal: {first.check.legal}"))
            written.append(Text(f"{'':<15}{first.check.source} ({first.check.rule})", "dim"))
            written.append(Text(f"{'':<8}mend:  {first.check.remedy}"))
        for each in written:
            terminal.out.print(each, soft_wrap=True)
    terminal.out.print(Text(_summary(findings)), soft_wrap=True)


def _alike(findings: Sequence[Finding]) -> Iterator[list[Finding]]:
    """Put together what is the same in several revisions, in the order in which each came first."""
    groups: dict[tuple[str, Outcome, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.check.id, finding.outcome, finding.seen), []).append(finding)
    yield from groups.values()


def _summary(findings: Sequence[Finding]) -> str:
    outcomes = [finding.outcome for finding in findings]
    return ", ".join(f"{outcomes.count(each)} {each}" for each in ("failed", "warned", "passed", "skipped"))


def _ignored(line: str) -> None:
    pass
