"""What is registered can be removed while clients are connected; the capability stays."""

from __future__ import annotations

import pytest

from dedalus_mcp import MCPServer, prompt, resource, resource_template, tool
from dedalus_mcp.types.revisions import REVISIONS
from tests.interaction.raw import serving


@tool
async def one() -> None: ...


@tool
async def two() -> None: ...


@prompt("p")
def p(arguments: dict[str, str]) -> list[tuple[str, str]]:
    return []


@resource("a://r")
def r() -> str:
    return "r"


@resource_template("a://t/{x}")
def t(x: str) -> str:
    return x


def offering() -> MCPServer:
    server = MCPServer("test")
    server.collect(one, two, p, r, t)
    return server


async def test_what_was_removed_is_neither_listed_nor_found() -> None:
    server = offering()
    server.tools.remove("one")

    assert server.tool_names == ["two"]
    async with serving(server) as raw:
        await raw.open("2025-11-25")
        assert [each["name"] for each in (await raw.call(1, "tools/list"))["result"]["tools"]] == ["two"]
        assert (await raw.tool(2, "one"))["error"]["code"] == -32602


@pytest.mark.parametrize("revision", REVISIONS)
async def test_what_was_offered_once_is_answered_with_empty_lists_when_all_of_it_is_gone(revision: str) -> None:
    """DISC-05: a session has been told of the capability."""
    server = offering()
    async with serving(server) as raw:
        await raw.open(revision)
        server.tools.remove("one")
        server.tools.remove("two")
        server.prompts.remove("p")
        server.resources.remove("a://r")
        server.resources.remove_template("a://t/{x}")

        for method, member in (
            ("tools/list", "tools"),
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ):
            assert (await raw.call(method, method))["result"][member] == []
        reply = await raw.call(1, "resources/read", uri="a://r")
        assert reply["error"]["code"] == (-32602 if revision == "2026-07-28" else -32002)
    assert server.capabilities.tools is not None


def test_what_is_not_there_cannot_be_removed() -> None:
    server = offering()

    for remove in (
        server.tools.remove,
        server.prompts.remove,
        server.resources.remove,
        server.resources.remove_template,
    ):
        with pytest.raises(KeyError, match="no-such"):
            remove("no-such")
