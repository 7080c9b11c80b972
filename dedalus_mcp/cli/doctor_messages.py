"""Whether a server keeps to the rules of JSON-RPC, whatever it has to offer.

Layer: L6.
"""

from __future__ import annotations

from dedalus_mcp.cli.doctor_answers import Answer, Heard, members, said
from dedalus_mcp.cli.doctor_findings import Check, Finding, several
from dedalus_mcp.cli.doctor_visit import Visit

__all__ = (
    "CHECKS",
    "EXAMS",
    "cancel_unknown",
    "ids",
    "malformed",
    "notifications",
    "overheard",
    "ping",
    "unknown_method",
)

METHOD = Check(
    "unknown-method",
    "A request with an unknown method is answered with error -32601.",
    "MCP 2026-07-28, basic/transports/streamable-http",
    "RPC-32",
    'Answer -32601 "Method not found" for every method that you do not have; over HTTP 2026-07-28, with status 404.',
)
IDS = Check(
    "ids",
    "A response repeats the id of its request, with the same JSON type.",
    "MCP 2026-07-28, basic/index",
    "RPC-06",
    'Keep the id as it came: "7" is not 7, and 0 is an id.',
)
PING = Check(
    "ping",
    "`ping` is answered with an empty result.",
    "MCP 2025-11-25, basic/utilities/ping",
    "LIFE-11",
    "Answer `ping` with {} at any time, before `notifications/initialized` too.",
)
MALFORMED = Check(
    "malformed",
    "What is no JSON is answered with error -32700, and the connection lives on.",
    "JSON-RPC 2.0, 5.1",
    "STDIO-20",
    "Catch the error of the decoder for each message, answer -32700, and read on.",
)
CANCEL = Check(
    "cancel-unknown",
    "`notifications/cancelled` for a request that nobody made is ignored.",
    "MCP 2026-07-28, basic/patterns/cancellation",
    "CANC-11",
    "Look the id up, and do nothing where there is no such request.",
)
NOTICE = Check(
    "notifications",
    "Notifications are not answered, unknown ones neither.",
    "MCP 2026-07-28, basic/index",
    "RPC-12",
    "Send nothing for a message without an id.",
)
STDOUT = Check(
    "stdout",
    "Nothing but messages is written to stdout.",
    "MCP 2026-07-28, basic/transports/stdio",
    "STDIO-02",
    "Print to stderr: `print(..., file=sys.stderr)`, or logging, whose default that is.",
)
FORM = Check(
    "messages",
    'Every message has `jsonrpc` "2.0"; a response has one of `result` and `error`, whose code is an integer.',
    "MCP 2026-07-28, basic/index",
    "RPC-01",
    "Put in what is missing.",
)
ASKS = Check(
    "server-requests",
    "A server of 2026-07-28 makes no requests.",
    "MCP 2026-07-28, basic/patterns",
    "RPC-18",
    "Ask through an `input_required` result instead.",
)
CHECKS = (METHOD, IDS, PING, MALFORMED, CANCEL, NOTICE, STDOUT, FORM, ASKS)

LARGE = 2**53 - 1
IDS_TRIED: tuple[int | str, ...] = (0, "7", "an id", LARGE)


async def unknown_method(visit: Visit) -> list[Finding]:
    """Ask for a method that nobody has."""
    answer = await visit.ask("doctor/no-such-method")
    if answer.code != -32601:
        return [METHOD.failed(str(answer), visit.revision)]
    if visit.modern and answer.status not in (None, 404):
        return [METHOD.failed(f"{answer}; the status is to be 404", visit.revision)]
    return [METHOD.passed(revision=visit.revision)]


async def ids(visit: Visit) -> list[Finding]:
    """Ask with ids of every kind."""
    faults: list[str] = []
    for id in IDS_TRIED:
        answer = await visit.ask("server/discover" if visit.modern else "ping", id=id)
        got = (answer.reply or {}).get("id")
        if answer.reply is None:
            faults.append(f"id {said(id)}: {answer}")
        elif got != id or type(got) is not type(id):
            faults.append(f"id {said(id)} came back as {said(got)}")
        if answer.ended is not None:
            break
    return [IDS.failed(several(faults), visit.revision) if faults else IDS.passed(revision=visit.revision)]


async def ping(visit: Visit) -> list[Finding]:
    """Ping."""
    if visit.modern:
        return []
    answer = await visit.alive()
    if answer.result is None:
        return [PING.failed(str(answer), visit.revision)]
    rest = [name for name in answer.result if name != "_meta"]
    return [PING.warned(str(answer), visit.revision) if rest else PING.passed(revision=visit.revision)]


async def malformed(visit: Visit) -> list[Finding]:
    """Send what is no JSON, and look whether anybody is there still."""
    if not visit.line.takes_junk:
        return [MALFORMED.skipped("the transport sends messages alone", visit.revision)]
    sent = await visit.send(b'{"jsonrpc": "2.0", "id": 1, "method":')
    return [_malformed(sent, await visit.alive(), visit.revision)]


def _malformed(sent: Answer, after: Answer, revision: str) -> Finding:
    if after.reply is None:
        return MALFORMED.failed(f"afterwards: {after}", revision)
    codes = [members(reply.get("error")).get("code") for reply in (sent.reply, *after.strays) if reply is not None]
    if -32700 in codes:
        return MALFORMED.passed(revision=revision)
    if sent.status is not None and not 400 <= sent.status < 500:
        return MALFORMED.failed(str(sent), revision)
    seen = str(sent) if sent.status is not None else f"error {said(codes[0])}" if codes else "nothing is said about it"
    return MALFORMED.warned(seen, revision)


async def cancel_unknown(visit: Visit) -> list[Finding]:
    """Cancel what was never asked; over HTTP, 2026-07-28 has no such notice."""
    if visit.modern and visit.opening.status is not None:
        return []
    sent = await visit.tell("notifications/cancelled", {"requestId": "doctor-never-asked", "reason": "a check"})
    return [_ignored(CANCEL, visit, sent.status, await visit.alive())]


async def notifications(visit: Visit) -> list[Finding]:
    """Tell what nobody knows."""
    sent = await visit.tell("notifications/doctor/no-such-notice")
    if sent.reply is not None:
        return [NOTICE.failed(f"it was answered with {sent}", visit.revision)]
    return [_ignored(NOTICE, visit, None, await visit.alive())]


def overheard(heard: Heard, *, on_stdout: bool) -> list[Finding]:
    """Look at what came that nobody asked for, on all visits."""
    junk = [said(text) for text in heard.junk]
    wrong = heard.wrong if on_stdout else heard.wrong + junk
    findings: list[Finding] = []
    if on_stdout:
        findings.append(STDOUT.failed(_each_once(junk)) if junk else STDOUT.passed())
    findings.append(FORM.failed(_each_once(wrong)) if wrong else FORM.passed(f"{heard.frames} frames"))
    findings.append(ASKS.failed(_each_once(heard.asked)) if heard.asked else ASKS.passed())
    return findings


def _each_once(texts: list[str]) -> str:
    return several(list(dict.fromkeys(texts)))


def _ignored(check: Check, visit: Visit, status: int | None, after: Answer) -> Finding:
    if after.reply is None:
        return check.failed(f"afterwards: {after}", visit.revision)
    if after.strays:
        return check.failed(f"it was answered with {said(after.strays[0])}", visit.revision)
    if status is not None and status >= 500:
        return check.failed(f"HTTP {status}", visit.revision)
    return check.passed(revision=visit.revision)


EXAMS = (unknown_method, ids, ping, cancel_unknown, notifications, malformed)
"""What is looked at on one visit, the roughest last."""
