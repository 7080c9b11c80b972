"""What a POST is: any headers and any body lead to a route, or to a refusal that can be sent.

headers, one a line
---
the body
"""

from __future__ import annotations

import re

from dedalus_mcp.jsonrpc.codec import decode, encode
from dedalus_mcp.jsonrpc.messages import Call, Malformed
from dedalus_mcp.types.revisions import LEGACY
from dedalus_mcp_transports.http_classify import Refused, classify, legacy_revision
from dedalus_mcp_transports.http_cors import Cors
from dedalus_mcp_transports.http_headers import ConflictingHeader, Headers, accepts, is_json
from dedalus_mcp_transports.http_mirrors import Mirrors
from dedalus_mcp_transports.http_posted import cancellations_in, is_replied_to
from tests.fuzz.pieces import headers, parts

__all__ = ("target",)

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "deep": {"type": "object", "properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}},
    },
}
MIRRORS = Mirrors(lambda tool: SCHEMA if tool == "mirrored" else None)
CORS = Cors(["https://app.example"])
PRINTABLE = re.compile(rb"[\t -~]*")


def target(data: bytes) -> None:
    """Say what becomes of a POST."""
    head, body = parts(data, 2)
    sent = Headers(headers(head))
    accepts(sent.joined(b"accept"))
    is_json(sent.joined(b"content-type"))
    message = decode(body)
    list(cancellations_in(message))
    is_replied_to(message)
    _answers_pages(sent)
    route = classify(message, sent)
    if isinstance(route, Refused):
        _can_be_sent(route)
    elif route == "modern":
        assert not isinstance(message, list | Malformed)
        fault = MIRRORS.check(message, sent) if isinstance(message, Call) else None
        if fault is not None:
            _can_be_sent(fault)
    else:
        for agreed in (None, *LEGACY):
            revision = legacy_revision(route, sent, agreed)
            if isinstance(revision, Refused):
                _can_be_sent(revision)


def _can_be_sent(refused: Refused) -> None:
    assert 400 <= refused.status < 500
    assert len(refused.failure.error.message) < 300
    encode(refused.failure)


def _answers_pages(sent: Headers) -> None:
    try:
        origin = sent.one(b"origin")
    except ConflictingHeader:
        return
    for _, value in (*CORS.headers(origin), *(CORS.preflight("OPTIONS", sent) or ())):
        assert PRINTABLE.fullmatch(value), f"a header of the answer says {value!r:.200}"
