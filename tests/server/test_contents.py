"""`contents_of`: what a resource's function may return."""

from __future__ import annotations

import base64
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from dedalus_mcp import types
from dedalus_mcp.server.contents import contents_of
from dedalus_mcp.types import BlobResourceContents, ReadResourceResult, TextResourceContents

URI = "a://b"


class Point(msgspec.Struct):
    x: int


def read(value: Any, mime_type: str | None = None) -> list[Any]:
    return list(contents_of(value, URI, mime_type).contents)


def text(
    of: str, mime_type: str | None = "text/plain", uri: str = URI, meta: dict[str, Any] | None = None
) -> TextResourceContents:
    return TextResourceContents(uri=uri, text=of, mimeType=mime_type, meta=meta)


def blob(of: bytes, mime_type: str | None, uri: str = URI, meta: dict[str, Any] | None = None) -> BlobResourceContents:
    data = base64.standard_b64encode(of).decode()
    return BlobResourceContents(uri=uri, blob=data, mimeType=mime_type, meta=meta)


def test_text_is_text() -> None:
    assert read("é") == [text("é")]
    assert read("", "text/markdown") == [text("", "text/markdown")]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize("data", [b"", b"a", b"\xff\xfe\xfb", bytes(range(256)) * 9], ids=len)
def test_bytes_are_standard_base64_in_one_line(kind: Callable[[bytes], Any], data: bytes) -> None:
    """B151, RES-05, RES-17."""
    assert read(kind(data)) == [blob(data, "application/octet-stream")]
    assert read(kind(data), "image/png") == [blob(data, "image/png")]


@pytest.mark.parametrize(
    ("value", "json"),
    [
        ({"a": "é"}, '{"a":"é"}'),
        ([1, "x"], '[1,"x"]'),
        (["x", "y"], '["x","y"]'),
        ([], "[]"),
        ((1, 2), "[1,2]"),
        (7, "7"),
        (True, "true"),
        (None, "null"),
        (Point(1), '{"x":1}'),
        ({"text": 7}, '{"text":7}'),
        ({"text": "x", "more": 1}, '{"text":"x","more":1}'),
        ({"text": "x", "blob": "eA=="}, '{"text":"x","blob":"eA=="}'),
        ({"blob": None}, '{"blob":null}'),
        ({"contents": "x"}, '{"contents":"x"}'),
        ({"contents": [], "more": 1}, '{"contents":[],"more":1}'),
    ],
    ids=repr,
)
def test_anything_else_is_its_json(value: Any, json: str) -> None:
    assert read(value) == [text(json, "application/json")]
    assert read(value, "application/problem+json") == [text(json, "application/problem+json")]


def test_contents_keep_their_own_uri_and_meta() -> None:
    """RES-04."""
    part = text("x", None, uri="other://", meta={"a": 1})
    other = blob(b"x", None, uri="more://")

    assert read(part, "text/html") == [part]
    assert read([part, other]) == [part, other]
    assert read((part,)) == [part]


def test_a_mapping_of_contents_needs_to_say_only_what_differs() -> None:
    assert read({"text": "x"}) == [text("x", None)]
    assert read({"text": "x"}, "text/html") == [text("x", "text/html")]
    assert read(MappingProxyType({"text": "x", "mimeType": "a/b", "uri": "o://", "_meta": {"m": 1}}), "text/html") == [
        text("x", "a/b", uri="o://", meta={"m": 1})
    ]
    assert read([{"blob": "eA=="}, {"text": "x"}], "c/d") == [blob(b"x", "c/d"), text("x", "c/d")]


def test_content_blocks_are_taken_for_what_is_in_them() -> None:
    """B151."""
    part = text("x", None, uri="other://")

    assert read(types.ImageContent(data="eA==", mimeType="image/png", meta={"a": 1}), "c/d") == [
        blob(b"x", "image/png", meta={"a": 1})
    ]
    assert read([types.AudioContent(data="eA==", mimeType="audio/wav"), types.TextContent(text="x"), b"y"]) == [
        blob(b"x", "audio/wav"),
        text("x"),
        blob(b"y", "application/octet-stream"),
    ]
    assert read(types.EmbeddedResource(resource=part)) == [part]


def test_a_result_is_itself() -> None:
    result = ReadResourceResult(contents=[text("x")], ttlMs=5, meta={"a": 1})

    assert contents_of(result, URI, None) is result
    members = {"contents": [{"uri": URI, "text": "x", "mimeType": "text/plain"}], "ttlMs": 5, "_meta": {"a": 1}}
    assert contents_of(members, URI, None) == result


@pytest.mark.parametrize("nothing", [ReadResourceResult(contents=[]), {"contents": []}], ids=type)
def test_nothing_is_no_answer(nothing: Any) -> None:
    """RES-09."""
    with pytest.raises(ValueError, match="ResourceNotFound"):
        contents_of(nothing, URI, None)


def test_what_has_no_json_form_is_refused() -> None:
    for value in (object(), float("nan"), {"a": {1, object()}}):
        with pytest.raises(ValueError, match="returned"):
            read(value)


def test_contents_beside_something_else_are_refused() -> None:
    with pytest.raises(ValueError, match="in one list"):
        read([text("x"), "y"])
    with pytest.raises(ValueError, match="in one list"):
        read([b"x", {"a": 1}])


def test_a_generator_is_refused() -> None:
    with pytest.raises(ValueError, match="return a list"):
        read(each for each in "ab")
