"""What an HTTP answer that is no reply means: the typed error of the call, without I/O.

Layer: L2; imports `errors` only.
Source: MCP 2026-07-28, basic/transports/streamable-http; RFC 9110, 10.2.3 and 15.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, NamedTuple

import msgspec

from dedalus_mcp.errors import (
    AuthRequiredError,
    BadRequestError,
    ErrorData,
    ForbiddenError,
    MCPConnectionError,
    McpError,
    ServerError,
    SessionExpiredError,
    TransportError,
)
from dedalus_mcp.excerpt import excerpt

__all__ = ("Answer", "failure", "reply_ids")

MAX_ERROR_BODY = 64 * 1024
"""Bytes of the body of a refusal that are read: room for any JSON-RPC error that is meant to be read."""

EXCERPT = 500
"""Characters of a body that go into the text of an error."""

_CLASSES: dict[int, type[MCPConnectionError]] = {
    400: BadRequestError,
    401: AuthRequiredError,
    403: ForbiddenError,
    404: TransportError,
    405: TransportError,
    406: TransportError,
    415: TransportError,
    422: BadRequestError,
}

# What these say is for the HTTP client, whatever the body repeats of it.
_ABOUT_HTTP = (401, 403, 429)


class Answer(NamedTuple):
    """An HTTP answer that is no reply.

    Attributes:
        status: Its status.
        reason: Its reason phrase; often empty.
        headers: Its headers, found by lower-case name.
        body: Its first bytes, at most `MAX_ERROR_BODY`.
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


class _Error(msgspec.Struct):
    code: int
    message: str = ""
    data: Any = None


class _Failure(msgspec.Struct):
    error: _Error
    id: Any = None


class _Message(msgspec.Struct):
    id: Any = None
    method: Any = None


_decode_failure = msgspec.json.Decoder(_Failure).decode
_decode_messages = msgspec.json.Decoder(_Message | list[Any]).decode


def reply_ids(frame: bytes) -> set[str]:
    """Return the ids of the replies in a frame, as text; a frame that is no message has none."""
    try:
        found = _decode_messages(frame)
        messages = [found] if isinstance(found, _Message) else [msgspec.convert(each, _Message) for each in found]
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return set()
    return {str(each.id) for each in messages if each.method is None and each.id is not None}


def failure(answer: Answer, id: int | str | None, where: str, *, in_session: bool) -> Exception:
    """Return what a call raises that was answered so.

    Where the answer is the JSON-RPC error of this very call, that is an `McpError`, and how
    HTTP put it is its `__cause__`.

    Args:
        answer: The answer.
        id: The id of the call; None for what is no call.
        where: The address.
        in_session: Whether the request carried the id of a session.
    """
    found = _rpc_error(answer.body)
    error = None if found is None else ErrorData(found.error.code, found.error.message, found.error.data)
    http = _http_error(answer, error, where, in_session=in_session)
    http.error = error
    if found is None or error is None or isinstance(http, SessionExpiredError) or answer.status in _ABOUT_HTTP:
        return http
    if id is None or str(found.id) != str(id):
        return http
    mine = McpError(error)
    mine.__cause__ = http
    return mine


def _http_error(answer: Answer, error: ErrorData | None, where: str, *, in_session: bool) -> MCPConnectionError:
    status = answer.status
    kind: type[MCPConnectionError] = ServerError if status >= 500 else MCPConnectionError
    kind = SessionExpiredError if status == 404 and in_session else _CLASSES.get(status, kind)
    if 200 <= status < 300:
        kind = TransportError
    made = kind(_text(answer, error, where), status)
    made.retry_after = _seconds(answer.headers.get("retry-after"))
    if isinstance(made, AuthRequiredError | ForbiddenError):
        made.www_authenticate = answer.headers.get("www-authenticate")
    return made


def _text(answer: Answer, error: ErrorData | None, where: str) -> str:
    text = f"{excerpt(answer.reason) or 'refused'} by {where}"
    if 200 <= answer.status < 300:
        text = f"no MCP in the answer of {where}"
    elif 300 <= answer.status < 400:
        text = f"{where} sends us on to {answer.headers.get('location', 'nowhere')!r:.200}, where we do not go"
    said = excerpt(answer.body.decode(errors="replace") if error is None else error.message, EXCERPT)
    return f"{text}: {said}" if said else text


def _rpc_error(body: bytes) -> _Failure | None:
    try:
        return _decode_failure(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def _seconds(retry_after: str | None) -> float | None:
    """Read a `Retry-After`: seconds, or a date."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdigit() and len(text) <= 9:
        return float(text)
    try:
        date = parsedate_to_datetime(text)
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - time())
    except (ValueError, OverflowError):
        return None
