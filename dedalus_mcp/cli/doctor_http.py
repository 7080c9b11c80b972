"""Whether a server at a URL keeps to the rules of HTTP: statuses, headers, sessions, and whom it lets in.

Layer: L6.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from dedalus_mcp.cli.doctor_answers import Answer, said
from dedalus_mcp.cli.doctor_findings import Check, Finding, several
from dedalus_mcp.cli.doctor_http_line import HttpLine, media_type
from dedalus_mcp.cli.doctor_visit import INFO, Visit, frame_of

__all__ = ("CHECKS", "legacy_rules", "modern_rules", "who_is_let_in")

CONTENT = Check(
    "http-content-type",
    "A response with a message is `application/json` or `text/event-stream`.",
    "MCP 2026-07-28, basic/transports/streamable-http",
    "HTTP-14",
    "Set the header `Content-Type`.",
)
ORIGIN = Check(
    "http-origin",
    "A request with the `Origin` of a page that is none of yours is refused with status 403.",
    "MCP 2026-07-28, basic/transports/streamable-http, Security Warning",
    "HTTP-02",
    "Compare `Origin` with a list of pages that may call: else any web page can, from the browser of a visitor.",
)
HOST = Check(
    "http-host",
    "A server on this machine refuses requests whose `Host` is another name.",
    "MCP 2026-07-28, basic/transports/streamable-http, Security Warning",
    "HTTP-01",
    "Compare `Host` with the names that lead here: a web page that rebinds its own name arrives with that.",
)
BODY_TYPE = Check(
    "http-body-type",
    "A body that is not `application/json` is refused with status 415 or 400.",
    "the Fetch standard, CORS-safelisted request headers",
    "HTTP-01",
    "Check `Content-Type`: browsers send `text/plain` for any page without asking you first.",
)
ACCEPT = Check(
    "http-accept",
    "A request that accepts neither JSON nor an event stream is refused with status 406, or answered all the same.",
    "MCP 2026-07-28, basic/transports/streamable-http",
    "HTTP-09",
    "Answer 406.",
)
CORS = Check(
    "http-cors",
    "A page of any origin is not told that it may read what is answered.",
    "the Fetch standard, CORS protocol",
    "HTTP-01",
    "Name the origins that may, and never `*` for a server that is not meant for everybody.",
)
NOTICE = Check(
    "http-notification",
    "A notification that is taken is answered with status 202 and no body.",
    "MCP 2026-07-28, basic/transports/streamable-http",
    "HTTP-12",
    "Answer 202, with nothing in it.",
)
GET = Check(
    "http-get",
    "GET is answered with an event stream or status 405.",
    "MCP 2025-11-25, basic/transports",
    "HTTP-27",
    "Answer 405 where you have no such stream.",
)
VERSION = Check(
    "http-version",
    "A request with an unknown `MCP-Protocol-Version` is refused with status 400.",
    "MCP 2025-11-25, basic/transports",
    "HTTP-49",
    "Compare the header with the revisions that you speak.",
)
SESSION_ID = Check(
    "http-session-id",
    "`Mcp-Session-Id` has visible ASCII characters alone, and cannot be guessed.",
    "MCP 2025-11-25, basic/transports",
    "HTTP-41",
    "Make it of `secrets.token_urlsafe()` or `uuid.uuid4()`.",
)
SESSION_NEEDED = Check(
    "http-session-needed",
    "A request without the session id that the server gave is refused with status 400.",
    "MCP 2025-11-25, basic/transports",
    "HTTP-43",
    "Answer 400 to everything but `initialize` that has no session.",
)
SESSION_UNKNOWN = Check(
    "http-session-unknown",
    "A request of an unknown or ended session is refused with status 404.",
    "MCP 2025-11-25, basic/transports",
    "HTTP-44",
    "Answer 404: clients begin anew then, and give up at other statuses.",
)
DELETE = Check(
    "http-delete",
    "DELETE ends the session, or is answered with status 405.",
    "MCP 2025-11-25, basic/transports",
    "HTTP-46",
    "Forget the session, and answer 200 or 204.",
)
MIRRORS = Check(
    "http-mirrored-headers",
    "A request whose headers are missing or differ from its body is refused with status 400 and error -32020.",
    "MCP 2026-07-28, basic/transports/streamable-http",
    "HTTP-57",
    "Compare `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` with the body.",
)
CHECKS = (
    CONTENT,
    ORIGIN,
    HOST,
    BODY_TYPE,
    ACCEPT,
    CORS,
    NOTICE,
    GET,
    VERSION,
    SESSION_ID,
    SESSION_NEEDED,
    SESSION_UNKNOWN,
    DELETE,
    MIRRORS,
)

FOREIGN = "doctor.invalid"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SHORTEST_ID = 16
"""Characters of a session id, at least: shorter ones can be guessed."""
FIRST_WITH_HEADER = "2025-06-18"

_OF_SESSIONS = (SESSION_ID, SESSION_NEEDED, SESSION_UNKNOWN, DELETE)
_VISIBLE = re.compile(r"[\x21-\x7e]+")


async def who_is_let_in(visit: Visit, line: HttpLine) -> list[Finding]:
    """Ask as pages of elsewhere would, and other strangers."""
    frame = _opening_frame(visit)
    page = f"https://{FOREIGN}"
    findings = [_content_type(visit)]
    foreign = await line.post(frame, {"origin": page, "mcp-session-id": None})
    findings.append(ORIGIN.passed() if foreign.status == 403 else ORIGIN.failed(_outcome(foreign)))
    if urlsplit(line.web.target.url).hostname in LOOPBACK:
        rebound = await line.post(frame, {"host": FOREIGN, "mcp-session-id": None})
        findings.append(HOST.passed(_outcome(rebound)) if _refused(rebound) else HOST.warned(_outcome(rebound)))
    else:
        findings.append(HOST.skipped("the server is not on this machine"))
    plain = await line.post(frame, {"content-type": "text/plain", "mcp-session-id": None})
    findings.append(BODY_TYPE.passed() if _refused(plain) else BODY_TYPE.warned(_outcome(plain)))
    choosy = await line.post(frame, {"accept": "text/html", "mcp-session-id": None})
    is_fine = choosy.reply is not None or _refused(choosy)
    findings.append(ACCEPT.passed(_outcome(choosy)) if is_fine else ACCEPT.failed(_outcome(choosy)))
    return [*findings, await _cors(line, page)]


async def legacy_rules(visit: Visit, line: HttpLine) -> list[Finding]:
    """Look at statuses and sessions of the revisions with a handshake; the session is over afterwards."""
    revision = visit.revision
    told = await visit.tell("notifications/initialized")
    is_quiet = told.status == 202 and told.reply is None and not told.body
    findings = [NOTICE.passed(revision=revision) if is_quiet else NOTICE.failed(_outcome(told), revision)]
    stream = await line.web.request("GET", headers={**line.headers({}), "accept": "text/event-stream"})
    is_stream = stream.status == 200 and media_type(stream.headers) == "text/event-stream"
    is_fine = is_stream or stream.status == 405
    findings.append(GET.passed(_outcome(stream), revision) if is_fine else GET.failed(_outcome(stream), revision))
    ping = frame_of({"id": "doctor", "method": "ping"})
    if revision >= FIRST_WITH_HEADER:
        odd = await line.post(ping, {"mcp-protocol-version": "1999-01-01"})
        is_refused = odd.status == 400
        findings.append(VERSION.passed(revision=revision) if is_refused else VERSION.failed(_outcome(odd), revision))
    return [*findings, *await _sessions(line, ping, revision)]


async def modern_rules(visit: Visit, line: HttpLine) -> list[Finding]:
    """Look at the headers that repeat what is in the body."""
    message = {"id": "doctor", "method": "server/discover", "params": {"_meta": visit.envelope()}}
    changes: Mapping[str, Mapping[str, str | None]] = {
        "another MCP-Protocol-Version": {"mcp-protocol-version": "2025-11-25"},
        "another Mcp-Method": {"mcp-method": "tools/list"},
        "no Mcp-Method": {"mcp-method": None},
    }
    faults: list[str] = []
    codes: list[str] = []
    for what, headers in changes.items():
        answer = await line.post(frame_of(message), headers)
        if answer.status != 400:
            faults.append(f"{what}: {answer}")
        elif answer.code != -32020:
            codes.append(f"{what}: {answer}")
    if faults:
        return [MIRRORS.failed(several(faults), visit.revision)]
    return [MIRRORS.warned(several(codes), visit.revision) if codes else MIRRORS.passed(revision=visit.revision)]


async def _sessions(line: HttpLine, ping: bytes, revision: str) -> list[Finding]:
    session = line.given
    unknown = await line.post(ping, {"mcp-session-id": "doctor-no-such-session-0123456789"})
    if session is None:
        return [check.skipped("the server gives no session id", revision) for check in _OF_SESSIONS]
    findings: list[Finding] = []
    if not _VISIBLE.fullmatch(session):
        findings.append(SESSION_ID.failed(said(session), revision))
    elif len(session) < SHORTEST_ID:
        findings.append(SESSION_ID.warned(f"{len(session)} characters", revision))
    else:
        findings.append(SESSION_ID.passed(revision=revision))
    bare = await line.post(ping, {"mcp-session-id": None})
    is_refused = bare.status == 400
    findings.append(
        SESSION_NEEDED.passed(revision=revision) if is_refused else SESSION_NEEDED.warned(_outcome(bare), revision)
    )
    deleted = await line.web.request("DELETE", headers=line.headers({}))
    after = unknown if deleted.status == 405 else await line.post(ping)
    is_gone = unknown.status == 404 and after.status == 404
    seen = f"unknown: {_outcome(unknown)}; ended: {_outcome(after)}"
    findings.append(SESSION_UNKNOWN.passed(revision=revision) if is_gone else SESSION_UNKNOWN.failed(seen, revision))
    is_fine = deleted.status is not None and (200 <= deleted.status < 300 or deleted.status == 405)
    findings.append(
        DELETE.passed(_outcome(deleted), revision) if is_fine else DELETE.failed(_outcome(deleted), revision)
    )
    line.session = None
    return findings


async def _cors(line: HttpLine, page: str) -> Finding:
    asking = {"origin": page, "access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    answer = await line.web.request("OPTIONS", headers=asking, bare=True)
    allowed = answer.headers.get("access-control-allow-origin")
    if allowed in ("*", page) and (answer.status or 500) < 400:
        return CORS.warned(f"Access-Control-Allow-Origin: {said(allowed)}")
    return CORS.passed()


def _content_type(visit: Visit) -> Finding:
    answer = visit.opening
    kind = media_type(answer.headers)
    if kind in ("application/json", "text/event-stream"):
        return CONTENT.passed(kind)
    return CONTENT.failed(f"Content-Type: {said(kind)}")


def _opening_frame(visit: Visit) -> bytes:
    if visit.modern:
        return frame_of({"id": "doctor", "method": "server/discover", "params": {"_meta": visit.envelope()}})
    params = {"protocolVersion": visit.revision, "capabilities": {}, "clientInfo": INFO}
    return frame_of({"id": "doctor", "method": "initialize", "params": params})


def _refused(answer: Answer) -> bool:
    return answer.status is not None and 400 <= answer.status < 500


def _outcome(answer: Answer) -> str:
    return str(answer) if answer.status is None or answer.reply is not None else f"HTTP {answer.status}"
