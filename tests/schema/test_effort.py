"""`Effort`: what checking by somebody else's schema takes is known before it is done."""

from __future__ import annotations

from typing import Any

import pytest

from dedalus_mcp.schema.effort import MAX_UNFOLDED, Effort

INTEGER: dict[str, Any] = {"type": "integer"}
TREE = {"properties": {"next": {"items": {"$ref": "#"}}, "value": INTEGER}}
BOTH_WAYS = {"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}, INTEGER]}


def doubling(levels: int, word: str) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        str(level): {word: [{"$ref": f"#/$defs/{level + 1}"}] * 2} for level in range(levels)
    }
    return {"$ref": "#/$defs/0", "$defs": {**definitions, str(levels): INTEGER}}


def anew(levels: int, word: str) -> dict[str, Any]:
    schema = INTEGER
    for _ in range(levels):
        schema = {"allOf": [schema], word: False}
    return schema


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf", "prefixItems", "items"])
def test_references_that_multiply_are_too_much(word: str) -> None:
    """Sixty definitions in a few kilobytes are more checks than can ever be made."""
    with pytest.raises(ValueError, match=f"more than {MAX_UNFOLDED} checks of one value"):
        Effort(doubling(60, word))

    assert Effort(doubling(6, word)).allows(1)


@pytest.mark.parametrize("word", ["unevaluatedItems", "unevaluatedProperties"])
def test_what_is_done_anew_at_each_level_is_too_much(word: str) -> None:
    with pytest.raises(ValueError, match="checks of one value"):
        Effort(anew(60, word))

    assert Effort(anew(6, word)).allows(1)


def test_a_schema_of_many_parts_is_too_much() -> None:
    with pytest.raises(ValueError, match="checks of one value"):
        Effort({"items": {"allOf": [INTEGER] * (MAX_UNFOLDED + 1)}})


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "other.json"},
        {"$ref": "#name"},
        {"$ref": "#/$defs/a%20b"},
        {"$ref": 1},
        {"items": {"$dynamicRef": "#x"}},
        {"not": {"$recursiveRef": "#"}},
        {"if": {"$id": "https://elsewhere.example/", "$ref": "#"}},
    ],
    ids=str,
)
def test_what_cannot_be_followed_here_is_not_guessed_at(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"refers to|an \$id of its own"):
        Effort(schema)


def test_a_schema_that_comes_back_once_may_be_followed_to_any_depth() -> None:
    assert Effort(TREE).allows({"next": [{"next": nested(100)}]})
    assert Effort({"$id": "https://here.example/", "$ref": "", "items": {"$ref": "#"}}).allows(nested(100))


def test_one_that_comes_back_twice_may_be_followed_as_far_as_that_is_no_hardship() -> None:
    """Each level of the value doubles what is to be done; a value of 128 levels is a few hundred bytes."""
    effort = Effort(BOTH_WAYS)

    assert effort.allows(nested(8))
    assert not effort.allows(nested(30))


def test_a_large_value_is_measured_against_the_size_of_the_schema() -> None:
    effort = Effort({"items": {"allOf": [INTEGER] * 1000}})

    assert effort.allows([1] * 10_000)
    assert not effort.allows([1] * 100_000)
    assert not Effort({}).allows([1] * 1_000_001)
    assert not Effort({"items": BOTH_WAYS}).allows([nested(7)] * 100_000)


def test_pointers_lead_through_objects_and_arrays_and_those_that_lead_nowhere_cost_nothing() -> None:
    many = {"allOf": [INTEGER] * MAX_UNFOLDED}

    for target in ("#/$defs/a~1b~0", "#/anyOf/1"):
        with pytest.raises(ValueError, match="checks of one value"):
            Effort({"$defs": {"a/b~": many}, "anyOf": [True, {"$ref": "#/x"}], "x": {}, **_at(target, many)})
    assert Effort({"anyOf": [{"$ref": "#/anyOf/9"}, {"$ref": "#/anyOf/0/x/y"}, {"$ref": "#/nowhere"}]}).allows(1)


def _at(target: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"not": {"$ref": target}, "anyOf": [True, schema]} if "anyOf" in target else {"not": {"$ref": target}}
