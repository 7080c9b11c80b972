"""Extensions of the protocol: each side says which it speaks, and reads which the other does."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPClient, MCPServer, prompt, resource, resource_template, tool
from dedalus_mcp.types.revisions import LEGACY
from tests.interaction.raw import serving
from tests.interaction.reach import PATIENCE, text_of

MODERN = "2026-07-28"
THEIRS: dict[str, Any] = {"com.example/theirs": {}}
OURS: dict[str, Any] = {"com.example/ours": {"depth": 2}, "io.modelcontextprotocol/ui": {}}


@tool
async def spoken(ctx: Context) -> dict[str, Any]:
    return {"extensions": ctx.client_capabilities.extensions}


def offering(**settings: Any) -> MCPServer:
    server = MCPServer("s", **settings)
    server.collect(spoken)
    return server


@pytest.mark.parametrize("revision", [*LEGACY, MODERN])
async def test_each_side_knows_what_the_other_speaks_if_the_revision_has_words_for_it(revision: str) -> None:
    """VER-17, VER-21: in every request; legacy revisions know no extensions."""
    ours, theirs = (OURS, THEIRS) if revision == MODERN else (None, None)
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(offering(extensions=OURS), revision=revision, extensions=THEIRS) as client:
            assert client.server_capabilities.extensions == ours
            for _ in range(2):
                assert json.loads(text_of(await client.call_tool("spoken"))) == {"extensions": theirs}


async def test_who_says_nothing_speaks_none() -> None:
    """VER-20."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(offering(), revision=MODERN) as client:
            assert client.server_capabilities.extensions is None
            assert (await client.call_tool("spoken")).structuredContent == {"extensions": None}


@pytest.mark.parametrize("declared", [{"no prefix": {}, "a/b": True}, {}], ids=repr)
async def test_what_the_other_side_declares_is_read_as_it_is(declared: dict[str, Any]) -> None:
    """RPC-30: its ids are its own business."""
    with anyio.fail_after(PATIENCE):
        async with serving(offering()) as raw:
            await raw.open(MODERN, {"extensions": declared})
            assert (await raw.tool(1, "spoken"))["result"]["structuredContent"] == {"extensions": declared}


@pytest.mark.parametrize("id", ["plain", "_x/y", "com example/x"])
def test_an_id_that_is_none_is_refused_where_it_is_given(id: str) -> None:
    """VER-17."""
    with pytest.raises(ValueError, match="an extension's id"):
        MCPServer("s", extensions={id: {}})
    with pytest.raises(ValueError, match="an extension's id"):
        MCPClient.connect("http://127.0.0.1:1/mcp", extensions={id: {}})


@pytest.mark.parametrize(
    ("decorator", "about"), [(tool, "t"), (prompt, "p"), (resource, "a://b"), (resource_template, "a://{b}")]
)
def test_a_key_of_meta_that_is_none_is_refused_where_it_is_given(decorator: Any, about: str) -> None:
    """META-12: by every decorator."""
    with pytest.raises(ValueError, match=r"a key of meta .* not '_hidden'"):
        decorator(about, meta={"_hidden": 1})
