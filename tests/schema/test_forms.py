"""Forms: which schemas are legal, what each revision gets, which content fits."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.schema.fields import Field
from dedalus_mcp.schema.forms import FIRST, MAX_KEPT_SIZE, SELECTS, accept, check, fields, reduce
from dedalus_mcp.schema.forms import form_of as requested

LATEST = "2026-07-28"
unhurried = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
REVISIONS = [FIRST, SELECTS, LATEST]
TITLED = [{"const": "eu", "title": "Europe"}, {"const": "us", "title": "America"}]


def form(required: Any = (), /, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def refusal(call: Any, *arguments: Any) -> str:
    with pytest.raises(McpError) as caught:
        call(*arguments)
    assert caught.value.code == INVALID_PARAMS
    return caught.value.message


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (None, "requestedSchema.type must be 'object'"),
        ([], "requestedSchema.type must be 'object'"),
        ({}, "requestedSchema.type must be 'object'"),
        ({"type": "array"}, "requestedSchema.type must be 'object'"),
        ({"type": ["object"]}, "requestedSchema.type must be 'object'"),
        ({"type": "object"}, "requestedSchema.properties must be a non-empty object"),
        ({"type": "object", "properties": []}, "requestedSchema.properties must be a non-empty object"),
        ({"type": "object", "properties": {}}, "requestedSchema.properties must be a non-empty object"),
        (form(a=1), "Schema for property 'a' must be an object"),
        (form(a={"type": "object"}), "Unsupported schema type 'object' for property 'a'"),
        (form(a={"type": "object", "properties": {}}), "Unsupported schema type 'object' for property 'a'"),
        (form(a={}), "Unsupported schema type 'None' for property 'a'"),
        (form(a={"type": None}), "Unsupported schema type 'None' for property 'a'"),
        (form(a={"type": "null"}), "Unsupported schema type 'null' for property 'a'"),
        (form(b={"type": "string"}, a={"type": ["string"]}), "Unsupported schema type \"['string']\" for property 'a'"),
    ],
    ids=repr,
)
def test_the_first_rules_have_their_exact_words(schema: Any, message: str, revision: str) -> None:
    """ELIC-07."""
    assert refusal(check, schema, revision) == message


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            {**form(a={"type": "string"}), "required": "a"},
            "requestedSchema.required must be an array of property names",
        ),
        (form(["b"], a={"type": "string"}), "requestedSchema.required names unknown property 'b'"),
        (form([1], a={"type": "string"}), "requestedSchema.required names unknown property 1"),
        (form(a={"type": "string", "title": 1}), "title of property 'a' must be a string"),
        (form(a={"type": "string", "description": None}), "description of property 'a' must be a string"),
        (form(a={"type": "string", "minLength": "1"}), "minLength of property 'a' must be a non-negative integer"),
        (form(a={"type": "string", "maxLength": -1}), "maxLength of property 'a' must be a non-negative integer"),
        (form(a={"type": "string", "maxLength": True}), "maxLength of property 'a' must be a non-negative integer"),
        (form(a={"type": "number", "minimum": "1"}), "minimum of property 'a' must be a number"),
        (form(a={"type": "number", "maximum": float("inf")}), "maximum of property 'a' must be a number"),
        (form(a={"type": "integer", "maximum": False}), "maximum of property 'a' must be a number"),
        (
            form(a={"type": "integer", "minimum": 2, "maximum": 1}),
            "minimum of property 'a' is greater than its maximum",
        ),
        (
            form(a={"type": "string", "minLength": 2, "maxLength": 1}),
            "minLength of property 'a' is greater than its maxLength",
        ),
        (
            form(a={"type": "string", "format": "ipv4"}),
            "format of property 'a' must be one of email, uri, date, date-time",
        ),
        (
            form(a={"type": "string", "format": "password"}),
            "Property 'a' is a secret, which no form may ask for: send the user to a page of yours, by URL",
        ),
        (
            form(a={"type": "number", "writeOnly": True}),
            "Property 'a' is a secret, which no form may ask for: send the user to a page of yours, by URL",
        ),
        (form(a={"type": "string", "format": []}), "format of property 'a' must be one of email, uri, date, date-time"),
        (form(a={"type": "string", "enum": []}), "enum of property 'a' must be a non-empty array of strings"),
        (form(a={"type": "string", "enum": [1]}), "enum of property 'a' must be a non-empty array of strings"),
        (form(a={"type": "string", "enum": "ab"}), "enum of property 'a' must be a non-empty array of strings"),
        (
            form(a={"type": "string", "enum": ["a"], "enumNames": []}),
            "enumNames of property 'a' must be strings, one for each value of its enum",
        ),
        (
            form(a={"type": "string", "enum": ["a"], "enumNames": [1]}),
            "enumNames of property 'a' must be strings, one for each value of its enum",
        ),
        (
            form(a={"type": "string", "oneOf": []}),
            "oneOf of property 'a' must be a non-empty array of objects with const and title, both strings",
        ),
        (
            form(a={"type": "string", "oneOf": [{"const": "a"}]}),
            "oneOf of property 'a' must be a non-empty array of objects with const and title, both strings",
        ),
        (
            form(a={"type": "string", "oneOf": [1]}),
            "oneOf of property 'a' must be a non-empty array of objects with const and title, both strings",
        ),
        (form(a={"type": "string", "enum": ["a"], "oneOf": TITLED}), "Property 'a' must have enum or oneOf, not both"),
        (form(a={"type": "integer", "enum": [1]}), "Property 'a' cannot have options: they are for strings only"),
        (form(a={"type": "boolean", "oneOf": TITLED}), "Property 'a' cannot have options: they are for strings only"),
        (form(a={"type": "string", "default": 1}), "Default of property 'a' must be a string"),
        (form(a={"type": "boolean", "default": 1}), "Default of property 'a' must be true or false"),
        (form(a={"type": "integer", "default": True}), "Default of property 'a' must be an integer"),
        (form(a={"type": "integer", "minimum": 2, "default": 1}), "Default of property 'a' must be an integer, >= 2"),
        (form(a={"type": "string", "enum": ["a"], "default": "b"}), "Default of property 'a' must be one of 'a'"),
        (
            form(a={"type": "string", "format": "date", "default": "b"}),
            "Default of property 'a' must be a string, in the format date",
        ),
    ],
    ids=repr,
)
def test_what_the_protocol_forbids_is_refused_by_property(schema: Any, message: str) -> None:
    """ELIC-07 to ELIC-12."""
    for revision in REVISIONS:
        assert refusal(check, schema, revision) == message


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (None, "items of property 'a' must be an object with enum or anyOf"),
        ({"type": "string"}, "items of property 'a' must be an object with enum or anyOf"),
        (
            {"type": "string", "enum": ["a"], "anyOf": TITLED},
            "items of property 'a' must be an object with enum or anyOf",
        ),
        ({"enum": ["a"]}, "items.type of property 'a' must be 'string'"),
        ({"type": "string", "enum": []}, "items.enum of property 'a' must be a non-empty array of strings"),
        (
            {"anyOf": [{"const": 1, "title": "A"}]},
            "items.anyOf of property 'a' must be a non-empty array of objects with const and title, both strings",
        ),
    ],
    ids=repr,
)
def test_multiple_choice_has_a_shape_too(items: Any, message: str) -> None:
    """ELIC-13."""
    assert refusal(check, form(a={"type": "array", "items": items}), LATEST) == message


def test_multiple_choice_has_bounds_and_defaults() -> None:
    items = {"type": "string", "enum": ["a", "b"]}
    many = {"type": "array", "items": items, "minItems": 1, "maxItems": 2, "default": ["a"]}
    check(form(a=many), SELECTS)

    assert (
        refusal(check, form(a={**many, "minItems": 3}), LATEST)
        == "minItems of property 'a' is greater than its maxItems"
    )
    assert (
        refusal(check, form(a={**many, "default": []}), LATEST)
        == "Default of property 'a' must be an array, at least 1 items, at most 2 items"
    )
    assert "Default of property 'a'" in refusal(check, form(a={**many, "default": ["c"]}), LATEST)


def test_multiple_choice_names_the_revision_that_has_it() -> None:
    """ELIC-07."""
    schema = form(a={"type": "array", "items": {"type": "string", "enum": ["a"]}})
    message = (
        "Unsupported schema type 'array' for property 'a': multiple choice needs protocol revision 2025-11-25 or later"
    )

    assert refusal(check, schema, FIRST) == message
    assert refusal(reduce, schema, FIRST) == message
    assert reduce(schema, SELECTS) == schema


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
def test_older_revisions_have_no_forms(revision: str) -> None:
    assert "2025-06-18 or later" in refusal(check, form(a={"type": "string"}), revision)


@pytest.mark.parametrize("revision", [SELECTS, LATEST])
@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"type": "string", "x-hint": 1, "pattern": "^a", "readOnly": [], "minLength": 1}, {"minLength": 1}),
        ({"type": "string", "enum": ["b"], "format": "email", "minLength": 9, "examples": ["b"]}, {"enum": ["b"]}),
        (
            {"type": "string", "oneOf": [{"const": "b", "title": "B", "x": 1}]},
            {"oneOf": [{"const": "b", "title": "B"}]},
        ),
        ({"type": "integer", "multipleOf": 2, "minLength": 1, "maximum": 3}, {"maximum": 3}),
        ({"type": "boolean", "minimum": 1, "title": "T", "description": "D"}, {"title": "T", "description": "D"}),
        (
            {"type": "array", "uniqueItems": True, "items": {"type": "string", "enum": ["b"], "minLength": 1}},
            {"items": {"type": "string", "enum": ["b"]}},
        ),
    ],
    ids=repr,
)
def test_unknown_keywords_are_ignored_and_not_sent(given: Any, sent: Any, revision: str) -> None:
    """ELIC-07 to ELIC-13, AMB-14: a strict client must find nothing that the protocol does not know."""
    schema = {**form(a=given), "x-form": 1, "additionalProperties": False}
    check(schema, revision)

    assert reduce(schema, revision) == form(a={"type": given["type"], **sent})


def test_a_schema_that_comes_again_is_not_worked_out_again() -> None:
    schema = form(["a"], a={"type": "string", "default": "x"})
    kept = requested(schema)
    again = requested(copy.deepcopy(schema))
    schema["properties"]["a"]["default"] = "y"

    assert again is kept
    assert requested(schema) is not kept
    assert kept.accept({}) == {"a": "x"}


def test_a_schema_too_long_for_any_person_is_not_kept() -> None:
    schema = form(a={"type": "string", "description": "x" * MAX_KEPT_SIZE})

    assert requested(schema) is not requested(schema)
    assert accept({"a": "b"}, schema) == {"a": "b"}


def test_what_is_no_json_is_judged_by_the_same_rules() -> None:
    schema = form(a={"type": "string", "default": "x", "x-hint": object()})

    assert accept({}, schema) == {"a": "x"}
    assert refusal(accept, {}, form(a={"type": object()})).startswith("Unsupported schema type")


def test_the_first_revision_gets_its_own_words() -> None:
    """ELIC-11, ELIC-12, ELIC-14."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **form(
            ["a"],
            a={"type": "string", "oneOf": TITLED, "default": "eu", "title": "Region"},
            b={"type": "boolean", "default": True},
            c={"type": "integer", "default": 3, "minimum": 1},
            d={"type": "string", "enum": ["x"], "enumNames": ["X"]},
            e={"type": "string", "default": ""},
        ),
    }
    before = copy.deepcopy(schema)

    assert reduce(schema, FIRST) == form(
        ["a"],
        a={"type": "string", "enum": ["eu", "us"], "enumNames": ["Europe", "America"], "title": "Region"},
        b={"type": "boolean", "default": True},
        c={"type": "integer", "minimum": 1},
        d={"type": "string", "enum": ["x"], "enumNames": ["X"]},
        e={"type": "string"},
    )
    assert reduce(schema, SELECTS) == schema
    assert schema == before


