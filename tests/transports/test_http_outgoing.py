"""What a client's frames say to HTTP."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.errors import LocalProtocolError, RemoteProtocolError
from dedalus_mcp.jsonrpc.codec import encode
from dedalus_mcp.jsonrpc.messages import Call, Notice, Success
from dedalus_mcp_transports import http_outgoing
from dedalus_mcp_transports.http_outgoing import Outgoing, Words, peek

MODERN = "2026-07-28"
META = {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}
MIRRORED = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}


def call(method: str, **params: Any) -> Outgoing:
    return peek(encode(Call(1, method, params)))


def modern(method: str, **params: Any) -> Outgoing:
    return call(method, **params, **META)


def listed(*tools: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools, "resultType": "complete"}}).encode()


def agreed(words: Words, revision: str, **headers: str) -> None:
    reply = encode(Success(1, {"protocolVersion": revision}))
    assert words.learn(call("initialize"), reply, headers) is reply


def test_a_call_a_notice_and_a_reply_are_told_apart() -> None:
    frame = encode(Call("x", "tools/call", {"name": "t", "arguments": {"b": 1}, **META}))
    out = peek(frame)
    assert (out.frame, out.id, out.method, out.revision, out.name) == (frame, "x", "tools/call", MODERN, "t")
    assert out.arguments is not None
    assert json.loads(bytes(out.arguments)) == {"b": 1}

    notice = peek(encode(Notice("notifications/cancelled", {"requestId": 7})))
    assert (notice.id, notice.method, notice.cancels) == (None, "notifications/cancelled", 7)
    assert peek(encode(Notice("x"))).method == "x"

    for reply in (encode(Success(1, {})), b"[" + encode(Success(1, {})) + b"]"):
        assert peek(reply) == Outgoing(reply)


@pytest.mark.parametrize("params", [[1], {"_meta": 7}, {"_meta": {}}, {"_meta": None}, {"name": 7}], ids=repr)
def test_params_of_any_shape_are_let_pass(params: Any) -> None:
    out = peek(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode())

    assert (out.id, out.method, out.revision, out.name) == (1, "tools/call", None, None)


def test_a_revision_that_is_no_text_is_none() -> None:
    assert call("x", _meta={"io.modelcontextprotocol/protocolVersion": 7}).revision is None


def test_initialize_says_nothing() -> None:
    """HTTP-47: also when a modern revision was tried before, or a session was lost (HTTP-45)."""
    words = Words()
    words.headers(modern("server/discover"))

    assert words.headers(call("initialize")) == {}
    assert (words.modern, words.revision) == (False, None)
    agreed(words, "2025-11-25", **{"mcp-session-id": "s1"})
    assert words.headers(call("initialize")) == {}
    assert words.headers(call("x"))["mcp-session-id"] == "s1"  # until there is a new one
    agreed(words, "2025-11-25")
    assert words.headers(call("x")) == {"mcp-protocol-version": "2025-11-25"}


@pytest.mark.parametrize(
    ("revision", "told"), [("2024-11-05", False), ("2025-03-26", False), ("2025-06-18", True), ("2025-11-25", True)]
)
def test_a_legacy_request_tells_the_session_and_the_revision(revision: str, told: bool) -> None:
    """HTTP-42, HTTP-47."""
    words = Words()
    assert words.headers(call("initialize")) == {}
    agreed(words, revision, **{"mcp-session-id": "s"})

    expected = {"mcp-session-id": "s"} | ({"mcp-protocol-version": revision} if told else {})
    for out in (call("tools/call", name="t"), peek(encode(Notice("n"))), peek(encode(Success(1, {})))):
        assert words.headers(out) == expected
    assert words.legacy_headers() == expected


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "t"}, "t"),
        ("prompts/get", {"name": "ü"}, "=?base64?w7w=?="),
        ("resources/read", {"uri": "file:///a"}, "file:///a"),
        ("tasks/get", {"taskId": "7"}, "7"),
        ("tasks/update", {"taskId": "7"}, "7"),
        ("tasks/cancel", {"taskId": "7"}, "7"),
        ("tools/list", {"name": "t"}, None),
    ],
)
def test_a_modern_request_tells_method_and_name(method: str, params: dict[str, Any], name: str | None) -> None:
    """HTTP-50, HTTP-53, HTTP-54, HTTP-55."""
    words = Words()
    expected = {"mcp-protocol-version": MODERN, "mcp-method": method} | ({} if name is None else {"mcp-name": name})

    assert words.headers(modern(method, **params)) == expected
    assert words.headers(peek(encode(Notice("n")))) == {"mcp-protocol-version": MODERN, "mcp-method": "n"}


def test_a_refused_initialize_agrees_on_nothing() -> None:
    words = Words()
    failure = b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}'

    assert words.learn(call("initialize"), failure, {"mcp-session-id": "s"}) is failure
    assert (words.session, words.revision) == (None, None)


@pytest.mark.parametrize("id", ["", " ", "a b", "ü", "x" * 1025, "a\x7f"], ids=range(6))
def test_a_session_id_of_other_characters_is_refused(id: str) -> None:
    """HTTP-41."""
    with pytest.raises(RemoteProtocolError, match="Mcp-Session-Id is not legal"):
        agreed(Words(), "2025-11-25", **{"mcp-session-id": id})


@pytest.mark.parametrize("id", ["x" * 1024, "!~"], ids=["long", "edges"])
def test_any_legal_session_id_will_do(id: str) -> None:
    """HTTP-41."""
    words = Words()
    agreed(words, "2025-11-25", **{"mcp-session-id": id})
    assert words.session == id


def test_arguments_are_mirrored_by_the_newest_schema() -> None:
    """HTTP-61, HTTP-64, HTTP-68."""
    words, listing = Words(), modern("tools/list")
    tool = modern("tools/call", name="t", arguments={"a": "v"})

    assert "Mcp-Param-A" not in words.headers(tool)
    reply = listed({"name": "t", "inputSchema": MIRRORED})
    assert words.learn(listing, reply, {}) is reply
    assert words.headers(tool)["Mcp-Param-A"] == "v"
    for none in ({"a": None}, {}):
        assert "Mcp-Param-A" not in words.headers(modern("tools/call", name="t", arguments=none))
    assert "Mcp-Param-A" not in words.headers(modern("tools/call", name="t"))
    assert "Mcp-Param-A" not in words.headers(modern("prompts/get", name="t", arguments={"a": "v"}))
    assert "Mcp-Param-A" not in words.headers(modern("tools/call", name="other", arguments={"a": "v"}))

    words.learn(listing, listed({"name": "t", "inputSchema": {"type": "object"}}), {})
    assert "Mcp-Param-A" not in words.headers(tool)


def test_a_tool_with_a_wrong_annotation_is_dropped_from_the_list(caplog: pytest.LogCaptureFixture) -> None:
    """HTTP-62: and nothing else is changed."""
    words = Words()
    good = {"name": "good", "inputSchema": MIRRORED, "unknown": [1.0, None, {"x": "ü"}]}
    wrong = {"name": "wrong", "inputSchema": {"type": "object", "x-mcp-header": "Root"}}

    with caplog.at_level(logging.WARNING, "dedalus_mcp"):
        learned = words.learn(modern("tools/list"), listed(good, wrong), {})

    assert json.loads(learned) == json.loads(listed(good))
    assert "dropped the tool 'wrong'" in caplog.text


@pytest.mark.parametrize(
    "reply",
    [
        listed({"name": "wrong", "inputSchema": "x-mcp-header"}),
        b'{"x-mcp-header": 1}',
        b'{"result": "x-mcp-header"}',
        b"x-mcp-header",
        b'["x-mcp-header"]',
    ],
    ids=range(5),
)
def test_a_list_that_is_none_is_left_to_the_engine(reply: bytes) -> None:
    assert Words().learn(modern("tools/list"), reply, {}) is reply


def test_a_list_without_annotations_is_left_alone() -> None:
    reply = listed({"name": "t", "inputSchema": {"type": "object"}})
    assert Words().learn(modern("tools/list"), reply, {}) is reply


def test_a_legacy_list_is_left_alone() -> None:
    reply = listed({"name": "wrong", "inputSchema": {"x-mcp-header": "Root"}})
    assert Words().learn(call("tools/list"), reply, {}) is reply


def test_the_tools_whose_arguments_are_mirrored_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_outgoing, "MAX_MIRRORED", 1)
    words = Words()
    words.learn(modern("tools/list"), listed(*[{"name": n, "inputSchema": MIRRORED} for n in ("t", "u")]), {})

    assert "Mcp-Param-A" in words.headers(modern("tools/call", name="t", arguments={"a": "v"}))
    assert "Mcp-Param-A" not in words.headers(modern("tools/call", name="u", arguments={"a": "v"}))


def test_what_does_not_fit_into_a_header_is_not_sent() -> None:
    """HTTP-63: an integer that is not safe."""
    words = Words()
    schema = {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}}
    words.learn(modern("tools/list"), listed({"name": "t", "inputSchema": schema}), {})

    with pytest.raises(LocalProtocolError, match="'tools/call' cannot be sent over HTTP: an integer beyond"):
        words.headers(modern("tools/call", name="t", arguments={"n": 2**60}))


@given(st.text(), st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_headers_are_plain_ascii_whatever_is_called(name: str, arguments: dict[str, Any]) -> None:
    try:
        out = modern("tools/call", name=name, arguments=arguments)
    except UnicodeEncodeError:
        return
    for header, value in Words().headers(out).items():
        assert header.isascii()
        assert value.isascii()
        assert value.isprintable()
