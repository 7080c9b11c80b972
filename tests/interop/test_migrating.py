"""What the pages for those who come from the official SDK show as its code is so, in both of its versions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.interop.install import MCP1, MCP2, python
from tests.interop.peers import SECONDS
from tests.sources import ROOT
from tests.test_documents import fenced

IN_MEMORY = """
from mcp.shared.memory import create_connected_server_and_client_session as connected


async def use(server):
    async with connected(server._mcp_server, elicitation_callback=answer) as session:
        return (await session.call_tool("book", {"flight": "AI 101"})).content[0].text
"""


@pytest.mark.parametrize(
    ("page", "requirement", "more"),
    [("migrating-from-mcp-1.md", MCP1, IN_MEMORY), ("migrating-from-mcp-2.md", MCP2, "")],
    ids=["1.x", "2.x"],
)
def test_code_of_the_official_sdk_on_a_page_does_what_ours_beside_it_does(
    page: str, requirement: str, more: str, tmp_path: Path
) -> None:
    """Its client is used on its server, in memory; in 1.x that takes more than a page needs."""
    blocks = [block.source for block in fenced(ROOT / "docs" / "how-to" / page, "py")]
    program = tmp_path / "theirs.py"
    program.write_text("\n".join([*blocks, more, "import anyio", "print(anyio.run(use, mcp))"]))
    run = [str(python(requirement)), "-c", "import runpy, sys; runpy.run_path(sys.argv[1])", str(program)]

    done = subprocess.run(run, capture_output=True, text=True, timeout=SECONDS, check=False)

    assert done.stdout == "Seat 12\n", done.stderr
