"""What is in messages: any params and results are of the method's type, or one of three documented errors.

What was read can be shaped for a reader of any revision, as a proxy does, and written again.

    the method, on a line of its own
    the params, or the result
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dedalus_mcp.errors import McpError
from dedalus_mcp.jsonrpc.codec import encode_value
from dedalus_mcp.session import ServerSession
from dedalus_mcp.types.methods import NOTIFICATIONS, REQUESTS
from dedalus_mcp.types.revisions import REVISIONS, complete, shape
from tests.fuzz.judging import allowed
from tests.fuzz.pieces import json_object

__all__ = ("target",)

LONGEST = 1000
DOCUMENTED = (msgspec.ValidationError, msgspec.DecodeError, RecursionError)


def target(data: bytes) -> None:
    """Read the params and the result of a method."""
    name, _, raw = data.partition(b"\n")
    method = name.decode("latin-1")
    _terms(method, raw)
    if method in NOTIFICATIONS:
        _read(NOTIFICATIONS[method].decode_params, raw)
    if method in REQUESTS:
        _read(REQUESTS[method].decode_params, raw)
        result = _read(REQUESTS[method].decode_outcome, raw)
        if result is not None:
            for revision in REVISIONS:
                encode_value(shape(complete(result, revision), revision))


def _read(decode: Callable[[bytes], Any], raw: bytes) -> Any:
    try:
        value = decode(raw)
    except DOCUMENTED:
        return None
    for revision in REVISIONS:
        encode_value(shape(value, revision))
    return value


def _terms(method: str, raw: bytes) -> None:
    """Ask under which terms a request is to be answered, before and after a handshake."""
    meta = (json_object(raw) or {}).get("_meta")
    session = ServerSession()
    for _ in range(2):
        with allowed(McpError, longest=LONGEST):
            session.terms(method, meta if isinstance(meta, dict) else None)  # pyright: ignore[reportUnknownArgumentType]
        with allowed(McpError, *DOCUMENTED, longest=LONGEST):
            session.initialize(REQUESTS["initialize"].decode_params(raw))
