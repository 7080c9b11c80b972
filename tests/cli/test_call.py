"""`dedalus-mcp call`."""

from __future__ import annotations

import json

from tests.cli.desk import desk
from tests.cli.playing import play


async def test_arguments_are_read_as_the_tools_schema_says_and_the_result_is_shown() -> None:
    played = await play(desk(), "call", "@", "add", "a=1", "b=2")

    assert (played.status, played.out, played.err) == (0, "3.0\n", "")


async def test_json_is_the_whole_result_and_nothing_else() -> None:
    played = await play(desk(), "call", "@", "echo", "text=1", "count=2", "--json")

    assert played.status == 0
    assert json.loads(played.out)["structuredContent"] == {
        "text": "1",
        "count": 2,
        "flag": False,
        "kind": "web",
        "tags": None,
        "options": None,
    }


async def test_a_failed_tool_ends_the_program_with_1_and_its_words_obey_nobody() -> None:
    played = await play(desk(), "call", "@", "fail")

    assert (played.status, played.out, played.err) == (1, "", "error: no \\x1b[2Jluck\n")
