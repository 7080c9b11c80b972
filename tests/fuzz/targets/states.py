"""`requestState` and session ids: any text is one that was given out, or no good; none is taken that was altered.

a state
---
the params that it came with
---
who sent it
"""

from __future__ import annotations

import msgspec

from dedalus_mcp.server.request_state import State, StateWriter, request_digest
from dedalus_mcp.server.rounds import BadState
from dedalus_mcp.server.seal import Seal
from dedalus_mcp.session import Terms
from dedalus_mcp.types import ClientCapabilities
from dedalus_mcp_transports.http_seal import SessionSeal
from dedalus_mcp_transports.http_session import SessionNotFound
from tests.fuzz.pieces import parts

__all__ = ("target",)

KEY = b"k" * 32
LATER = 2.0**40  # seconds since the epoch, long after everybody who runs this
REQUEST = request_digest("tools/call", msgspec.Raw(b'{"name":"t"}'))
GIVEN = State("handle", 1, 0.0, LATER, {"name": "elicitation/create"}, {})

SEALED, BARE = StateWriter("server", Seal([KEY])), StateWriter("server", None)
OURS = {writer.write(GIVEN, REQUEST, None): writer for writer in (SEALED, BARE)}
SESSIONS = SessionSeal([KEY])
SESSION = SESSIONS.seal(Terms("2025-11-25", None, ClientCapabilities(), None), None, 0.0)


def target(data: bytes) -> None:
    """Open what was sealed here, after it was meddled with, and what never was."""
    text, params, who = (part.decode("latin-1") for part in parts(data, 3))
    try:
        request = request_digest("tools/call", msgspec.Raw(params.encode("latin-1")))
    except (msgspec.DecodeError, RecursionError):
        request = REQUEST
    for given, writer in OURS.items():
        for altered in (text, given + text, given[: len(data) % len(given)] + text):
            state = _opened(writer, altered, request, who or None)
            if writer is SEALED and (altered, request, who) != (given, REQUEST, ""):
                assert state is None, f"{altered!r} is taken for a state"
    for altered in (text, SESSION + text, SESSION[: len(data) % len(SESSION)] + text):
        try:
            SESSIONS.open(altered, who or None, 0.0)
        except SessionNotFound:
            continue
        assert (altered, who) == (SESSION, "")


def _opened(writer: StateWriter, text: str, request: bytes, who: str | None) -> State | None:
    try:
        return writer.read(text, request, who)
    except BadState:
        return None
