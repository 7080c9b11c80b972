"""Calls whose headers mirror their arguments, or do not: by the tool's own schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET, Raw

from dedalus_mcp.errors import HEADER_MISMATCH
from dedalus_mcp.jsonrpc.messages import Call
from dedalus_mcp_transports.http_headers import Headers
from dedalus_mcp_transports.http_mirrors import Mirrors


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


TOOLS = {
    "plain": schema(region={"type": "string"}),
    "mirrored": schema(region={"type": "string", "x-mcp-header": "Region"}),
    "größe": schema(size={"type": "integer", "x-mcp-header": "Size"}),
    "illegal": schema(region={"type": "array", "x-mcp-header": "Region"}),
}


def call(params: Any, method: str = "tools/call") -> Call:
    return Call("seven", method, params if params is UNSET else Raw(json.dumps(params).encode()))


def headers(**values: str) -> Headers:
    return Headers([(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in values.items()])


def fault(arguments: Any, name: str = "mirrored", **sent: str) -> str | None:
    """What is said of a call of this tool; it is said with the call's own id, as the protocol wants it."""
    found = Mirrors(TOOLS.get).check(call({"name": name, "arguments": arguments}), headers(mcp_name=name, **sent))
    if found is None:
        return None
    assert (found.status, found.failure.id, found.failure.error.code) == (400, "seven", HEADER_MISMATCH)
    return found.failure.error.message


def test_a_header_that_mirrors_its_argument_passes() -> None:
    """HTTP-65."""
    assert fault({"region": "eu"}, mcp_param_region="eu") is None
    assert fault({"region": "eu"}, mcp_param_region="=?base64?ZXU=?=") is None
    assert fault({}) is None
    assert fault(None) is None


@pytest.mark.parametrize(
    ("arguments", "sent", "why"),
    [
        ({"region": "eu"}, {}, "is missing"),
        ({"region": "eu"}, {"mcp_param_region": "us"}, "differs"),
        ({"region": "eu"}, {"mcp_param_region": "=?base64?ZXU?="}, "padding"),
        ({"region": "é"}, {"mcp_param_region": "é"}, "ASCII"),
        ({}, {"mcp_param_region": "eu"}, "has no argument"),
        (None, {"mcp_param_region": "eu"}, "has no argument"),
    ],
)
def test_one_that_does_not_is_refused_under_the_id_of_the_call(arguments: Any, sent: dict[str, str], why: str) -> None:
    """HTTP-65."""
    said = fault(arguments, **sent)

    assert said is not None
    assert said.startswith("Header mismatch: ")
    assert why in said


def test_a_tool_is_found_by_its_name_however_the_header_spells_it() -> None:
    """HTTP-65."""
    mirrors = Mirrors(TOOLS.get)
    params = call({"name": "größe", "arguments": {"size": 4}})

    assert mirrors.check(params, headers(mcp_name="=?base64?Z3LDtsOfZQ==?=", mcp_param_size="4")) is None
    assert mirrors.check(params, headers(mcp_name="=?base64?Z3LDtsOfZQ==?=", mcp_param_size="5")) is not None


def test_headers_that_nothing_mirrors_are_nobodys_business() -> None:
    sent = {"mcp_param_region": "us"}

    assert fault({"region": "eu"}, "plain", **sent) is None
    assert fault({"region": "eu"}, "no such tool", **sent) is None
    others = [call({"name": "mirrored"}, "prompts/get"), call(UNSET)]
    assert [Mirrors(TOOLS.get).check(each, headers(mcp_name="mirrored", **sent)) for each in others] == [None, None]


@pytest.mark.parametrize(
    ("params", "sent"),
    [
        ({"name": "mirrored", "arguments": []}, {"mcp_name": "mirrored"}),
        ([], {"mcp_name": "mirrored"}),
        ({"name": 5}, {"mcp_name": "é"}),
        ({}, {}),
    ],
)
def test_what_is_wrong_with_the_call_itself_is_left_to_those_who_answer_it(params: Any, sent: dict[str, str]) -> None:
    assert Mirrors(TOOLS.get).check(call(params), headers(mcp_param_region="eu", **sent)) is None


def test_annotations_that_break_the_rules_mirror_nothing_and_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """HTTP-63."""
    mirrors = Mirrors(TOOLS.get)
    for _ in range(2):
        assert mirrors.check(call({"name": "illegal"}), headers(mcp_name="illegal", mcp_param_region="eu")) is None

    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith("tool 'illegal' is of no use over HTTP: x-mcp-header of property 'region' needs a type of")


def test_a_tool_that_is_replaced_mirrors_what_the_new_one_does() -> None:
    tools = dict(TOOLS)
    mirrors = Mirrors(tools.get)
    asked = call({"name": "mirrored", "arguments": {"region": "eu"}})
    assert mirrors.check(asked, headers(mcp_name="mirrored")) is not None

    tools["mirrored"] = TOOLS["plain"]

    assert mirrors.check(asked, headers(mcp_name="mirrored")) is None


def test_tools_that_come_and_go_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedalus_mcp_transports.http_mirrors.MAX_KNOWN", 2)
    mirrors = Mirrors(lambda _: TOOLS["mirrored"])

    for name in ("a", "b", "c", "a"):
        call_of = call({"name": name, "arguments": {"region": "eu"}})
        assert mirrors.check(call_of, headers(mcp_name=name, mcp_param_region="eu")) is None
        assert mirrors.check(call_of, headers(mcp_name=name, mcp_param_region="us")) is not None


def test_a_name_that_comes_twice_is_looked_up_all_the_same() -> None:
    twice = Headers([(b"mcp-name", b"mirrored"), (b"mcp-name", b"mirrored"), (b"mcp-param-region", b"us")])

    assert Mirrors(TOOLS.get).check(call({"name": "mirrored", "arguments": {"region": "eu"}}), twice) is not None
