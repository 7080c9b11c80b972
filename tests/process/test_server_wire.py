"""What a server process puts on its stdout, and what it makes of its stdin: lines, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.process.busy_server import ODD
from tests.process.child import Child, child

BUSY = "tests.process.busy_server"
MIB = 1024 * 1024


@pytest.fixture
def marks(tmp_path: Path) -> str:
    return str(tmp_path / "marks")


def echo(running: Child, id: object, text: str) -> None:
    assert running.tool(id, "echo", text=text)["content"][0]["text"] == text


def test_nothing_that_a_tool_prints_reaches_the_wire(marks: str) -> None:
    """STDIO-01, STDIO-02, B053: print, descriptors, children; and children get no byte of the wire to read."""
    with child(BUSY, marks) as running:
        running.open()
        assert running.tool(1, "prints")["content"][0]["text"] == "printed"
        assert running.tool(2, "children")["structuredContent"] == {"result": ["0"]}
        echo(running, 3, "on")
        running.close_stdin()
        assert running.wait() == 0
    for line in (
        "before serving",
        "from print",
        "from sys.stdout",
        "from descriptor 1",
        "from a child",
        "from a shell",
    ):
        assert line in running.stderr
    assert len(running.lines) == 4  # hear() has read each of them as JSON
    assert all(json.loads(line)["id"] in ("init", 1, 2, 3) for line in running.lines)


def test_line_breaks_of_all_kinds_stay_inside_their_message(marks: str) -> None:
    """RPC-13, STDIO-01, B058: escaped on the way out, read both ways on the way in."""
    with child(BUSY, marks) as running:
        running.open()
        assert running.tool(1, "odd")["content"][0]["text"] == ODD
        for escaped in (True, False):
            message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
            params = {"params": {"name": "echo", "arguments": {"text": ODD}}}
            running.say_bytes(json.dumps({**message, **params}, ensure_ascii=escaped).encode() + b"\n")
            assert running.reply(2)["result"]["content"][0]["text"] == ODD
    wire = b"".join(running.lines)
    assert "\u2028".encode() not in wire
    assert "\u2029".encode() not in wire
    assert wire.count(b"\n") == len(running.lines)


def test_big_messages_pass_both_ways(marks: str) -> None:
    """B059: 8 MiB, whole and in chunks."""
    with child(BUSY, marks) as running:
        running.open()
        assert len(running.tool(1, "big", size=8 * MIB)["content"][0]["text"]) == 8 * MIB
        echo(running, 2, "y" * 8 * MIB)
        line = b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"z"}}}\n'
        for byte in line:
            running.say_bytes(bytes([byte]))
        assert running.reply(3)["result"]["content"][0]["text"] == "z"


def test_line_ends_of_all_kinds_are_accepted(marks: str) -> None:
    """B056, B059, B065: a mark of byte order, CRLF, empty lines, and no line end at the last one."""
    with child(BUSY, marks) as running:
        ping = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}'
        running.say_bytes(b"\xef\xbb\xbf" + ping % 1 + b"\n")
        assert running.reply(1)["result"] == {}
        running.say_bytes(b"\r\n\n  \n" + ping % 2 + b"\r\n" + b"\r\n" + ping % 3)
        assert running.reply(2)["result"] == {}
        running.close_stdin()
        assert running.reply(3)["result"] == {}
        assert running.wait() == 0


def test_sync_tools_keep_nobody_waiting(marks: str) -> None:
    """LIFE-11, B064, B139: three run side by side; pings and other tools are answered while they wait."""
    with child(BUSY, marks) as running:
        running.open()
        for id in range(2):
            running.say(id=id, method="tools/call", params={"name": "meet", "arguments": {}})
        running.say(id="p", method="ping")
        assert running.hear()["id"] == "p"
        echo(running, "e", "meanwhile")
        running.say(id=2, method="tools/call", params={"name": "meet", "arguments": {}})
        assert {running.hear()["result"]["content"][0]["text"] for _ in range(3)} == {"met"}


def test_nobody_reads_stderr_and_the_server_goes_on(marks: str) -> None:
    """B152: it logs nothing by itself, and leaves the program's logging alone."""
    with child(BUSY, marks) as running:
        running.open()
        for id in range(100):
            echo(running, id, "x")
        running.close_stdin()
        assert running.wait() == 0
    assert running.stderr.split() == ["before", "serving"]
    assert "returned" in Path(marks).read_text()  # after it has compared the root logger's settings
