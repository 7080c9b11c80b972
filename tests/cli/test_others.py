"""`dedalus-mcp prompt`, `read` and `complete`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.desk import desk
from tests.cli.playing import play


async def test_a_prompt_is_rendered() -> None:
    played = await play(desk(), "prompt", "@", "greet", "who=ann=e")

    assert (played.status, played.out, played.err) == (0, "Greet somebody\nuser:\nGreet ann=e\n", "")


async def test_a_prompt_as_json() -> None:
    played = await play(desk(), "prompt", "@", "greet", "who=ann", "--json")

    assert json.loads(played.out)["messages"][0]["content"]["text"] == "Greet ann"


async def test_an_argument_that_is_missing_is_the_servers_to_name() -> None:
    played = await play(desk(), "prompt", "@", "greet")

    assert (played.status, played.out) == (1, "")
    assert "who" in played.err


async def test_an_argument_without_a_value_is_refused() -> None:
    played = await play(desk(), "prompt", "@", "greet", "who")

    assert (played.status, played.err) == (2, "error: an argument is NAME=VALUE, not 'who'\n")


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("desk://note", "a note\\x1b]0;owned\\x07\n"),
        ("desk://notes/mine", "note mine\n"),
        ("desk://picture", "[image/png, 4 bytes]\n"),
    ],
)
async def test_a_resource_is_read(uri: str, shown: str) -> None:
    played = await play(desk(), "read", "@", uri)

    assert (played.status, played.out, played.err) == (0, shown, "")


async def test_a_resource_is_written_to_a_file_byte_for_byte(tmp_path: Path) -> None:
    picture, note = tmp_path / "picture.png", tmp_path / "note"

    first = await play(desk(), "read", "@", "desk://picture", "--output", str(picture))
    await play(desk(), "read", "@", "desk://note", "--output", str(note))

    assert (first.status, first.out, first.err) == (0, "", f"4 bytes written to {picture}\n")
    assert (picture.read_bytes(), note.read_bytes()) == (b"\x89PNG", b"a note\x1b]0;owned\x07")


async def test_a_file_that_cannot_be_written_ends_it_with_2(tmp_path: Path) -> None:
    played = await play(desk(), "read", "@", "desk://picture", "--output", str(tmp_path))

    assert played.status == 2
    assert played.err.startswith("error: --output: ")


async def test_a_resource_that_is_not_there_ends_it_with_1() -> None:
    played = await play(desk(), "read", "@", "desk://nothing")

    assert (played.status, played.out) == (1, "")
    assert "desk://nothing" in played.err


async def test_suggestions_are_lines() -> None:
    played = await play(desk(), "complete", "@", "prompt", "greet", "who", "an", "how=loud")

    assert (played.status, played.out, played.err) == (0, "ann\nanton\n", "")


async def test_nothing_may_be_typed_yet() -> None:
    played = await play(desk(), "complete", "@", "prompt", "greet", "who", "", "--json")

    assert json.loads(played.out)["completion"]["values"] == ["ann", "anton", "bob"]


async def test_what_completes_nothing_ends_it_with_1() -> None:
    played = await play(desk(), "complete", "@", "resource", "desk://none/{x}", "x", "")

    assert (played.status, played.out) == (1, "")
