"""`dedalus-mcp inspect`."""

from __future__ import annotations

import json

import pytest

from dedalus_mcp import MCPServer, tool
from dedalus_mcp.types.revisions import REVISIONS
from tests.cli.desk import desk
from tests.cli.playing import play


async def test_everything_that_a_server_has_is_shown() -> None:
    played = await play(desk(), "inspect", "@")

    assert played.status == 0
    lines = [" ".join(line.split()) for line in played.out.splitlines()]
    for line in (
        "A desk 1.2 desk",
        "Ask, then write.",
        "Tools",
        "add a: integer Add two numbers.",
        "b?: number = 1.5",
        'kind?: "api" | "web" = "web"',
        "tags?: array of string",
        "Resources",
        "desk://note text/plain The note on the desk.",
        "desk://notes/{name} A note by its name.",
        "Prompts",
        "greet who Greet somebody",
        "how?",
    ):
        assert line in lines


@pytest.mark.parametrize("revision", REVISIONS)
async def test_json_has_all_of_it(revision: str) -> None:
    played = await play(desk(), "inspect", "@", "--json", "--revision", revision)

    shown = json.loads(played.out)
    assert (shown["server"]["name"], shown["revision"]) == ("desk", revision)
    assert [found["name"] for found in shown["tools"]] == ["add", "echo", "fail", "work", "picture_of"]
    assert [found["uri"] for found in shown["resources"]] == ["desk://note", "desk://picture"]
    assert [found["uriTemplate"] for found in shown["resourceTemplates"]] == ["desk://notes/{name}"]
    assert [found["name"] for found in shown["prompts"]] == ["greet"]
    assert shown["tools"][0]["inputSchema"]["required"] == ["a"]
    assert played.err == ""


async def test_what_is_said_of_a_tools_effects_is_shown() -> None:
    @tool(annotations={"readOnlyHint": True, "idempotentHint": True})
    async def look() -> None:
        """Look."""

    server = MCPServer("desk")
    server.collect(look)

    played = await play(server, "inspect", "@")

    assert "reads only, may be repeated" in played.out


async def test_an_empty_server_is_shown_too() -> None:
    played = await play(MCPServer("empty"), "inspect", "@")

    assert played.status == 0
    assert played.out.startswith("empty 0\nMCP ")


async def test_no_text_of_the_server_reaches_the_terminal_as_more_than_text() -> None:
    @tool("t\x1b[5mick", description="[bold]x[/bold] \x1b]52;c;eA==\x07 :smile:\nsecond line")
    async def trick(a: str = "\x9b2J") -> None:
        pass

    server = MCPServer("n\x1b[2J", instructions="\u202eback\rwards")
    server.collect(trick)

    played = await play(server, "inspect", "@")
    as_json = await play(server, "inspect", "@", "--json")

    for text in (played.out, as_json.out):
        assert not set(text) & {"\x1b", "\x07", "\x9b", "\u202e", "\r"}
    assert "[bold]x[/bold]" in played.out
    assert ":smile: second line" in played.out
    assert json.loads(as_json.out)["instructions"] == "\u202eback\rwards"
