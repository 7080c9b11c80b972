"""A program that is a server gets its arguments as they are."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
import pytest

from dedalus_mcp_transports.stdio import StdioServer
from tests.interaction.reach import PATIENCE

SAYS = "import json, sys; print(json.dumps({'got': sys.argv[1:]}), flush=True); sys.stdin.read()"


def made_in(directory: Path) -> list[Path]:
    return list(directory.iterdir())


async def test_no_argument_is_read_by_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    args = ["; touch made", "$(touch made)", "`touch made`", "| tee made", "*", "~", "--", "", "a\nb", "%PATH%"]
    server = StdioServer(sys.executable, ["-I", "-c", SAYS, *args])

    with anyio.fail_after(PATIENCE):
        wire = await server.open()
        (frame,) = await wire.receive()
        await wire.aclose()

    assert isinstance(frame, bytes)
    assert json.loads(frame)["got"] == args
    assert made_in(tmp_path) == []
