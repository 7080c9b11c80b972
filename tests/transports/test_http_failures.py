"""What an HTTP answer that is no reply means."""

from __future__ import annotations

import json
from email.utils import formatdate
from time import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from dedalus_mcp_transports.http_failures import Answer, failure, reply_ids

NONE: set[str] = set()
WHERE = "http://host/mcp"


def judged(status: int, body: bytes = b"", *, id: Any = 1, in_session: bool = False, **headers: str) -> Exception:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return failure(Answer(status, "Reason", named, body), id, WHERE, in_session=in_session)


def http(*args: Any, **more: Any) -> MCPConnectionError:
    error = judged(*args, **more)
    assert isinstance(error, MCPConnectionError)
    return error


def error_body(code: int = -32601, id: Any = 1, **members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "why", **members}}).encode()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, TransportError),
        (202, TransportError),
        (302, MCPConnectionError),
        (400, BadRequestError),
        (401, AuthRequiredError),
        (402, MCPConnectionError),
        (403, ForbiddenError),
        (404, TransportError),
        (405, TransportError),
        (406, TransportError),
        (415, TransportError),
        (418, MCPConnectionError),
        (422, BadRequestError),
        (429, MCPConnectionError),
        (500, ServerError),
        (599, ServerError),
    ],
)
def test_the_status_decides_the_class(status: int, kind: type[MCPConnectionError]) -> None:
    error = http(status)

    assert type(error) is kind
    assert error.status_code == status
    assert str(error).startswith(f"[{status}] ")
    assert WHERE in str(error)
    assert not error.begun


def test_only_in_a_session_does_404_mean_that_it_is_lost() -> None:
    """B041, HTTP-44: whatever its body says."""
    assert type(http(404, in_session=True)) is SessionExpiredError
    assert type(http(404, error_body(), in_session=True)) is SessionExpiredError
    assert type(http(404)) is TransportError


def test_the_text_says_reason_and_what_the_server_said_in_part() -> None:
    """B154."""
    assert str(http(400)) == f"[400] Reason by {WHERE}"
    assert str(http(400, b" a\n b\x00")) == f"[400] Reason by {WHERE}: a b\\x00"
    assert str(http(400, error_body(id=None))) == f"[400] Reason by {WHERE}: why"
    assert str(http(200, b"<html>")) == f"[200] no MCP in the answer of {WHERE}: <html>"
    assert "sends us on to '/there'" in str(http(301, location="/there"))
    assert "sends us on to 'nowhere'" in str(http(301))
    assert len(str(http(400, b"x" * 60_000))) < 600
    nameless = failure(Answer(400, "", {}, b""), 1, WHERE, in_session=False)
    assert str(nameless) == f"[400] refused by {WHERE}"


@pytest.mark.parametrize("status", [401, 403])
def test_the_challenge_is_told(status: int) -> None:
    error, unchallenged = http(status, www_authenticate="Bearer"), http(status)

    assert isinstance(error, AuthRequiredError | ForbiddenError)
    assert error.www_authenticate == "Bearer"
    assert isinstance(unchallenged, AuthRequiredError | ForbiddenError)
    assert unchallenged.www_authenticate is None


@pytest.mark.parametrize(("said", "seconds"), [("7", 7), (" 0 ", 0), ("-1", None), ("soon", None), ("9" * 10, None)])
def test_how_long_to_wait_is_told_in_seconds(said: str, seconds: float | None) -> None:
    assert http(503, retry_after=said).retry_after == seconds


def test_how_long_to_wait_may_be_a_date() -> None:
    later = http(429, retry_after=formatdate(time() + 3600, usegmt=True)).retry_after
    assert later is not None
    assert 3000 < later <= 3601
    assert http(429, retry_after=formatdate(0, usegmt=True)).retry_after == 0
    assert http(429, retry_after="Thu, 01 Jan 1970 00:00:00 -0000").retry_after == 0
    assert http(429).retry_after is None


@pytest.mark.parametrize("status", [200, 400, 404, 422, 500])
def test_the_json_rpc_error_of_the_call_is_the_peers(status: int) -> None:
    error = judged(status, error_body(data=[1]))

    assert isinstance(error, McpError)
    assert error.error == ErrorData(-32601, "why", [1])
    assert isinstance(error.__cause__, MCPConnectionError)
    assert error.__cause__.status_code == status


@pytest.mark.parametrize("status", [401, 403, 429])
def test_what_is_for_the_http_client_stays_so(status: int) -> None:
    error = http(status, error_body())

    assert error.error == ErrorData(-32601, "why")


@pytest.mark.parametrize(("id", "mine"), [(1, 2), (None, 1), (1, None)])
def test_a_json_rpc_error_of_nobody_is_kept_beside(id: Any, mine: Any) -> None:
    error = http(400, error_body(id=id), id=mine)

    assert type(error) is BadRequestError
    assert error.error == ErrorData(-32601, "why")


@pytest.mark.parametrize(
    ("frame", "ids"),
    [
        (b'{"id":1,"result":{}}', {"1"}),
        (b'{"id":"a","error":{"code":1,"message":""}}', {"a"}),
        (b'{"id":1,"method":"ping"}', NONE),
        (b'{"id":null,"error":{"code":1,"message":""}}', NONE),
        (b'{"method":"n"}', NONE),
        (b'[{"id":1,"result":{}},{"id":2,"result":{}},{"id":3,"method":"x"}]', {"1", "2"}),
        (b"[]", NONE),
        (b"[1]", NONE),
        (b"7", NONE),
        (b"", NONE),
        (b"[" * 100_000, NONE),
        (b'{"id":"\xff"}', NONE),
    ],
)
def test_the_replies_in_a_frame_are_found(frame: bytes, ids: set[str]) -> None:
    assert reply_ids(frame) == ids


@given(st.integers(200, 599), st.binary(max_size=200), st.booleans(), st.dictionaries(st.text(), st.text(), max_size=3))
def test_any_answer_becomes_an_error(status: int, body: bytes, in_session: bool, headers: dict[str, str]) -> None:
    error = failure(Answer(status, "", headers, body), 1, WHERE, in_session=in_session)

    assert isinstance(error, McpError | MCPConnectionError)
    assert all(isinstance(each, str) for each in reply_ids(body))
