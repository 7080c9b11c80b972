"""The lifecycle seen by the server: which terms a request is answered under, without a loop."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    McpError,
)
from dedalus_mcp.session import DEFAULT_LOG_LEVEL, ServerSession, Terms, negotiate
from dedalus_mcp.types import Capability, ClientCapabilities, ElicitationCapability, Implementation, Root
from dedalus_mcp.types import InitializeRequestParams as Params
from dedalus_mcp.types.meta import CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY, PROTOCOL_VERSION_KEY
from dedalus_mcp.types.methods import REQUESTS
from dedalus_mcp.types.revisions import LATEST, LATEST_LEGACY, LEGACY, MODERN, REVISIONS

ME = Implementation(name="me", version="1")
WITH_FORMS = ClientCapabilities(elicitation=ElicitationCapability(form=Capability()))
ENVELOPE: dict[str, Any] = {PROTOCOL_VERSION_KEY: LATEST, CLIENT_CAPABILITIES_KEY: {}}


def hello(version: str = LATEST_LEGACY) -> Params:
    return Params(protocolVersion=version, capabilities=WITH_FORMS, clientInfo=ME)


def agreed(version: str = LATEST_LEGACY) -> ServerSession:
    session = ServerSession()
    session.initialize(hello(version))
    return session


def code(session: ServerSession, method: str, meta: Any) -> int:
    with pytest.raises(McpError) as raised:
        session.terms(method, meta)
    return raised.value.code


@pytest.mark.parametrize("version", LEGACY)
def test_a_legacy_version_that_is_spoken_is_agreed_on(version: str) -> None:
    """LIFE-03."""
    terms = ServerSession().initialize(hello(version))

    assert terms.revision == negotiate(version) == version
    assert not terms.modern


@pytest.mark.parametrize("version", ["2099-01-01", "", *MODERN])
def test_any_other_version_is_answered_with_the_newest_legacy_one(version: str) -> None:
    """LIFE-03, LIFE-15: a modern version is none that a handshake could agree on."""
    assert agreed(version).terms("ping", None).revision == negotiate(version) == LATEST_LEGACY


def test_what_was_agreed_holds_for_later_requests() -> None:
    """LIFE-16."""
    session = agreed()
    terms = session.terms("tools/list", None)

    assert terms is session.agreed
    assert terms.client_info == ME
    assert terms.capabilities == WITH_FORMS
    assert terms.log_level == DEFAULT_LOG_LEVEL


def test_a_second_handshake_is_refused_and_changes_nothing() -> None:
    session = agreed("2025-06-18")
    first = session.agreed

    with pytest.raises(McpError, match="initialized already") as raised:
        session.initialize(hello("2025-11-25"))
    assert raised.value.code == INVALID_REQUEST
    assert session.agreed is first


def test_ping_and_initialize_need_no_session() -> None:
    """LIFE-07, LIFE-11."""
    for method in ("ping", "initialize"):
        terms = ServerSession().terms(method, None)

        assert terms.capabilities == ClientCapabilities()
        assert terms.client_info is None
        assert terms.log_level is None


def test_anything_else_needs_a_session_or_an_envelope_and_is_told_both() -> None:
    with pytest.raises(McpError, match=r"`initialize`.*protocolVersion.*clientCapabilities") as raised:
        ServerSession().terms("tools/list", {"progressToken": 1})
    assert raised.value.code == INVALID_REQUEST
    assert code(ServerSession(), "no/such", None) == INVALID_REQUEST


def test_a_modern_method_without_an_envelope_is_told_what_is_missing() -> None:
    """DISC-06."""
    with pytest.raises(McpError, match="protocolVersion") as raised:
        ServerSession().terms("server/discover", None)
    assert raised.value.code == INVALID_PARAMS


def test_an_envelope_is_the_terms_of_that_request_alone() -> None:
    """VER-06, VER-07: with or without a session, no era is locked."""
    for session in (ServerSession(), agreed()):
        before = session.agreed
        terms = session.terms(
            "tools/list",
            {
                PROTOCOL_VERSION_KEY: LATEST,
                CLIENT_CAPABILITIES_KEY: {"roots": {}},
                CLIENT_INFO_KEY: {"name": "other", "version": "2"},
                LOG_LEVEL_KEY: "error",
            },
        )

        assert terms.modern
        assert terms.revision == LATEST
        assert terms.client_info == Implementation(name="other", version="2")
        assert terms.capabilities.roots is not None
        assert terms.capabilities.elicitation is None
        assert terms.log_level == "error"
        assert session.agreed is before


def test_a_request_without_a_log_level_gets_no_logs() -> None:
    """LOG-03."""
    assert ServerSession().terms("tools/list", ENVELOPE).log_level is None


@pytest.mark.parametrize(
    ("member", "value"),
    [
        (PROTOCOL_VERSION_KEY, None),
        (PROTOCOL_VERSION_KEY, 1),
        (CLIENT_CAPABILITIES_KEY, None),
        (CLIENT_CAPABILITIES_KEY, []),
        (CLIENT_CAPABILITIES_KEY, {"roots": 1}),
        (CLIENT_INFO_KEY, {"name": "nameless"}),
        (LOG_LEVEL_KEY, "loud"),
        (LOG_LEVEL_KEY, 3),
    ],
    ids=repr,
)
def test_an_envelope_with_a_bad_member_is_refused_by_its_name(member: str, value: Any) -> None:
    """LOG-06."""
    with pytest.raises(McpError) as raised:
        ServerSession().terms("tools/list", {**ENVELOPE, member: value})

    assert raised.value.code == INVALID_PARAMS
    assert member in raised.value.message


def test_an_unknown_modern_version_is_refused_with_those_that_are_spoken() -> None:
    """VER-01."""
    for version in ("2099-01-01", *LEGACY):
        with pytest.raises(McpError) as raised:
            agreed().terms("tools/list", {**ENVELOPE, PROTOCOL_VERSION_KEY: version})

        assert raised.value.code == UNSUPPORTED_PROTOCOL_VERSION
        assert raised.value.data == {"supported": list(MODERN), "requested": version}


def test_a_method_that_the_revision_does_not_have_is_not_found() -> None:
    for method in ("no/such", "server/discover", "sampling/createMessage"):
        assert code(agreed(), method, None) == METHOD_NOT_FOUND
    for method in ("no/such", "ping", "initialize", "logging/setLevel"):
        assert code(agreed(), method, ENVELOPE) == METHOD_NOT_FOUND


def test_a_long_method_is_not_echoed_whole() -> None:
    with pytest.raises(McpError) as raised:
        agreed().terms("x" * 10_000, None)
    assert len(raised.value.message) < 200


def test_a_sessions_log_level_is_set_for_its_later_requests() -> None:
    """LOG-02."""
    session, other = agreed(), agreed()
    session.set_log_level("error")

    assert session.terms("tools/list", None).log_level == "error"
    assert other.terms("tools/list", None).log_level == DEFAULT_LOG_LEVEL
    with pytest.raises(McpError, match="not initialized") as raised:
        ServerSession().set_log_level("error")
    assert raised.value.code == INVALID_REQUEST


def test_a_session_that_does_not_last_has_the_terms_that_it_was_given() -> None:
    terms = Terms("2025-06-18", ME, WITH_FORMS, "info")
    session = ServerSession(terms, lasting=False)

    assert session.terms("tools/list", None) is terms
    assert session.agreed is terms


def test_a_session_that_does_not_last_promises_nothing() -> None:
    """LOG-02: the level that holds is as good as set; another one would be forgotten."""
    session = ServerSession(Terms("2025-06-18", ME, WITH_FORMS, "info"), lasting=False)
    session.set_log_level("info")

    with pytest.raises(McpError, match="stays at 'info'") as level:
        session.set_log_level("error")
    assert level.value.code == INTERNAL_ERROR
    assert session.terms("ping", None).log_level == "info"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(REVISIONS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["roots", "elicitation", "form", "name", "version", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.sampled_from([PROTOCOL_VERSION_KEY, CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY, "progressToken"])
METAS = st.none() | st.dictionaries(KEYS, JSON) | st.dictionaries(KEYS, JSON).map(lambda meta: {**ENVELOPE, **meta})


@given(
    session=st.sampled_from([None, *LEGACY]),
    method=st.sampled_from([*REQUESTS, "no/such"]) | st.text(max_size=8),
    meta=METAS,
)
def test_any_meta_gives_terms_or_an_error_of_the_right_code(
    session: str | None, method: str, meta: dict[str, Any] | None
) -> None:
    state = ServerSession() if session is None else agreed(session)
    modern = meta is not None and PROTOCOL_VERSION_KEY in meta
    try:
        terms = state.terms(method, meta)
    except McpError as error:
        legacy_codes = {INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS}
        modern_codes = {INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION}
        allowed = error.code in (modern_codes if modern else legacy_codes)
    else:
        assert isinstance(terms, Terms)
        assert terms.modern == modern
        allowed = terms.revision in REQUESTS[method].client_sends
    assert allowed


def test_roots_are_forgotten_when_they_have_changed() -> None:
    terms = Terms("2025-11-25", None, ClientCapabilities(), None)
    terms.roots = (Root(uri="file:///a"),)
    terms.forget_roots()

    assert not terms.roots
    assert terms.roots_version == 1
