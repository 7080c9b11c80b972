"""Headers by name, any text as a header's value, and media types."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedalus_mcp_transports.http_headers import (
    ConflictingHeader,
    Headers,
    accepts,
    decode_value,
    encode_value,
    is_json,
)


def test_a_header_is_found_by_its_name_without_the_blanks_round_it() -> None:
    """HTTP-59."""
    headers = Headers([(b"mcp-method", b" \ttools/call\t "), (b"host", b"h\xe9")])

    assert headers.one(b"mcp-method") == "tools/call"
    assert headers.one(b"host") == "h\u00e9"
    assert headers.one(b"mcp-name") is None
    assert headers.joined(b"mcp-name") is None
    assert headers.joined(b"host") == b"h\xe9"
    assert headers.all(b"mcp-name") == []


def test_the_same_value_twice_is_one_value() -> None:
    headers = Headers([(b"mcp-name", b"a "), (b"host", b"h"), (b"mcp-name", b" a")])

    assert headers.one(b"mcp-name") == "a"
    assert headers.all(b"mcp-name") == ["a", "a"]


def test_two_different_values_are_refused_when_the_one_is_asked_for() -> None:
    headers = Headers([(b"mcp-name", b"a"), (b"host", b"h"), (b"mcp-name", b"A")])

    with pytest.raises(ConflictingHeader, match=r"'mcp-name' came 2 times") as error:
        headers.one(b"mcp-name")
    assert (error.value.name, error.value.values) == ("mcp-name", ["a", "A"])
    assert headers.one(b"host") == "h"


@given(st.text(), st.text() | st.none())
@example("a" * 600, None)
@example("a" * 600, "a" * 600)
@example("=?base64?YQ==?=", "a")
@example("", None)
def test_what_a_header_is_said_to_say_is_what_is_read_of_it(text: str, sent: str | None) -> None:
    """Or it could be taken for a name that it is not (HTTP-54)."""
    pairs = [] if sent is None else [(b"mcp-name", encode_value(sent).encode())]

    assert not Headers(pairs).says(b"mcp-name", text) or sent == text
    assert Headers([(b"mcp-name", encode_value(text).encode())]).says(b"mcp-name", text) is (len(text) <= 512)
    assert not Headers([*pairs, *pairs, (b"mcp-name", b"a"), (b"mcp-name", b"b")]).says(b"mcp-name", text)


def test_the_lines_of_a_list_are_one_list() -> None:
    headers = Headers([(b"accept", b"application/json"), (b"host", b"h"), (b"accept", b"text/event-stream")])

    assert headers.joined(b"accept") == b"application/json, text/event-stream"
    assert headers.joined(b"host") == b"h"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("us-west1", "us-west1"),
        ("", ""),
        ("with inner  blanks", "with inner  blanks"),
        ("!~", "!~"),
        ("file:///path/to/file%20name.txt", "file:///path/to/file%20name.txt"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        (" ", "=?base64?IA==?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("a\tb", "=?base64?YQli?="),
        ("\x7f", "=?base64?fw==?="),
        ("=?base64?SGVsbG8=?=", "=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?="),
        ("=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="),
        ("=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        ("SGVsbG8=?=", "SGVsbG8=?="),
    ],
    ids=ascii,
)
def test_any_text_has_a_value(text: str, value: str) -> None:
    """HTTP-55, HTTP-56."""
    assert encode_value(text) == value
    assert decode_value(value) == decode_value(value.encode()) == decode_value(f"\t {value} ") == text


def test_a_literal_between_overlapping_markers_is_encoded_but_read_as_it_stands() -> None:
    assert decode_value(encode_value("=?base64?=")) == "=?base64?="
    assert encode_value("=?base64?=") != "=?base64?="
    assert decode_value("=?base64?=") == "=?base64?="


def test_half_of_a_surrogate_pair_has_no_value() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        encode_value("\ud800")


@pytest.mark.parametrize(
    "value",
    [
        "=?base64?SGVsbG8?=",
        "=?base64?SGVs!!!bG8=?=",
        "=?base64?SGVsbG8==?=",
        "=?base64?SGVs bG8=?=",
        "=?base64?=SGVsbG8?=",
        "=?base64?/w==?=",
        "=?base64?7aCA?=",
        "a\tb",
        "a\x00b",
        "a\x7f",
        "caf\u00e9",
    ],
    ids=ascii,
)
def test_a_broken_value_is_refused(value: str) -> None:
    """HTTP-56, HTTP-57: wrong padding, foreign characters, no UTF-8, characters that must be encoded."""
    with pytest.raises(ValueError):  # noqa: PT011 - which of the decoders refuses does not matter
        decode_value(value)
    with pytest.raises(ValueError):  # noqa: PT011
        decode_value(value.encode("latin-1"))


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("=?base64?eA==?=")
def test_every_text_survives_the_way_through_a_header(text: str) -> None:
    """HTTP-55."""
    value = encode_value(text)

    assert decode_value(value) == text
    assert all(" " <= each <= "~" for each in value)
    assert value.strip(" ") == value


@given(st.text() | st.binary())
@example("=?base64?\u00e9?=")
def test_reading_a_value_refuses_by_one_error_alone(value: str | bytes) -> None:
    try:
        text = decode_value(value)
    except ValueError:
        return
    assert decode_value(encode_value(text)) == text


@pytest.mark.parametrize(
    ("content_type", "json"),
    [
        (b"application/json", True),
        ("application/json", True),
        (b"application/json; charset=utf-8", True),
        (b" APPLICATION/JSON\t;x", True),
        (b"text/plain; x=application/json", False),
        (b"application/jsonp", False),
        (b"application/problem+json", False),
        (b"\xff", False),
        (b"", False),
        (None, False),
    ],
)
def test_json_is_told_by_the_media_type_alone(content_type: bytes | str | None, json: bool) -> None:
    """B079."""
    assert is_json(content_type) is json


@pytest.mark.parametrize(
    ("accept", "json", "sse"),
    [
        (None, True, True),
        (b"", True, True),
        (b" , ", True, True),
        (b"*/*", True, True),
        (b"application/json, text/event-stream", True, True),
        (b"Application/JSON,TEXT/Event-Stream", True, True),
        (b"application/json", True, False),
        (b"text/event-stream", False, True),
        (b"application/*", True, False),
        (b"text/*;q=0.1", False, True),
        (b"text/html, image/png", False, False),
        (b"application/json;q=0, text/event-stream", False, True),
        (b"application/json;q=0.000, */*", False, True),
        (b"*/*;q=0, application/json", True, False),
        (b"text/*;q=0, text/event-stream;q=0.5", False, True),
        (b"text/event-stream, text/*;q=0", False, True),
        (b"*/*;q=0", False, False),
        (b"application/json ; charset=utf-8 ; q=1.0 , text/event-stream ; Q=0", True, False),
        (b"application/json;q=, text/event-stream;q=x", True, True),
        (b'text/html;x="a, application/json, b"', False, False),
        (b"text/html" + b", image/png" * 60 + b", application/json", True, False),
        (b"applicationjson", False, False),
    ],
)
def test_what_a_client_reads(accept: bytes | None, json: bool, sse: bool) -> None:
    assert accepts(accept) == (json, sse)
    assert accepts(accept) == (json, sse)  # the second time from memory


@given(st.binary(max_size=600))
def test_any_accept_header_is_read(accept: bytes) -> None:
    assert accepts(accept) in {(True, True), (True, False), (False, True), (False, False)}


@pytest.mark.parametrize(
    "text",
    ['"' + '\\"' * 250_000, '"' * 499_999, '"\\', ',"' * 250_001],
    ids=["escaped", "quotes", "backslash", "list"],
)
def test_quotes_that_are_never_closed_cost_no_more_than_their_length(text: str) -> None:
    """A header as long as a server takes held up its event loop for twelve seconds."""
    assert accepts(text.encode()) == (True, True)
    assert accepts(f"application/json;a={text}".encode()) == (True, False)
