"""Bodies that are more than they seem."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest

from dedalus_mcp import MCPServer
from tests.interaction.raw import envelope
from tests.transports.asgi import serving


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "gzip, gzip"])
async def test_a_compressed_body_is_never_unfolded(coding: str) -> None:
    """A megabyte of this would be a gigabyte of that."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": envelope()}}
    text = json.dumps(message).encode()
    body = zlib.compress(text) if coding == "deflate" else gzip.compress(text)
    async with serving(MCPServer("s", version="1")) as web:
        answer = await web.client().say(body, content_encoding=coding).ended()

    assert answer.status == 400
    assert "not valid JSON" in answer.body.decode()
