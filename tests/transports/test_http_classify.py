"""What a POST is: its era, and whether its headers say the same as its body."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedalus_mcp.errors import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from dedalus_mcp.jsonrpc.codec import decode
from dedalus_mcp.types.revisions import LEGACY, MODERN
from dedalus_mcp_transports.http_classify import Refused, Route, classify, legacy_revision, status_of
from dedalus_mcp_transports.http_headers import Headers

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
MODERN_META: dict[str, Any] = {VERSION_KEY: MODERN[-1], CAPABILITIES_KEY: {}}
MODERN_HEADER = {"mcp-protocol-version": MODERN[-1]}


def post(body: Any, headers: dict[str, str] | list[tuple[str, str]]) -> Route | Refused:
    frame = body if isinstance(body, bytes) else json.dumps(body).encode()
    pairs = headers.items() if isinstance(headers, dict) else headers
    return classify(decode(frame), Headers([(name.encode(), value.encode("latin-1")) for name, value in pairs]))


def call(method: str = "tools/list", meta: Any = MODERN_META, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {"_meta": meta, **params}}


def plain(method: str = "tools/list", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def notice(method: str = "notifications/initialized", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def standard(method: str = "tools/list", **more: str) -> dict[str, str]:
    return {**MODERN_HEADER, "mcp-method": method, **{f"mcp-{name}": value for name, value in more.items()}}


def refused(route: str | Refused, code: int, id: int | str | None = 7) -> str:
    """Check a refusal and return its message."""
    assert isinstance(route, Refused), route
    assert (route.status, route.failure.error.code, route.failure.id) == (400, code, id)
    return route.failure.error.message


@pytest.mark.parametrize("version", [None, "", *LEGACY])
@pytest.mark.parametrize(
    "body",
    [
        plain("initialize", protocolVersion="2026-07-28"),
        plain("tools/call", name=5, uri=[], taskId={}),
        plain(_meta={"progressToken": 1}),
        plain(_meta=None),
        plain(_meta=[MODERN_META]),
        plain(_meta="x"),
        plain(_meta=1.5),
        {"jsonrpc": "2.0", "id": 7, "method": "ping"},
        {"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [MODERN_META]},
        {"jsonrpc": "2.0", "id": 7, "method": "ping", "params": None},
        notice(),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 7, "result": {"_meta": MODERN_META}},
        {"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": "no"}},
    ],
    ids=str,
)
def test_what_names_no_modern_version_is_legacy(body: Any, version: str | None) -> None:
    """Rows 5, 6, 10 and 12; a header of another kind does not make it modern."""
    said = {} if version is None else {"mcp-protocol-version": version}

    assert post(body, {**said, "mcp-method": "initialize"}) == "legacy"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (call(), standard()),
        (call("server/discover"), standard("server/discover")),
        (call("no/such/method"), standard("no/such/method")),
        (call("initialize"), standard("initialize")),
        (call("tools/call", name="add"), standard("tools/call", name="add")),
        (call("prompts/get", name="hello"), standard("prompts/get", name="\t hello ")),
        (call("resources/read", uri="file:///a%20b"), standard("resources/read", name="file:///a%20b")),
        (call("tasks/get", taskId="t1"), standard("tasks/get", name="t1")),
        (call("tools/call", name="größe"), standard("tools/call", name="=?base64?Z3LDtsOfZQ==?=")),
        (call("tools/call", name=5), standard("tools/call")),
        (call("tools/call"), standard("tools/call", name="add")),
        (notice(_meta=MODERN_META), MODERN_HEADER),
        (notice(), MODERN_HEADER),
        (notice(_meta={"a": 1}), MODERN_HEADER),
        ({"jsonrpc": "2.0", "method": "x"}, MODERN_HEADER),
    ],
    ids=str,
)
def test_what_is_modern_and_agrees_with_its_headers_goes_on(body: Any, headers: dict[str, str]) -> None:
    """HTTP-56, HTTP-57, rows 7, 9 and 11: unknown methods and bad params are for the engine."""
    assert post(body, {"mcp-session-id": "x", "last-event-id": "y", **headers}) == "modern"


def test_params_that_are_no_object_are_no_request() -> None:
    wrong: list[Any] = [[], None, "x", 1]
    for params in wrong:
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": params}
        assert "'params' is no readable object" in refused(post(body, standard()), INVALID_REQUEST)


@pytest.mark.parametrize(
    "body",
    [
        plain(),
        {"jsonrpc": "2.0", "id": 7, "method": "tools/list"},
        plain("initialize", protocolVersion="2026-07-28"),
        call(meta=None),
        call(meta=[]),
        call(meta={}),
        call(meta={CAPABILITIES_KEY: {}}),
        call(meta={VERSION_KEY: None, CAPABILITIES_KEY: {}}),
        call(meta={VERSION_KEY: 2026, CAPABILITIES_KEY: {}}),
    ],
    ids=str,
)
def test_a_modern_request_names_its_version_in_its_body(body: Any) -> None:
    """HTTP-75: the missing key comes before any header, and the answer lists our versions."""
    route = post(body, MODERN_HEADER)

    message = refused(route, INVALID_PARAMS)
    assert VERSION_KEY in message
    assert MODERN[-1] in message
    assert isinstance(route, Refused)
    assert route.failure.error.data == {"supported": list(MODERN), "requested": MODERN[-1]}


@pytest.mark.parametrize("capabilities", [None, [], "x", 1, True])
def test_a_modern_request_declares_its_capabilities(capabilities: Any) -> None:
    """HTTP-75."""
    meta = {VERSION_KEY: MODERN[-1], CAPABILITIES_KEY: capabilities}

    assert CAPABILITIES_KEY in refused(post(call(meta=meta), standard()), INVALID_PARAMS)
    assert CAPABILITIES_KEY in refused(post(call(meta={VERSION_KEY: MODERN[-1]}), standard()), INVALID_PARAMS)


@pytest.mark.parametrize("meta", [{VERSION_KEY: None}, {VERSION_KEY: 5}, {VERSION_KEY: []}], ids=str)
def test_a_version_of_any_type_makes_a_request_modern(meta: Any) -> None:
    """Row 9."""
    refused(post(call(meta=meta), {}), INVALID_PARAMS)
    refused(post(notice(_meta=meta), {}), INVALID_PARAMS, None)


@pytest.mark.parametrize("version", [None, "", "2025-11-25", "2026-07-29", "2026-07-28x"])
def test_a_version_header_that_differs_from_the_body_is_a_mismatch(version: str | None) -> None:
    """HTTP-51, HTTP-57: also where the body's version is unknown."""
    headers = standard()
    del headers["mcp-protocol-version"]
    if version is not None:
        headers["mcp-protocol-version"] = version

    for body in (call(), call(meta={**MODERN_META, VERSION_KEY: "v999"})):
        assert "MCP-Protocol-Version" in refused(post(body, headers), HEADER_MISMATCH)
    refused(post(notice(_meta=MODERN_META), headers), HEADER_MISMATCH, None)


