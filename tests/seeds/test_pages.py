"""The translations say what the documents say: the same blocks with other words in them, and each runs."""

from __future__ import annotations

import ast
import hashlib
import re

import pytest

from dedalus_mcp import MCPClient
from tests.seeds.blocks import NAMES, module, sources
from tests.seeds.servers import PROMPTS, elicitation, prompts
from tests.seeds.test_elicitation import NO, YES, User
from tests.sources import ROOT

AS_WRITTEN = {"elicitation": "e65eab4161a37d32", "prompts": "98e9c73a555ae0a4"}
"""The hashes of the documents' texts, without spaces and marks."""

ASKERS = ("params", "actions", "actions")
HINDI = re.compile(r"[\u0900-\u097f]+")


def without_words(text: str) -> str:
    """The code, with nothing left of what stands in a string that is written in a human language."""
    tree = ast.parse(f"async def block():\n{re.sub('^', '    ', text, flags=re.MULTILINE)}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\W|^[A-Z]", node.value):
            node.value = ""
        if isinstance(node, ast.JoinedStr):  # languages put things in an order of their own
            node.values = sorted((part for part in node.values if isinstance(part, ast.FormattedValue)), key=ast.dump)
    return ast.dump(tree)


@pytest.mark.parametrize("document", NAMES)
def test_the_words_of_a_document_are_as_they_were_written(document: str) -> None:
    page = (ROOT / "docs" / "seeds" / f"{document}.hi.md").read_text(encoding="utf-8")
    text = re.sub(r"^(?:<.*>|```\w*)$|^\[(.*)\]\(#\S+\)$", lambda mark: mark[1] or "", page, flags=re.MULTILINE)
    bare = re.sub(r"[\s`#•-]", "", text)

    assert hashlib.sha256(bare.encode()).hexdigest()[:16] == AS_WRITTEN[document]


@pytest.mark.parametrize("document", NAMES)
def test_a_translated_page_has_the_code_of_the_original(document: str) -> None:
    original, translated = sources(f"{document}.hi"), sources(document)

    assert {name: without_words(text) for name, text in translated.items()} == {
        name: without_words(text) for name, text in original.items()
    }


@pytest.mark.parametrize("document", NAMES)
def test_a_translated_page_is_translated_altogether(document: str) -> None:
    page = (ROOT / "docs" / "seeds" / f"{document}.md").read_text(encoding="utf-8")

    assert HINDI.findall(page.replace("[हिन्दी]", "")) == []


async def test_the_translated_blocks_on_elicitation_run() -> None:
    form = {"name": "a"}
    user = User({"name": "abc"}, {"type": "web"}, YES, YES, form, form, NO)
    async with MCPClient.connect(elicitation(document="elicitation"), elicitation=user) as client:
        calls = [
            ("create_project", None),
            ("deploy", {"env": "prod"}),
            *((name, None) for name in ASKERS),
        ]
        said = [(await client.call_tool(*call)).text for call in calls]
    async with MCPClient.connect(elicitation(document="elicitation"), revision="2025-06-18") as client:
        said.append((await client.call_tool("error_handling")).text)

    assert said == [
        "Created abc",
        "Deployed to prod",
        "accept: {'name': 'a'}",
        "Got: {'name': 'a'}",
        "User declined",
        "Elicitation unavailable: Client does not advertise the elicitation capability",
    ]
    assert [params.message for params in user.asked][:3] == [
        "Project name:",
        "Project type (web/api/cli):",
        "Create web project 'abc'?",
    ]


async def test_the_translated_blocks_on_prompts_run() -> None:
    server = prompts("prompts")
    rendered = [await server.invoke_prompt(name.replace("_", "-"), arguments={"text": "hi"}) for name in PROMPTS[:6]]

    assert [result.messages[-1].text for result in rendered] == [
        "Review the following python code.",
        "Translate this to English: hi",
        "Summarize this document. Focus: []",
        "Write yesterday/today/blockers.",
        "Summarize current DB health and recent anomalies.",
        "Analyze this python code for bugs, style and security.",
    ]
    module("prompts", "code_review", "plain_test")["test_code_review_prompt"]()
    await module("prompts", "code_review", "server_test")["test_prompt_rendering"]()