def test_options_in_a_drafts_words_go_out_in_the_final_ones() -> None:
    """ELIC-13."""
    schema = form(a={"type": "array", "items": {"oneOf": TITLED}})

    assert reduce(schema, LATEST) == form(a={"type": "array", "items": {"anyOf": TITLED}})
    assert accept({"a": ["eu"]}, schema) == {"a": ["eu"]}


FORM = form(
    ["name", "size"],
    name={"type": "string", "minLength": 1, "maxLength": 5},
    size={"type": "integer", "minimum": 1},
    ratio={"type": "number", "maximum": 1},
    sure={"type": "boolean", "default": False},
    mail={"type": "string", "format": "email"},
    region={"type": "string", "oneOf": TITLED, "default": "eu"},
    tags={"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "default": ["a"], "maxItems": 2},
)


def test_content_that_fits_comes_back_with_the_defaults() -> None:
    """ELIC-16, ELIC-19."""
    content = accept({"name": "n", "size": 3.0}, FORM)

    assert content == {"name": "n", "size": 3, "sure": False, "region": "eu", "tags": ["a"]}
    assert isinstance(content["size"], int)
    content["tags"].append("b")
    assert FORM["properties"]["tags"]["default"] == ["a"]
    full = {"name": "n", "size": 1, "ratio": 0.5, "sure": True, "mail": "a@b.c", "region": "us", "tags": ["b", "a"]}
    assert accept(full, FORM) == full


@pytest.mark.parametrize(
    ("field", "value", "legal"),
    [
        ("name", 1, "name: expected a string, at least 1 characters, at most 5 characters, got an integer"),
        ("name", "", "name: expected a string, at least 1 characters, at most 5 characters"),
        ("name", None, "name: expected a string, at least 1 characters, at most 5 characters, got null"),
        ("size", True, "size: expected an integer, >= 1, got true or false"),
        ("size", 1.5, "size: expected an integer, >= 1, got a number"),
        ("size", "3", "size: expected an integer, >= 1, got a string"),
        ("size", 0, "size: expected an integer, >= 1"),
        ("ratio", 2, "ratio: expected a number, <= 1"),
        ("ratio", float("nan"), "ratio: expected a number, <= 1, got no JSON value"),
        ("sure", "yes", "sure: expected true or false, got a string"),
        ("mail", "x", "mail: expected a string, in the format email"),
        ("region", "Europe", "region: expected one of 'eu', 'us'"),
        ("tags", "a", "tags: expected an array, at most 2 items, got a string"),
        ("tags", ["c"], "tags[0]: expected one of 'a', 'b'"),
        ("tags", ["a", "b", "a"], "tags: expected an array, at most 2 items"),
        ("other", 1, "other: no such field; legal: name, size, ratio, sure, mail, region, tags"),
    ],
    ids=repr,
)
def test_content_that_does_not_fit_names_the_field(field: str, value: Any, legal: str) -> None:
    """ELIC-16, ELIC-19."""
    assert refusal(accept, {"name": "n", "size": 1, field: value}, FORM) == legal


def test_every_field_at_fault_is_named() -> None:
    assert refusal(accept, {"size": "x", "z": 1}, FORM) == (
        "z: no such field; legal: name, size, ratio, sure, mail, region, tags; "
        "name: required, expected a string, at least 1 characters, at most 5 characters; "
        "size: expected an integer, >= 1, got a string"
    )


def test_no_more_unknown_fields_are_listed_than_can_be_read() -> None:
    message = refusal(accept, {f"x{index}": 1 for index in range(1000)}, form(a={"type": "string"}))

    assert message.count("no such field") == 20


def test_content_is_an_object_or_nothing() -> None:
    schema = form(a={"type": "string"})

    assert accept(None, schema) == {}
    assert accept({}, schema) == {}
    assert refusal(accept, [], schema) == "content must be an object"
    assert refusal(accept, {}, {"type": "object"}) == "requestedSchema.properties must be a non-empty object"


def test_fields_come_in_order_and_know_what_is_required() -> None:
    assert [(field.name, field.required) for field in fields(FORM)] == [
        ("name", True),
        ("size", True),
        ("ratio", False),
        ("sure", False),
        ("mail", False),
        ("region", False),
        ("tags", False),
    ]


lengths = st.integers(0, 4)
words = st.text("abcé,1 ", min_size=1, max_size=4)
texts = st.fixed_dictionaries({}, optional={"title": words, "description": words})


def bounded(lower: str, upper: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    unbounded: dict[str, Any] = {}
    return st.tuples(values, values).map(lambda pair: {lower: min(pair), upper: max(pair)}) | st.just(unbounded)


titled = st.lists(
    st.fixed_dictionaries({"const": words, "title": words}),
    min_size=1,
    max_size=4,
    unique_by=lambda option: option["const"],
)
enums = st.lists(words, min_size=1, max_size=4, unique=True)
properties = st.one_of(
    bounded("minLength", "maxLength", lengths).map(lambda limits: {"type": "string", **limits}),
    st.sampled_from(["email", "uri", "date", "date-time"]).map(lambda name: {"type": "string", "format": name}),
    bounded("minimum", "maximum", st.integers(-5, 5)).map(lambda limits: {"type": "integer", **limits}),
    bounded("minimum", "maximum", st.floats(-5, 5)).map(lambda limits: {"type": "number", **limits}),
    st.just({"type": "boolean"}),
    enums.map(lambda values: {"type": "string", "enum": values}),
    enums.map(lambda values: {"type": "string", "enum": values, "enumNames": [f"<{value}>" for value in values]}),
    titled.map(lambda options: {"type": "string", "oneOf": options}),
    st.tuples(enums, bounded("minItems", "maxItems", st.integers(0, 2))).map(
        lambda pair: {"type": "array", "items": {"type": "string", "enum": pair[0]}, **pair[1]}
    ),
    titled.map(lambda options: {"type": "array", "items": {"anyOf": options}}),
)
described = st.tuples(properties, texts).map(lambda pair: {**pair[0], **pair[1]})
forms = st.dictionaries(words, described, min_size=1, max_size=4).flatmap(
    lambda named: st.lists(st.sampled_from(sorted(named)), unique=True).map(
        lambda required: {"type": "object", "properties": named, "required": required}
    )
)
SAMPLES = {"email": "a@b.example", "uri": "urn:a", "date": "2020-01-02", "date-time": "2020-01-02T03:04:05Z"}


def answer(field: Field) -> Any:
    """Build a legal value from nothing but the description of the field."""
    if field.kind == "text":
        return SAMPLES[field.format] if field.format else "x" * int(field.minimum or 0)
    if field.kind == "boolean":
        return True
    if field.kind == "choice":
        return field.choices[-1].value
    if field.kind == "choices":
        return [field.choices[0].value] * int(field.minimum or 0)
    return field.minimum if field.minimum is not None else 0


@unhurried
@given(schema=forms, revision=st.sampled_from(REVISIONS))
def test_content_built_from_the_fields_fits_in_every_revision(schema: dict[str, Any], revision: str) -> None:
    """ELIC-07 to ELIC-13, ELIC-19."""
    many = any(prop["type"] == "array" for prop in schema["properties"].values())
    assume(not many or revision >= SELECTS)
    content = {field.name: answer(field) for field in fields(schema)}
    sent = reduce(schema, revision)

    check(sent, revision)
    assert accept(content, schema) == content == accept(content, sent)
    jsonschema.validate(content, sent)


@unhurried
@given(schema=forms)
def test_every_option_can_be_typed_as_its_value(schema: dict[str, Any]) -> None:
    for field in fields(schema):
        for choice in field.choices if field.kind == "choice" else ():
            assert field.parse(choice.value).strip() == choice.value.strip()


WORDS = "type properties required a enum oneOf items anyOf const title default format minLength maximum minItems $ref"
json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["object", "string", "array", "integer", "number", "a", "date", "email", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "required",
                    "a",
                    "enum",
                    "oneOf",
                    "items",
                    "anyOf",
                    "const",
                    "title",
                    "default",
                    "format",
                    "minLength",
                    "maximum",
                    "minItems",
                    "enumNames",
                    "$ref",
                    "pattern",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
near = st.dictionaries(
    st.sampled_from(
        ["type", "items", "enum", "oneOf", "format", "default", "minimum", "maxLength", "minItems", "pattern", "$ref"]
    ),
    json,
    max_size=4,
)
nearly = st.tuples(st.sampled_from(["string", "integer", "number", "boolean", "array"]), near).map(
    lambda pair: form(a={"type": pair[0], **pair[1]})
)


@unhurried
@given(schema=json | nearly, content=json, revision=st.sampled_from(REVISIONS))
def test_any_json_is_legal_or_refused_in_words(schema: Any, content: Any, revision: str) -> None:
    codes = {INVALID_PARAMS}
    for call in (lambda: check(schema, revision), lambda: reduce(schema, revision), lambda: fields(schema)):
        try:
            call()
        except McpError as error:
            codes.add(error.code)
    for answered in (content, {"a": content}):
        try:
            accept(answered, schema)
        except McpError as error:
            codes.add(error.code)
    assert codes == {INVALID_PARAMS}