@pytest.mark.parametrize("version", ["v999.0.0", "2025-11-25", "2027-01-01"])
def test_a_version_that_is_not_spoken_is_told_which_are(version: str) -> None:
    """HTTP-75, AMB-06: the modern ones alone, also where the one named is legacy."""
    headers = {**standard("x"), "mcp-protocol-version": version}
    route = post(call(meta={VERSION_KEY: version, CAPABILITIES_KEY: {}}), headers)

    refused(route, UNSUPPORTED_PROTOCOL_VERSION)
    assert isinstance(route, Refused)
    assert route.failure.error.data == {"supported": list(MODERN), "requested": version}


def test_a_notice_of_a_version_that_is_not_spoken_is_refused() -> None:
    refused(post(notice(), {"mcp-protocol-version": "2027-01-01"}), UNSUPPORTED_PROTOCOL_VERSION, None)


@pytest.mark.parametrize(
    "headers", [MODERN_HEADER, standard("TOOLS/LIST"), standard("tools/call"), standard("")], ids=str
)
def test_a_method_header_that_differs_from_the_body_is_a_mismatch(headers: dict[str, str]) -> None:
    """HTTP-57, HTTP-58."""
    assert "Mcp-Method" in refused(post(call(), headers), HEADER_MISMATCH)


