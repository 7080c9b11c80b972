"""Content blocks, and what is in a resource."""

from __future__ import annotations

import msgspec
import pytest

from dedalus_mcp import types
from dedalus_mcp.types.methods import RESOURCES_READ


def test_resource_contents_are_told_apart_by_what_they_hold() -> None:
    result = RESOURCES_READ.decode_result(b'{"contents":[{"uri":"a:","text":"t"},{"uri":"b:","blob":"YQ=="}]}')

    assert result.contents == [
        types.TextResourceContents(uri="a:", text="t"),
        types.BlobResourceContents(uri="b:", blob="YQ=="),
    ]
    with pytest.raises(msgspec.ValidationError, match="`text` or `blob`"):
        RESOURCES_READ.decode_result(b'{"contents":[{"uri":"a:"}]}')


def test_a_block_of_an_unknown_type_has_its_type() -> None:
    block = types.UnknownContent(type="hologram", depth=3)

    assert block.type == "hologram"
    assert block == {"type": "hologram", "depth": 3}


def test_pictures_and_sounds_are_made_of_their_bytes() -> None:
    assert types.ImageContent.of(b"\xff\x00", "image/png") == types.ImageContent(data="/wA=", mimeType="image/png")
    assert types.AudioContent.of(b"", "audio/wav") == types.AudioContent(data="", mimeType="audio/wav")
