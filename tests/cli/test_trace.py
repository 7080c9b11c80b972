"""`dedalus-mcp trace`: the frames of a conversation of our own, on every kind of target."""

from __future__ import annotations

import io
import json
import re
import shlex
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest

from dedalus_mcp import MCPServer, tool
from dedalus_mcp.cli.exits import DONE, LOST, MISUSED, REFUSED, Misuse
from dedalus_mcp.cli.terminal import Terminal
from dedalus_mcp.cli.trace import add_arguments, calls_of, trace
from dedalus_mcp.testing import REVISIONS, RawPeer, scripted_server
from tests.cli.acting import PAGE, server_of_the_page
from tests.test_documents import fenced


@tool
async def add(a: int, b: int) -> int:
    return a + b


@pytest.fixture
def server() -> MCPServer:
    made = MCPServer("traced")
    made.collect(add)
    return made


async def run(target: Any, *arguments: str) -> tuple[int, str, str]:
    parser = ArgumentParser()
    add_arguments(parser, ["stands", "for"])
    options = parser.parse_args(arguments)
    options.target = target
    out, err = io.StringIO(), io.StringIO()
    status = await trace(options, Terminal(out, err, json=options.json))
    return status, out.getvalue(), err.getvalue()


def entries(written: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.splitlines()]


@pytest.mark.parametrize("revision", REVISIONS)
async def test_both_directions_are_shown_with_the_time_of_each_answer(server: MCPServer, revision: str) -> None:
    call = 'tools/call={"name": "add", "arguments": {"a": 1, "b": 2}}'
    status, written, _ = await run(server, "--json", "--revision", revision, "tools/list", call)

    told = entries(written)
    assert status == DONE
    asked = [each["method"] for each in told if each["from"] == "client" and each["kind"] == "request"]
    assert asked[-2:] == ["tools/list", "tools/call"]
    assert (told[0]["kind"], told[-1]["kind"]) == ("opened", "ended")
    results = [each for each in told if each["kind"] == "result"]
    assert [each["method"] for each in results][-2:] == ["tools/list", "tools/call"]
    assert all(each["took_ms"] >= 0 for each in results)
    assert results[-1]["message"]["result"]["content"][0]["text"] == "3"


async def test_lines_are_one_for_each_frame_and_pretty_ones_have_the_message_below(server: MCPServer) -> None:
    _, lines, _ = await run(server, "--revision", "2025-11-25", "ping")
    _, blocks, _ = await run(server, "--revision", "2025-11-25", "--pretty", "ping")

    assert [line.split()[2:4] for line in lines.splitlines()] == [
        ["→", "opened"],
        ["→", "request"],
        ["←", "result"],
        ["→", "notification"],
        ["→", "request"],
        ["←", "result"],
        ["→", "ended"],
    ]
    assert '      "method": "ping"' in blocks


async def test_an_error_of_the_server_is_in_the_trace_and_in_the_exit_code(server: MCPServer) -> None:
    status, written, _ = await run(server, "--revision", "2025-11-25", "no/such", "ping")

    assert status == REFUSED
    assert "-32601" in written
    assert "ping" in written, "the calls after it are made"
    assert (await run(server, 'tools/call={"name": "add", "arguments": {}}'))[0] == REFUSED


async def test_what_is_no_message_is_shown_too() -> None:
    async def chatty(raw: RawPeer) -> None:
        await raw.say(b"\x1b[2JListening...")
        asked = await raw.hear()
        await raw.say({"id": asked["id"], "error": {"code": -32601, "message": "no"}})
        await raw.hear()

    async with scripted_server(chatty) as target:
        status, written, _ = await run(target)

    assert status != DONE
    assert "junk" in written
    assert "Listening..." in written
    assert "\x1b" not in written


async def test_the_trace_can_go_to_a_file(server: MCPServer, tmp_path: Path) -> None:
    _, written, _ = await run(server, "--output", str(tmp_path / "trace.txt"))

    assert written == ""
    assert "request" in (tmp_path / "trace.txt").read_text(encoding="utf-8")


async def test_a_server_that_ends_is_shown_with_its_last_words() -> None:
    status, written, _ = await run(["sh", "-c", "echo boom >&2; exit 3"])

    assert status == LOST
    assert "boom" in written


@pytest.mark.parametrize("given", ["=", "tools/list=[]", "tools/list={", "tools/list=1"])
def test_what_is_no_call_is_refused(given: str) -> None:
    with pytest.raises(Misuse):
        calls_of([given])


async def test_what_does_not_go_together_is_refused(server: MCPServer, tmp_path: Path) -> None:
    for target, arguments in [
        (server, ["--proxy"]),
        (["sh", "-c", ""], ["--proxy", "ping"]),
        (server, ["tools/list={"]),
        (server, ["--output", str(tmp_path / "none" / "file")]),
    ]:
        status, _, error = await run(target, *arguments)

        assert status == MISUSED
        assert error


async def test_the_page_shows_what_is_seen() -> None:
    page = next(block.source for block in fenced(PAGE, "text") if "dedalus-mcp trace" in block.source).splitlines()

    _, written, _ = await run(server_of_the_page(), *shlex.split(page[0])[4:])

    assert [untimed(line) for line in written.splitlines()[1:]] == [untimed(line) for line in page[2:]]


def untimed(line: str) -> str:
    return re.sub(r"[0-9.]+ ms", "ms", line).strip()
