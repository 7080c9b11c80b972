"""The pages on how to do things show programs that run as they are, and what is only shown is code."""

from __future__ import annotations

import ast
import json
import os
import sys
from pathlib import Path

import pytest

from dedalus_mcp import MCPClientGroup
from tests.sources import PACKAGES, ROOT
from tests.test_documents import DOCUMENTS, Block, fenced

HOW_TO = ROOT / "docs" / "how-to"
SHOWN = [block for document in DOCUMENTS for block in fenced(document, "py")]


def test_code_that_is_shown_and_not_run_is_what_people_come_from() -> None:
    assert {block.document.name.partition("-")[0] for block in SHOWN} <= {"migrating"}


@pytest.mark.parametrize("block", SHOWN, ids=str)
def test_code_that_is_shown_and_not_run_is_python(block: Block) -> None:
    compile(block.source, str(block), "exec", flags=ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


async def test_a_desktop_application_starts_the_server_of_its_page_by_the_entry_of_its_page(tmp_path: Path) -> None:
    page = HOW_TO / "desktop-host.md"
    program, texts = tmp_path / "server.py", tmp_path / "texts"
    texts.mkdir()
    (texts / "tea.txt").touch()
    program.write_text(next(fenced(page, "python")).source)
    (entry,) = fenced(page, "json")
    configuration = json.loads(entry.source)
    notes = configuration["mcpServers"]["notes"]
    assert Path(notes["command"]).is_absolute()
    assert Path(notes["args"][0]).name == program.name

    notes |= {"command": sys.executable, "args": [str(program)]}
    notes["env"] |= {"NOTES_ROOT": str(texts), "PYTHONPATH": os.pathsep.join(map(str, PACKAGES.values()))}
    async with MCPClientGroup(configuration) as group:
        result = await group.call_tool("notes__find_notes", {"word": "tea"})

    assert result.structuredContent == {"result": ["tea.txt"]}
