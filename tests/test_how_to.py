"""The pages on how to do things show programs that run as they are, and what is only shown is code."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from pathlib import Path

import pytest

import dedalus_mcp
from dedalus_mcp import MCPClientGroup
from tests.sources import PACKAGES, ROOT
from tests.test_documents import DOCUMENTS, Block, fenced

NAMES_OF_0_7 = """
__version__ types MCPServer MCPClient Context get_context ServerConfig SamplingConfig ElicitationConfig PingConfig
NotificationFlags Icon TransportSecuritySettings ASGIRunConfig NotificationSink DefaultNotificationSink
AuthorizationConfig JWTValidator JWTValidatorConfig Binding Connection SecretKeys SecretValues HttpMethod HttpRequest
HttpResponse DispatchResponse DispatchError DispatchErrorCode MCPConnectionError ToolError ToolErrorCode
ConnectionResolutionError
CapabilitySpec ToolSpec ResourceSpec ResourceTemplateSpec PromptSpec CompletionSpec CompletionResult tool resource
resource_template prompt completion progress extract_spec
"""
HOW_TO = ROOT / "docs" / "how-to"
SHOWN = [block for document in DOCUMENTS for block in fenced(document, "py")]


def test_code_that_is_shown_and_not_run_is_what_people_come_from() -> None:
    assert {block.document.name.partition("-")[0] for block in SHOWN} <= {"migrating"}


@pytest.mark.parametrize("block", SHOWN, ids=str)
def test_code_that_is_shown_and_not_run_is_python(block: Block) -> None:
    compile(block.source, str(block), "exec", flags=ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_those_who_come_from_version_0_7_read_what_became_of_each_name() -> None:
    page = HOW_TO / "migrating-from-dedalus-mcp-0.7.md"
    imported = {
        alias.name
        for block in fenced(page, "python")
        for node in ast.walk(ast.parse(block.source))
        if isinstance(node, ast.ImportFrom) and node.module == "dedalus_mcp"
        for alias in node.names
    }
    named = set(re.findall(r"`(\w+)`", page.read_text()))

    assert set(NAMES_OF_0_7.split()) - imported - named == set()
    assert set(dedalus_mcp.__all__) & set(NAMES_OF_0_7.split()) == imported & set(NAMES_OF_0_7.split())


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