@pytest.mark.parametrize("name", [None, "", "Add", "sub", "=?base64?c3Vi?=", "=?base64?YWRk=?=", "add\x7f", "\xe4dd"])
@pytest.mark.parametrize(
    ("method", "member"),
    [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri"), ("tasks/cancel", "taskId")],
)
def test_a_name_header_that_differs_from_the_body_is_a_mismatch(name: str | None, method: str, member: str) -> None:
    """HTTP-56, HTTP-57, HTTP-58."""
    headers = standard(method) if name is None else standard(method, name=name)

    assert "eader mismatch" in refused(post(call(method, **{member: "add"}), headers), HEADER_MISMATCH)


def test_a_name_header_says_whether_it_is_missing_or_wrong() -> None:
    body = call("tools/call", name="add")

    assert refused(post(body, standard("tools/call")), HEADER_MISMATCH) == "Header mismatch: Mcp-Name is missing"
    assert refused(post(body, standard("tools/call", name="x")), HEADER_MISMATCH) == (
        "Header mismatch: Mcp-Name differs from the body"
    )


@pytest.mark.parametrize("name", ["mcp-method", "mcp-name"])
def test_two_different_values_of_one_header_are_a_mismatch(name: str) -> None:
    """HTTP-57, AMB-41."""
    headers = [*standard("tools/call", name="add").items(), (name, "other")]

    assert name in refused(post(call("tools/call", name="add"), headers), HEADER_MISMATCH)


def test_two_different_versions_are_refused_in_the_words_of_their_era() -> None:
    """AMB-41."""
    version = "mcp-protocol-version"

    refused(post(call(), [(version, MODERN[-1]), (version, LEGACY[-1])]), HEADER_MISMATCH)
    refused(post(plain(), [(version, LEGACY[0]), (version, LEGACY[-1])]), INVALID_REQUEST)
    refused(post(notice(), [(version, LEGACY[0]), (version, LEGACY[-1])]), INVALID_REQUEST, None)
    assert post(plain(), [(version, LEGACY[0]), (version, LEGACY[0])]) == "legacy"


def test_a_batch_is_legacy_unless_anything_in_it_is_modern() -> None:
    """Rows 1 to 3."""
    batch: list[Any] = [plain(), notice(), {"jsonrpc": "2.0", "id": 1, "result": {}}, 5]

    assert post(batch, {}) == "legacy batch"
    refused(post(batch, MODERN_HEADER), INVALID_REQUEST, None)
    refused(post([*batch, call()], {}), INVALID_REQUEST, None)
    refused(post([*batch, notice(_meta=MODERN_META)], {}), INVALID_REQUEST, None)


def test_a_modern_client_sends_no_replies() -> None:
    """Row 4: the id is one of ours, so it is not echoed."""
    refused(post({"jsonrpc": "2.0", "id": 7, "result": {}}, MODERN_HEADER), INVALID_REQUEST, None)
    refused(
        post({"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": ""}}, MODERN_HEADER), INVALID_REQUEST, None
    )


@pytest.mark.parametrize("headers", [{}, MODERN_HEADER], ids=["legacy", "modern"])
def test_what_is_no_message_is_refused_under_its_id(headers: dict[str, str]) -> None:
    """Row 13: a broken reply is refused under none."""
    refused(post(b"{", headers), PARSE_ERROR, None)
    refused(post({"jsonrpc": "1.0", "id": 7, "method": "x"}, headers), INVALID_REQUEST, 7)
    refused(post({"jsonrpc": "2.0", "id": 7}, headers), INVALID_REQUEST, 7)
    refused(post({"jsonrpc": "2.0", "id": 7, "result": {}, "error": 5}, headers), INVALID_REQUEST, None)
    refused(post([], headers), INVALID_REQUEST, None)


