"""`dedalus-mcp doctor`: what it says, and how it ends."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Generator
from typing import Any

import pytest

from dedalus_mcp.cli.doctor import add_arguments, doctor
from dedalus_mcp.cli.exits import DONE, LOST, MISUSED, REFUSED
from dedalus_mcp.cli.terminal import Terminal
from tests.cli.acting import PAGE
from tests.cli.desk import desk
from tests.cli.patient import Ward
from tests.cli.test_doctor_examination import ASYNCIO, PATHS
from tests.process.ports import free_port, wait_until_it_listens
from tests.sources import ROOT
from tests.test_documents import fenced

SERVER = "import json, sys; from tests.cli.desk import desk; desk().run(**json.loads(sys.argv[1]))"


async def run(target: Any, *arguments: str) -> tuple[int, str, str]:
    parser = ArgumentParser()
    add_arguments(parser, ["stands", "for"])
    options = parser.parse_args(arguments)
    options.target = target
    out, err = io.StringIO(), io.StringIO()
    status = await doctor(options, Terminal(out, err, json=options.json, quiet=options.quiet))
    return status, out.getvalue(), err.getvalue()


@pytest.fixture
def port() -> Generator[int]:
    """Where a server of ours listens."""
    found = free_port()
    settings = json.dumps({"transport": "streamable-http", "port": found, "sse_path": "/sse"})
    command = [sys.executable, "-c", SERVER, settings]
    with subprocess.Popen(command, env=PATHS, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until_it_listens(process, found)
            yield found
        finally:
            process.terminate()


async def test_a_server_that_is_well_ends_with_zero() -> None:
    status, written, error = await run(desk(), "--call")

    assert status == DONE
    assert written.splitlines()[-1].startswith("0 failed, 0 warned, ")
    assert "passed  initialize            2025-11-25 2025-06-18 2025-03-26 2024-11-05" in written
    assert error == ""


async def test_what_is_wrong_is_shown_with_what_is_legal_where_that_is_said_and_the_remedy() -> None:
    status, written, _ = await run(Ward("tool-names"), "--quiet")

    assert status == DONE, "nothing failed: it is only warned of"
    assert written.splitlines() == [
        'warned  tool-names            2026-07-28  "a tool": not a legal name',
        "        legal: The name of a tool has 1 to 128 characters: letters, digits, '_', '-' and '.'.",
        "               MCP 2026-07-28, server/tools (TOOL-04)",
        "        mend:  Rename it; what people read goes into `title`.",
        written.splitlines()[-1],
    ]


async def test_the_exit_code_says_that_something_failed_or_that_nobody_was_there() -> None:
    assert (await run(Ward("ping")))[0] == REFUSED
    assert (await run(Ward("reach")))[0] == LOST


@ASYNCIO
async def test_the_page_shows_what_is_seen_of_a_server_that_prints_to_its_stdout() -> None:
    """STDIO-02, on a real child."""
    page = next(block.source for block in fenced(PAGE, "text") if "dedalus-mcp doctor" in block.source)
    command = [sys.executable, "-m", "tests.cli.patient", "stdout"]

    status, written, _ = await run(command, "--env", f"PYTHONPATH={PATHS['PYTHONPATH']}", "--cwd", str(ROOT), "--quiet")

    assert status == REFUSED
    assert written.splitlines() == page.splitlines()[1:]


async def test_json_says_all_of_each_check() -> None:
    status, written, _ = await run(Ward("ping"), "--json")

    failed = [each for each in json.loads(written) if each["outcome"] == "failed"]
    assert status == REFUSED
    assert failed == [
        {
            "id": "ping",
            "outcome": "failed",
            "revision": "2025-11-25",
            "seen": 'error -32601 "refused"',
            "legal": "`ping` is answered with an empty result.",
            "source": "MCP 2025-11-25, basic/utilities/ping",
            "rule": "LIFE-11",
            "remedy": "Answer `ping` with {} at any time, before `notifications/initialized` too.",
        }
    ]


async def test_nothing_that_a_server_says_is_obeyed_by_the_terminal() -> None:
    command = "printf '\\033]0;owned\\007\\n'; printf '\\033[2Jlast words' >&2; exit 3"
    _, written, _ = await run(["sh", "-c", command], "--timeout", "5")

    assert "last words" in written
    assert "\x1b" not in written
    assert "\x07" not in written


@pytest.mark.parametrize("timeout", ["0", "-1", "nan", "inf"])
async def test_a_timeout_that_is_none_is_refused(timeout: str) -> None:
    status, _, error = await run(desk(), "--timeout", timeout)

    assert status == MISUSED
    assert "--timeout" in error


@ASYNCIO
async def test_a_server_of_ours_passes_as_a_program() -> None:
    command = [sys.executable, "-c", SERVER, "{}"]
    status, written, _ = await run(command, "--env", f"PYTHONPATH={PATHS['PYTHONPATH']}", "--cwd", str(ROOT), "--quiet")

    assert (status, len(written.splitlines())) == (DONE, 1), written


@ASYNCIO
async def test_a_server_of_ours_passes_over_http(port: int) -> None:
    status, written, _ = await run(f"http://127.0.0.1:{port}/mcp", "--quiet", "--call")

    assert (status, len(written.splitlines())) == (DONE, 1), written


@ASYNCIO
async def test_a_server_with_the_older_transport_alone_is_examined_by_that(port: int) -> None:
    """HTTP-79."""
    status, written, _ = await run(f"http://127.0.0.1:{port}/sse", "--quiet")

    assert status == DONE
    assert [line.split()[1] for line in written.splitlines() if line.startswith(("failed", "warned"))] == [
        "older-transport"
    ]
