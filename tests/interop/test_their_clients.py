"""Other people's clients against our server: `examples/deploy.py`, over stdio and HTTP, in both eras."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.interop.listening import ours
from tests.interop.peers import Inspector, Mcpdo, official_client, typescript_client
from tests.sources import PACKAGES, ROOT

# Clients pass little of their environment on, so the path to our sources stands in the command.
PATH = os.pathsep.join(str(root) for root in PACKAGES.values())
DEPLOY = ("env", f"PYTHONPATH={PATH}", sys.executable, str(ROOT / "examples" / "deploy.py"))
LISTENING = "import runpy; runpy.run_path('examples/deploy.py')['server'].run('streamable-http', port=0)"
LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
ASKING = ["2025-06-18", "2025-11-25", MODERN]
ERAS = ["legacy", "modern"]
CLIENTS = {"official": official_client, "typescript": typescript_client}

CONVERSATIONS = [
    *[("official", "stdio", revision) for revision in [*LEGACY, MODERN]],
    *[("official", "http", revision) for revision in [*LEGACY, MODERN]],
    *[("typescript", "stdio", revision) for revision in ["2025-11-25", MODERN]],  # it offers no older one
    *[("typescript", "http", revision) for revision in ["2025-11-25", MODERN]],
]

transports = pytest.mark.parametrize("deploy", ["stdio", "http"], indirect=True)


@pytest.fixture(scope="module")
def listening() -> Iterator[str]:
    with ours(LISTENING) as url:
        yield url


@pytest.fixture(scope="module")
def deploy(request: pytest.FixtureRequest, listening: str) -> Sequence[str]:
    """How a client gets to our server: by a command, or by a URL."""
    return DEPLOY if request.param == "stdio" else (listening,)


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


@pytest.fixture(scope="module", params=CONVERSATIONS, ids=" ".join)
def said(request: pytest.FixtureRequest, listening: str) -> Said:
    """One conversation of a client with our server."""
    client, transport, revision = request.param
    steps = [*STEPS.values()]
    for answer in ANSWERS.values():
        steps += [["answer", *answer], ["call_tool", "deploy", {"env": "prod"}]]
    heard = CLIENTS[client](revision, steps, DEPLOY if transport == "stdio" else (listening,))
    assert heard["revision"] == revision
    asked = [question["message"] for question in heard["asked"]]
    return Said(heard["revision"], dict(zip([*STEPS, *ANSWERS], heard["outcomes"], strict=True)), asked)


def those(revisions: Sequence[str]) -> pytest.MarkDecorator:
    """The conversations in these revisions."""
    found = [each for each in CONVERSATIONS if each[2] in revisions]
    return pytest.mark.parametrize("said", found, ids=" ".join, indirect=True)


def test_a_client_reads_everything(said: Said) -> None:
    tools, prompts = said.outcomes["tools"]["tools"], said.outcomes["prompts"]["prompts"]
    review = said.outcomes["review"]["messages"]

    assert {"deploy", "create_project"} <= {tool["name"] for tool in tools}
    assert {"code-review", "translate"} <= {prompt["name"] for prompt in prompts}
    assert [message["role"] for message in review] == ["assistant", "user"]
    assert "rust" in review[1]["content"]["text"]


def test_a_client_is_told_what_cannot_be_done(said: Said) -> None:
    """TOOL-16, PROMPT-04: what is unknown or lacks an argument is -32602."""
    errors = {name: said.outcomes[name]["error"] for name in ("incomplete", "unknown prompt", "unknown tool")}

    assert {error["code"] for error in errors.values()} == {-32602}
    assert errors["incomplete"]["message"] == "Missing required arguments: text"
    assert said.outcomes["no argument"]["isError"] is True
    assert "env" in texts(said.outcomes["no argument"])[0]


@those(ASKING)
def test_a_client_is_asked_and_its_answer_counts(said: Said) -> None:
    assert [texts(said.outcomes[answer]) for answer in ANSWERS] == [
        ["Deployed to prod"],
        ["Deployment cancelled"],
        ["Deployment cancelled"],
        ["Deployment cancelled"],
    ]
    assert said.asked == ["Deploy to prod?"] * 4


def test_a_client_lists_what_our_own_does(said: Said) -> None:
    """The titles and icons of a prompt as far as the revision has them."""
    analyze = next(prompt for prompt in said.outcomes["prompts"]["prompts"] if prompt["name"] == "analyze")

    assert ("title" in analyze) == (said.revision >= "2025-06-18")
    assert ("icons" in analyze) == (said.revision >= "2025-11-25")


@those(["2024-11-05", "2025-03-26"])
def test_a_tool_that_asks_fails_where_the_revision_has_no_way_to_ask(said: Said) -> None:
    assert [said.outcomes[answer]["isError"] for answer in ANSWERS] == [True] * 4
    assert said.asked == []


@transports
@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_lists_renders_and_calls(era: str, deploy: Sequence[str], inspector: Inspector) -> None:
    get = ("--method", "prompts/get", "--prompt-name", "code-review", "--prompt-args", "language=rust")
    call = ("--method", "tools/call", "--tool-name", "deploy", "--tool-args-json", '{"env": 1}')

    listed = inspector(era, deploy, "--method", "tools/list")
    rendered = inspector(era, deploy, *get)
    wrong = inspector(era, deploy, *call)

    assert (listed[0], rendered[0], wrong[0]) == (0, 0, 5)
    assert {"deploy", "create_project"} <= {tool["name"] for tool in listed[1]["result"]["tools"]}
    assert "rust" in rendered[1]["result"]["messages"][1]["content"]["text"]
    assert wrong[1]["result"]["isError"] is True


@transports
@pytest.mark.parametrize("era", ERAS)
def test_mcpdo_answers_form_after_form(era: str, deploy: Sequence[str], mcpdo: Mcpdo) -> None:
    assert mcpdo.connect("@deploy", era, deploy)["protocolEra"] == era

    pending = mcpdo("@deploy", "tools/call", "create_project")
    for answer in ("name:=Ada", "type:=cli"):
        pending = mcpdo("@deploy", "elicitation/respond", pending["elicitationPending"]["elicitationId"], answer)
    asked = pending["elicitationPending"]
    done = mcpdo("@deploy", "elicitation/respond", asked["elicitationId"], "confirm:=true")

    assert asked["requestedSchema"]["properties"] == {"confirm": {"type": "boolean"}}
    assert "Ada" in texts(done)[0]


@transports
@pytest.mark.parametrize("era", ERAS)
def test_mcpdo_declines(era: str, deploy: Sequence[str], mcpdo: Mcpdo) -> None:
    mcpdo.connect("@decline", era, deploy)

    asked = mcpdo("@decline", "tools/call", "deploy", "env:=prod")["elicitationPending"]
    declined = mcpdo("@decline", "elicitation/respond", asked["elicitationId"], "--decline")

    assert texts(declined) == ["Deployment cancelled"]


@transports
def test_mcpdo_keeps_a_modern_connection(deploy: Sequence[str], mcpdo: Mcpdo) -> None:
    assert mcpdo.connect("@modern", "modern", deploy)["protocolEra"] == "modern"

    listed = mcpdo("@modern", "tools/list")
    rendered = mcpdo("@modern", "prompts/get", "code-review", "--prompt-args", "language=rust")

    assert {"deploy", "create_project"} <= {tool["name"] for tool in listed["tools"]}
    assert "rust" in rendered["messages"][1]["content"]["text"]