def test_params_that_cannot_be_peeked_into_are_left_to_the_engine() -> None:
    for name in (b"1e999", b"9" * 5000, b'"\xff"'):
        broken = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":' + name + b"}}"

        assert post(broken, {}) == "legacy"
        refused(post(broken, standard("tools/call")), INVALID_REQUEST)


def revision(route: Route, agreed: str | None, version: str | None = None) -> str | Refused:
    return legacy_revision(
        route, Headers([] if version is None else [(b"mcp-protocol-version", version.encode())]), agreed
    )


@pytest.mark.parametrize(
    ("agreed", "version", "expected"),
    [
        (None, None, "2025-03-26"),
        (None, "", "2025-03-26"),
        (None, "2025-06-18", "2025-06-18"),
        ("2025-11-25", None, "2025-11-25"),
        ("2024-11-05", None, "2024-11-05"),
        ("2025-06-18", "2025-06-18", "2025-06-18"),
    ],
)
def test_a_legacy_message_is_of_the_revision_agreed_on(agreed: str | None, version: str | None, expected: str) -> None:
    """HTTP-48: without session and header it is 2025-03-26."""
    assert revision("legacy", agreed, version) == expected


def test_a_legacy_header_that_is_not_the_one_agreed_on_is_refused() -> None:
    """HTTP-49."""
    assert "2025-06-18, not 2025-11-25" in refused(
        revision("legacy", "2025-06-18", "2025-11-25"), INVALID_REQUEST, None
    )


def test_only_one_revision_has_batches() -> None:
    """Rows 2 and 3."""
    assert revision("legacy batch", None) == "2025-03-26"
    assert revision("legacy batch", "2025-03-26", "2025-03-26") == "2025-03-26"
    for agreed in ("2024-11-05", "2025-06-18", "2025-11-25"):
        assert "no batches" in refused(revision("legacy batch", agreed), INVALID_REQUEST, None)
    refused(revision("legacy batch", None, "2025-06-18"), INVALID_REQUEST, None)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (PARSE_ERROR, 400),
        (INVALID_REQUEST, 400),
        (INVALID_PARAMS, 400),
        (HEADER_MISMATCH, 400),
        (MISSING_REQUIRED_CLIENT_CAPABILITY, 400),
        (UNSUPPORTED_PROTOCOL_VERSION, 400),
        (METHOD_NOT_FOUND, 404),
        (INTERNAL_ERROR, 200),
        (CONNECTION_CLOSED, 200),
        (5, 200),
    ],
)
def test_a_modern_error_has_the_status_of_its_code(code: int, status: int) -> None:
    """AMB-04."""
    assert status_of(code) == status


scalars = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from([*LEGACY, *MODERN, "tools/call"])
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner), max_leaves=6
)
metas = values | st.fixed_dictionaries({}, optional={VERSION_KEY: scalars, CAPABILITIES_KEY: values})
params: st.SearchStrategy[Any] = values | st.fixed_dictionaries(
    {}, optional={"_meta": metas, "name": scalars, "uri": scalars}
)
bodies = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={"id": scalars, "method": scalars, "params": params, "result": values, "error": values},
)
pairs = st.lists(
    st.tuples(
        st.sampled_from([b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"host"]),
        st.sampled_from([MODERN[-1].encode(), LEGACY[-1].encode(), b"tools/call"]) | st.binary(max_size=20),
    ),
    max_size=5,
)


@given(bodies | st.lists(bodies, max_size=3) | values, pairs)
@example(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("x")["params"]}, [(b"mcp-name", b"=?base64?=")]
)
def test_any_body_with_any_headers_has_a_route(body: Any, headers: list[tuple[bytes, bytes]]) -> None:
    found = Headers(headers)
    route = classify(decode(json.dumps(body).encode()), found)

    if isinstance(route, Refused):
        assert route.status == 400
        assert len(route.failure.error.message) < 400
    elif route != "modern":
        assert isinstance(legacy_revision(route, found, LEGACY[-1]), str | Refused)
    else:
        assert MODERN[-1].encode() in {value.strip(b" \t") for _, value in headers}
