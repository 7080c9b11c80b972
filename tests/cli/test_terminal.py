"""Where the command line writes, and what moves there."""

from __future__ import annotations

import io
import json
import logging

import pytest

from dedalus_mcp import Context, MCPServer, tool
from dedalus_mcp.cli.terminal import Terminal, cell
from dedalus_mcp.types import ProgressNotificationParams
from tests.cli.playing import play, terminal, written


@pytest.fixture
def lively(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal that can show what moves."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    return Terminal(io.StringIO(), io.StringIO())


def far(progress: float, total: float | None = None, message: str | None = None) -> ProgressNotificationParams:
    return ProgressNotificationParams(progressToken=1, progress=progress, total=total, message=message)


def test_progress_is_a_bar_on_stderr_that_is_gone_afterwards(lively: Terminal) -> None:
    with lively.progress() as hear:
        assert hear is not None
        hear(far(1, 4, "read\x1b[2Jing"))

    shown = written(lively.err.file)
    assert "read\\x1b[2Jing" in shown
    assert " 25%" in shown
    assert shown.endswith("\x1b[?25h\r\x1b[1A\x1b[2K")  # the cursor is back, and the line is empty
    assert written(lively.out.file) == ""


@pytest.mark.parametrize(("progress", "total"), [(1, None), (1e308, 1e-308), (-1, 0), (5, 2), (0.5, -3)])
def test_a_server_may_count_as_it_likes(progress: float, total: float | None, lively: Terminal) -> None:
    with lively.progress() as hear:
        assert hear is not None
        hear(far(progress, total))


def test_where_nobody_looks_no_progress_is_asked_for() -> None:
    with terminal().progress() as hear:
        assert hear is None


def test_a_call_without_progress_has_no_bar(lively: Terminal) -> None:
    with lively.progress():
        pass

    assert written(lively.err.file) == ""


def test_while_something_is_asked_nothing_moves(lively: Terminal) -> None:
    with lively.progress() as hear:
        assert hear is not None
        hear(far(1, 4))
        with lively.paused():
            before = written(lively.err.file)
            hear(far(2, 4))
            assert written(lively.err.file) == before
        assert " 50%" in written(lively.err.file)


def test_a_question_that_outlives_its_call_brings_no_bar_back(lively: Terminal) -> None:
    with lively.progress() as hear:
        assert hear is not None
        hear(far(1, 4))
        question = lively.paused()
        question.__enter__()
    before = written(lively.err.file)
    question.__exit__(None, None, None)

    assert written(lively.err.file) == before


def test_a_cell_is_one_paragraph_and_no_markup() -> None:
    assert cell("[red]a\n\x1bb[/]").plain == "[red]a \\x1bb[/]"


def test_json_is_written_so_that_it_can_be_read_and_does_nothing() -> None:
    there = terminal()

    there.emit({"a": "\x9b\u202e\x7f", "b": [1]}, indent=0)

    assert written(there.out.file) == '{"a":"\\u009b\\u202e\\u007f","b":[1]}\n'
    assert json.loads(written(there.out.file))["a"] == "\x9b\u202e\x7f"


async def test_what_the_library_says_of_itself_is_a_line_and_once() -> None:
    @tool
    async def noisy(ctx: Context) -> None:
        for _ in range(3):
            logging.getLogger("dedalus_mcp").warning("odd\x1b %s", "thing")

    server = MCPServer("desk")
    server.collect(noisy)

    loud = await play(server, "call", "@", "noisy")
    quiet = await play(server, "call", "@", "noisy", "--quiet")

    assert (loud.err, quiet.err) == ("odd\\x1b thing\n", "")
    assert logging.getLogger("dedalus_mcp").handlers == []
