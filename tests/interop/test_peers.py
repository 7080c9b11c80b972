"""The peers among themselves: what this folder drives them with is right, whatever ours does."""

from __future__ import annotations

import pytest

from tests.interop.peers import OFFICIAL_SERVER, Inspector, Mcpdo, official_client


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_the_official_client_and_server_agree(revision: str) -> None:
    steps: list[list[object]] = [
        ["call_tool", "add", {"a": 1, "b": 2}],
        ["call_tool", "confirm", {"env": "prod"}],
        ["answer", "accept", {"approve": True}],
        ["call_tool", "confirm", {"env": "prod"}],
        ["get_prompt", "nope", {}],
    ]

    said = official_client(revision, steps, OFFICIAL_SERVER)

    added, cancelled, accepted, unknown = said["outcomes"]
    assert said["revision"] == revision
    assert added["structuredContent"] == {"result": 3}
    assert cancelled["content"][0]["text"] == "cancel"
    assert accepted["content"][0]["text"] == "prod: approve=True reason="
    assert [asked["message"] for asked in said["asked"]] == ["Deploy to prod?"] * 2
    assert set(unknown) == {"error"}


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_says_how_a_call_ended(era: str, inspector: Inspector) -> None:
    call = ("--method", "tools/call", "--tool-name")

    code, added = inspector(era, OFFICIAL_SERVER, *call, "add", "--tool-args-json", '{"a": 1, "b": 2}')
    assert (code, added["result"]["structuredContent"]) == (0, {"result": 3})
    code, failed = inspector(era, OFFICIAL_SERVER, *call, "fail")
    assert (code, failed["result"]["isError"]) == (5, True)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_mcpdo_answers_what_it_is_asked(era: str, mcpdo: Mcpdo) -> None:
    name = f"@official-{era}"

    assert mcpdo.connect(name, era, OFFICIAL_SERVER)["protocolEra"] == era
    asked = mcpdo(name, "tools/call", "confirm", "env:=prod")["elicitationPending"]
    assert asked["message"] == "Deploy to prod?"
    answered = mcpdo(name, "elicitation/respond", asked["elicitationId"], "approve:=true")
    assert answered["content"] == [{"type": "text", "text": "prod: approve=True reason="}]
