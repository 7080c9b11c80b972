"""`Form`: a question, ready to be shown and answered."""

from __future__ import annotations

import pytest

from dedalus_mcp import Form, McpError
from dedalus_mcp.types import ElicitRequestParams, ElicitResult

PARAMS = ElicitRequestParams(
    message="Where to?",
    requestedSchema={
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 2},
            "nights": {"type": "integer", "default": 1},
            "not an identifier": {"type": "boolean", "default": False},
        },
        "required": ["city"],
    },
)


def test_a_form_shows_its_fields_in_order() -> None:
    form = Form(PARAMS)

    assert form.message == "Where to?"
    assert [field.name for field in form.fields] == ["city", "nights", "not an identifier"]


def test_accepting_fills_in_the_defaults() -> None:
    """ELIC-15."""
    filled = {"city": "Bonn", "nights": 1, "not an identifier": True}

    assert Form(PARAMS).accept({"not an identifier": True}, city="Bonn").content == filled
    assert Form(PARAMS).accept({"city": "Köln"}, city="Bonn", nights=2).content == {
        "city": "Bonn",
        "nights": 2,
        "not an identifier": False,
    }


@pytest.mark.parametrize(
    ("values", "field"), [({}, "city"), ({"city": "B"}, "city"), ({"city": "Bonn", "nights": "2"}, "nights")]
)
def test_a_value_that_is_missing_or_not_legal_is_named(values: dict[str, object], field: str) -> None:
    with pytest.raises(ValueError, match=field):
        Form(PARAMS).accept(values)


def test_a_no_carries_no_content() -> None:
    assert Form(PARAMS).decline() == ElicitResult(action="decline")
    assert Form(PARAMS).cancel() == ElicitResult(action="cancel")


def test_a_schema_that_is_no_form_is_refused() -> None:
    """ELIC-07."""
    with pytest.raises(McpError) as raised:
        Form(ElicitRequestParams(message="m", requestedSchema={"type": "array"}))
    assert raised.value.code == -32602
