"""What the answer to the probe says of a server: every verdict, without a loop."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.client.era import (
    Handshake,
    Remembered,
    Retry,
    Speak,
    after_discover,
    after_refusal,
    is_modern_refusal,
    may_be_older,
)
from dedalus_mcp.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
    ErrorData,
    MCPConnectionError,
    McpError,
    RemoteProtocolError,
)
from dedalus_mcp.types import DiscoverResult, ServerCapabilities
from dedalus_mcp.types.revisions import LATEST, LATEST_LEGACY, LEGACY, MODERN, REVISIONS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(REVISIONS),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["supported", "requested", "x"]), inner)
    ),
    max_leaves=8,
)


def discovered(*versions: str) -> DiscoverResult:
    return DiscoverResult(supportedVersions=list(versions), capabilities=ServerCapabilities())


def unsupported(data: Any) -> McpError:
    return McpError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)


def test_a_server_that_names_our_revision_is_spoken_to() -> None:
    """DISC-04."""
    assert after_discover(discovered("2099-01-01", LATEST, LATEST_LEGACY)) == Speak(LATEST)


def test_a_server_that_names_only_legacy_revisions_is_shaken_hands_with() -> None:
    assert after_discover(discovered("1999-01-01", LATEST_LEGACY)) == Handshake()


@pytest.mark.parametrize("versions", [(), ("2099-01-01",)], ids=repr)
def test_a_server_with_nothing_in_common_is_given_up(versions: tuple[str, ...]) -> None:
    with pytest.raises(RemoteProtocolError, match="no revision in common"):
        after_discover(discovered(*versions))


@pytest.mark.parametrize(
    ("data", "verdict"),
    [
        ({"supported": ["2099-01-01", LATEST]}, Retry(LATEST)),
        ({"supported": [1, None, LATEST]}, Retry(LATEST)),
        ({"supported": [LATEST_LEGACY]}, Handshake()),
        ({"supported": []}, Handshake()),
        ({"supported": LATEST}, Handshake()),
        ({}, Handshake()),
        ("nothing", Handshake()),
        (None, Handshake()),
    ],
    ids=repr,
)
def test_a_refused_version_is_retried_with_one_in_common(data: Any, verdict: object) -> None:
    """VER-02, VER-11: what the server supports decides, not that it refused."""
    assert after_refusal(unsupported(data)) == verdict


def test_a_refused_version_with_nothing_in_common_is_told_with_both_lists() -> None:
    with pytest.raises(RemoteProtocolError) as raised:
        after_refusal(unsupported({"supported": ["2099-01-01"], "requested": LATEST}))

    assert "2099-01-01" in str(raised.value)
    for revision in REVISIONS:
        assert revision in str(raised.value)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (McpError(MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing", {"requiredCapabilities": {"roots": {}}}), "roots"),
        (McpError(HEADER_MISMATCH, "Header mismatch"), "Header mismatch"),
        (McpError(INVALID_PARAMS, "`_meta` member io.modelcontextprotocol/protocolVersion is missing"), "refused"),
    ],
    ids=repr,
)
def test_a_modern_refusal_that_no_retry_cures_is_told(error: McpError, said: str) -> None:
    with pytest.raises(RemoteProtocolError, match=said):
        after_refusal(error)


@pytest.mark.parametrize("code", [METHOD_NOT_FOUND, INVALID_PARAMS, -32600, -32603, -32000, 0, 1, -32002])
def test_any_other_error_is_that_of_a_legacy_server(code: int) -> None:
    """VER-10: the fallback depends on no single code."""
    assert after_refusal(McpError(code, "whatever")) == Handshake()


def test_an_initialize_refused_with_a_modern_version_shows_a_modern_server() -> None:
    """VER-08."""
    assert is_modern_refusal(unsupported({"supported": [LATEST]}))
    assert not is_modern_refusal(unsupported({"supported": [LATEST_LEGACY]}))
    assert not is_modern_refusal(McpError(METHOD_NOT_FOUND, "no", {"supported": [LATEST]}))


class There:
    """Something to connect to."""


def test_a_legacy_target_is_remembered_until_it_turns_out_otherwise() -> None:
    """VER-15."""
    remembered, there, other = Remembered(), There(), There()
    remembered.take(there, LATEST_LEGACY)
    remembered.take(other, LATEST)

    assert remembered.is_legacy(there)
    assert not remembered.is_legacy(other)
    remembered.take(there, LATEST)
    assert not remembered.is_legacy(there)
    remembered.take(there, LATEST_LEGACY)
    remembered.forget(there)
    assert not remembered.is_legacy(there)


@pytest.mark.parametrize("target", ["a string", ["unhashable"], 7], ids=repr)
def test_a_target_that_cannot_be_remembered_is_not(target: object) -> None:
    remembered = Remembered()
    remembered.take(target, LATEST_LEGACY)
    remembered.forget(target)

    assert not remembered.is_legacy(target)


def test_remembering_keeps_no_target_alive() -> None:
    remembered, there = Remembered(), There()
    gone = weakref.ref(there)
    remembered.take(there, LATEST_LEGACY)
    del there
    gc.collect()

    assert gone() is None


@given(
    code=st.sampled_from([UNSUPPORTED_PROTOCOL_VERSION, -32021, -32020, INVALID_PARAMS, 0]) | st.integers(), data=JSON
)
def test_any_refusal_gives_a_verdict_or_one_documented_error(code: int, data: Any) -> None:
    error = McpError(code, "Refused", data)
    try:
        verdict = after_refusal(error)
    except RemoteProtocolError:
        assert not is_modern_refusal(error)
    else:
        assert isinstance(verdict, Retry | Handshake)
        assert is_modern_refusal(error) == isinstance(verdict, Retry)


@given(st.lists(st.sampled_from(REVISIONS) | st.text(max_size=12)))
def test_the_newest_revision_in_common_is_spoken(versions: list[str]) -> None:
    modern = [revision for revision in MODERN if revision in versions]
    try:
        verdict = after_discover(discovered(*versions))
    except RemoteProtocolError:
        assert not set(versions) & set(REVISIONS)
    else:
        assert verdict == (Speak(modern[-1]) if modern else Handshake())
        assert modern or set(versions) & set(LEGACY)


class Saved(dict[str, str]):
    """A store that a program could write to a file."""

    def put(self, key: str, revision: str) -> None:
        self[key] = revision

    def forget(self, key: str) -> None:
        self.pop(key, None)


class Keyed:
    def __init__(self, key: str) -> None:
        self.era_key = key


def test_what_is_known_of_servers_may_be_kept_elsewhere() -> None:
    """VER-16."""
    saved = Saved()
    remembered = Remembered(saved)
    remembered.take(Keyed("https://a"), LATEST_LEGACY)
    remembered.take(Keyed("https://b"), LATEST)

    assert saved == {"https://a": LATEST_LEGACY}
    assert Remembered(saved).is_legacy(Keyed("https://a"))
    Remembered(saved).take(Keyed("https://a"), LATEST)
    assert saved == {}


@pytest.mark.parametrize("entry", ["", "2026-07-28", "1999", "legacy", None, 7], ids=repr)
def test_an_entry_that_names_no_legacy_revision_says_nothing(entry: Any) -> None:
    saved = Saved()
    saved["https://a"] = entry

    assert not Remembered(saved).is_legacy(Keyed("https://a"))


@pytest.mark.parametrize(
    ("status", "error", "older"),
    [
        (400, None, True),
        (404, None, True),
        (405, None, True),
        (403, None, False),
        (406, None, False),
        (500, None, False),
        (None, None, False),
        (400, -32600, True),
        (404, -32600, True),
        (404, METHOD_NOT_FOUND, False),
        (405, METHOD_NOT_FOUND, True),
        (400, UNSUPPORTED_PROTOCOL_VERSION, False),
        (400, -32020, False),
        (400, -32021, False),
    ],
)
def test_what_refuses_initialize_may_have_only_the_older_transport(
    status: int | None, error: int | None, older: bool
) -> None:
    """HTTP-77, HTTP-78: in the words of this call or of none."""
    http = MCPConnectionError("no", status)
    if error is None:
        assert may_be_older(http) is older
        return
    http.error = ErrorData(error, "no")
    mine = McpError(http.error)
    mine.__cause__ = http

    assert may_be_older(http) is older
    assert may_be_older(mine) is older
    assert not may_be_older(McpError(http.error))
