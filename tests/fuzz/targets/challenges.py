"""`WWW-Authenticate` and refusals: any answer is a typed error, and any header a few challenges.

the status
headers, one a line
---
the body
"""

from __future__ import annotations

import math

from dedalus_mcp.client.auth.challenge import MAX_CHALLENGES, MAX_SCOPES, parse_www_authenticate, token_challenge
from dedalus_mcp.client.auth.failures import said
from dedalus_mcp.errors import MCPConnectionError, McpError
from dedalus_mcp_transports.http_failures import MAX_ERROR_BODY, Answer, failure, reply_ids
from tests.fuzz.pieces import headers, parts

__all__ = ("target",)

LONGEST = 1200


def target(data: bytes) -> None:
    """Read a refusal."""
    head, body = parts(data, 2)
    status, _, rest = head.partition(b"\n")
    named = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers(rest)}
    code = int(status) if status.isdigit() and len(status) == 3 else 401
    answer = Answer(code, "", named, body[:MAX_ERROR_BODY])
    for in_session in (False, True):
        error = failure(answer, 1, "https://mcp.example/mcp", in_session=in_session)
        assert isinstance(error, McpError | MCPConnectionError)
        if isinstance(error, MCPConnectionError):
            assert len(str(error)) < LONGEST
            assert error.retry_after is None or (math.isfinite(error.retry_after) and error.retry_after >= 0)
    reply_ids(body)
    _challenge(head.decode("latin-1"), *named.values())


def _challenge(*texts: str) -> None:
    found = parse_www_authenticate(*texts)
    assert len(found) <= MAX_CHALLENGES
    for scheme in ("bearer", "dpop"):
        challenge = token_challenge(*texts, scheme=scheme)
        if challenge is not None:
            assert len(challenge.scopes) <= MAX_SCOPES
            said(challenge.error or "")
