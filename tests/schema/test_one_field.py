"""Forms of one field; how they look to a client is in `interaction`."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.schema import one_field
from dedalus_mcp.schema.forms import FIRST, SELECTS
from dedalus_mcp.schema.one_field import Reads

NONE: dict[str, Any] = {}


class Plan(enum.Enum):
    FREE = "free"
    PAID = "paid"


def schema(asked: Reads[Any], revision: str = SELECTS) -> Any:
    return asked.form.worded(revision)


def refusal(asked: Reads[Any], content: dict[str, Any]) -> str:
    with pytest.raises(McpError) as caught:
        asked.build(content)
    assert caught.value.code == INVALID_PARAMS
    return caught.value.message


@pytest.mark.parametrize("revision", [FIRST, SELECTS])
def test_each_reads_the_one_value(revision: str) -> None:
    """ELIC-07 to ELIC-12."""
    limits = {"minimum": 0, "maximum": None}

    assert one_field.confirmation(revision).build({"confirm": True}) is True
    assert one_field.text(None, {"minLength": 1, "format": None}, revision).build({"text": "t"}) == "t"
    assert one_field.number(int, None, limits, revision).build({"number": 2.0}) == 2
    found = one_field.number(float, None, limits, revision).build({"number": 2})
    assert (found, type(found)) == (2.0, float)
    assert (
        one_field.choice({Plan.FREE: "Nothing", Plan.PAID: "Something"}, revision).build({"choice": "paid"})
        is Plan.PAID
    )


@pytest.mark.parametrize("revision", [FIRST, SELECTS])
def test_what_does_not_fit_is_refused_by_name(revision: str) -> None:
    """ELIC-19."""
    assert refusal(one_field.confirmation(revision), {}) == "confirm: required, expected true or false"
    assert refusal(one_field.number(int, None, {"minimum": 1}, revision), {"number": 0}).startswith("number: ")
    assert refusal(one_field.choice(["a"], revision), {"choice": "b"}) == "choice: expected one of 'a'"


def test_a_default_stands_for_no_answer() -> None:
    assert one_field.text("me", NONE, SELECTS).build({}) == "me"
    assert one_field.number(int, 3, NONE, SELECTS).build({}) == 3
    assert schema(one_field.text("me", NONE, SELECTS))["properties"] == {"text": {"type": "string", "default": "me"}}


def test_limits_that_contradict_are_no_form() -> None:
    with pytest.raises(McpError, match="minLength of property 'text' is greater than its maxLength"):
        one_field.text(None, {"minLength": 2, "maxLength": 1}, SELECTS)
    with pytest.raises(ValueError, match="there is no option"):
        one_field.choice([], SELECTS)


def test_several_options_are_one_field_or_one_each() -> None:
    """ELIC-10, ELIC-13."""
    limits = {"minItems": 1, "maxItems": None}
    now, before = one_field.choices(Plan, limits, SELECTS), one_field.choices(Plan, limits, FIRST)

    assert schema(now)["properties"]["choices"]["items"] == {"type": "string", "enum": ["free", "paid"]}
    assert list(schema(before, FIRST)["properties"]) == ["free", "paid"]
    assert now.build({"choices": ["paid", "free"]}) == [Plan.PAID, Plan.FREE]
    assert before.build({"paid": True}) == [Plan.PAID]
    assert refusal(before, {}) == "choices: expected at least 1, got 0"
    several = one_field.choices({1: "One", 2: "Two"}, {"maxItems": 1}, FIRST)
    assert refusal(several, {"1": True, "2": True}) == "choices: expected at least 0 and at most 1, got 2"
    assert one_field.choices({1: "One"}, NONE, SELECTS).build({"choices": ["1"]}) == [1]
