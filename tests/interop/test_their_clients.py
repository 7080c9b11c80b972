"""Other people's clients against our server: `examples/deploy.py`, over stdio, in both eras."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from tests.interop.peers import Inspector, Mcpdo, official_client
from tests.sources import PACKAGES, ROOT

# Clients pass little of their environment on, so the path to our sources stands in the command.
PATH = os.pathsep.join(str(root) for root in PACKAGES.values())
DEPLOY = ("env", f"PYTHONPATH={PATH}", sys.executable, str(ROOT / "examples" / "deploy.py"))
LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
ASKING = ["2025-06-18", "2025-11-25"]
ERAS = ["legacy", "modern"]


def texts(result: dict[str, Any]) -> list[str]:
    return [block["text"] for block in result["content"]]


@dataclass(frozen=True, slots=True)
class Said:
    """What came of a conversation: the outcome of each step by its label, and what was asked."""

    revision: str
    outcomes: dict[str, Any]
    asked: list[str]


STEPS: dict[str, list[object]] = {
    "tools": ["list_tools"],
    "prompts": ["list_prompts"],
    "review": ["get_prompt", "code-review", {"language": "rust", "focus": "locks"}],
    "incomplete": ["get_prompt", "translate", {}],
    "unknown prompt": ["get_prompt", "no such prompt", {}],
    "unknown tool": ["call_tool", "no such tool", {}],
    "no argument": ["call_tool", "deploy", {}],
}
ANSWERS: dict[str, list[object]] = {
    "yes": ["accept", {"confirm": True}],
    "no": ["accept", {"confirm": False}],
    "decline": ["decline"],
    "cancel": ["cancel"],
}


@pytest.fixture(scope="module", params=[*LEGACY, MODERN])
def said(request: pytest.FixtureRequest) -> Said:
    """One conversation of the official client with our server, at each revision."""
    steps = [*STEPS.values()]
    for answer in ANSWERS.values():
        steps += [["answer", *answer], ["call_tool", "deploy", {"env": "prod"}]]
    heard = official_client(request.param, steps, DEPLOY)
    assert heard["revision"] == request.param
    asked = [question["message"] for question in heard["asked"]]
    return Said(heard["revision"], dict(zip([*STEPS, *ANSWERS], heard["outcomes"], strict=True)), asked)


def test_the_official_client_reads_everything(said: Said) -> None:
    tools, prompts = said.outcomes["tools"]["tools"], said.outcomes["prompts"]["prompts"]
    review = said.outcomes["review"]["messages"]

    assert {"deploy", "create_project"} <= {tool["name"] for tool in tools}
    assert {"code-review", "translate"} <= {prompt["name"] for prompt in prompts}
    assert [message["role"] for message in review] == ["assistant", "user"]
    assert "rust" in review[1]["content"]["text"]


def test_the_official_client_is_told_what_cannot_be_done(said: Said) -> None:
    """TOOL-16, PROMPT-04: what is unknown or lacks an argument is -32602."""
    errors = {name: said.outcomes[name]["error"] for name in ("incomplete", "unknown prompt", "unknown tool")}

    assert {error["code"] for error in errors.values()} == {-32602}
    assert errors["incomplete"]["message"] == "Missing required arguments: text"
    assert said.outcomes["no argument"]["isError"] is True
    assert "env" in texts(said.outcomes["no argument"])[0]


@pytest.mark.parametrize("said", ASKING, indirect=True)
def test_the_official_client_is_asked_and_its_answer_counts(said: Said) -> None:
    assert [texts(said.outcomes[answer]) for answer in ANSWERS] == [
        ["Deployed to prod"],
        ["Deployment cancelled"],
        ["Deployment cancelled"],
        ["Deployment cancelled"],
    ]
    assert said.asked == ["Deploy to prod?"] * 4


@pytest.mark.parametrize("said", [each for each in [*LEGACY, MODERN] if each not in ASKING], indirect=True)
def test_a_tool_that_asks_fails_where_the_revision_has_no_way_to_ask(said: Said) -> None:
    assert [said.outcomes[answer]["isError"] for answer in ANSWERS] == [True] * 4
    assert said.asked == []


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_lists_renders_and_calls(era: str, inspector: Inspector) -> None:
    get = ("--method", "prompts/get", "--prompt-name", "code-review", "--prompt-args", "language=rust")
    call = ("--method", "tools/call", "--tool-name", "deploy", "--tool-args-json", '{"env": 1}')

    listed = inspector(era, DEPLOY, "--method", "tools/list")
    rendered = inspector(era, DEPLOY, *get)
    wrong = inspector(era, DEPLOY, *call)

    assert (listed[0], rendered[0], wrong[0]) == (0, 0, 5)
    assert {"deploy", "create_project"} <= {tool["name"] for tool in listed[1]["result"]["tools"]}
    assert "rust" in rendered[1]["result"]["messages"][1]["content"]["text"]
    assert wrong[1]["result"]["isError"] is True


def test_mcpdo_answers_form_after_form(mcpdo: Mcpdo) -> None:
    assert mcpdo.connect("@deploy", "legacy", DEPLOY)["protocolEra"] == "legacy"

    pending = mcpdo("@deploy", "tools/call", "create_project")
    for answer in ("name:=Ada", "type:=cli"):
        pending = mcpdo("@deploy", "elicitation/respond", pending["elicitationPending"]["elicitationId"], answer)
    asked = pending["elicitationPending"]
    done = mcpdo("@deploy", "elicitation/respond", asked["elicitationId"], "confirm:=true")

    assert asked["requestedSchema"]["properties"] == {"confirm": {"type": "boolean"}}
    assert "Ada" in texts(done)[0]


def test_mcpdo_declines(mcpdo: Mcpdo) -> None:
    mcpdo.connect("@decline", "legacy", DEPLOY)

    asked = mcpdo("@decline", "tools/call", "deploy", "env:=prod")["elicitationPending"]
    declined = mcpdo("@decline", "elicitation/respond", asked["elicitationId"], "--decline")

    assert texts(declined) == ["Deployment cancelled"]


def test_mcpdo_keeps_a_modern_connection(mcpdo: Mcpdo) -> None:
    assert mcpdo.connect("@modern", "modern", DEPLOY)["protocolEra"] == "modern"

    listed = mcpdo("@modern", "tools/list")
    rendered = mcpdo("@modern", "prompts/get", "code-review", "--prompt-args", "language=rust")

    assert {"deploy", "create_project"} <= {tool["name"] for tool in listed["tools"]}
    assert "rust" in rendered["messages"][1]["content"]["text"]
