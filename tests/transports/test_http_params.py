"""Arguments mirrored into headers: which, how, and whether they agree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp_transports.http_headers import Headers
from dedalus_mcp_transports.http_params import (
    SAFE_INTEGER,
    Mirror,
    annotation_fault,
    check_params,
    mirrored,
    param_headers,
)


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def annotated(name: Any, kind: Any = "string", **more: Any) -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name, **more}


def headers(**values: str) -> Headers:
    return Headers([(f"mcp-param-{name}".encode(), value.encode("latin-1")) for name, value in values.items()])


REGION = mirrored(schema(region=annotated("Region")))
COUNT = mirrored(schema(count=annotated("Count", "integer")))


def test_annotated_properties_are_found_at_any_depth_in_their_order() -> None:
    found = mirrored(
        schema(
            b=annotated("B"),
            plain={"type": "string"},
            deep=schema(deeper=schema(flag=annotated("Flag", "boolean"))),
            a=annotated("a-1", ["integer", "null"]),
        )
    )

    assert found == (
        Mirror(("b",), "Mcp-Param-B"),
        Mirror(("deep", "deeper", "flag"), "Mcp-Param-Flag"),
        Mirror(("a",), "Mcp-Param-a-1"),
    )


@pytest.mark.parametrize(
    "given_schema",
    [
        {},
        {"type": "object"},
        {"properties": None, "items": True, "allOf": {}, "$defs": []},
        schema(**{"x-mcp-header": {"type": "string"}}),
        schema(a={"type": "object", "default": annotated(""), "enum": [annotated("")], "examples": [annotated("")]}),
    ],
    ids=str,
)
def test_what_is_no_annotation_annotates_nothing(given_schema: dict[str, Any]) -> None:
    assert mirrored(given_schema) == ()
    assert annotation_fault(given_schema) is None


@pytest.mark.parametrize(
    "name", ["", "My Region", "Region:", "R\u00e9gion", "Re\tgion", "a\n", "a\r", 5, None, ["a"]], ids=ascii
)
def test_an_annotation_is_a_token(name: Any) -> None:
    """HTTP-63."""
    fault = annotation_fault(schema(region=annotated(name)))

    assert fault is not None
    assert "property 'region' must be a header name" in fault


@pytest.mark.parametrize(
    "kind",
    ["number", "object", "array", "null", None, [], ["null"], ["string", "integer"], ["number", "null"], {}, 5],
    ids=str,
)
def test_only_strings_integers_and_booleans_can_be_annotated(kind: Any) -> None:
    """HTTP-63."""
    fault = annotation_fault(schema(region=annotated("Region", kind)))

    assert fault is not None
    assert "needs a type of string, integer, boolean" in fault


def test_a_name_is_given_once_whatever_its_case() -> None:
    """HTTP-63."""
    fault = annotation_fault(schema(a=annotated("Region"), b=schema(c=annotated("REGION"))))

    assert fault == "x-mcp-header of property 'b.c' is 'REGION', which another property has already"


@pytest.mark.parametrize(
    "given_schema",
    [
        annotated("Region"),
        schema(a={"type": "array", "items": annotated("Region")}),
        schema(a={"type": "array", "items": [annotated("Region")]}),
        schema(a={"type": "array", "prefixItems": [{}, annotated("Region")]}),
        schema(a={"anyOf": [annotated("Region"), {"type": "null"}]}),
        schema(a={"not": annotated("Region")}),
        {"oneOf": [schema(a=annotated("Region"))]},
        {"allOf": [schema(a=annotated("Region"))]},
        {"if": {}, "then": schema(a=annotated("Region"))},
        {"else": schema(a=annotated("Region"))},
        {"additionalProperties": annotated("Region")},
        {"patternProperties": {"x": annotated("Region")}},
        {"dependentSchemas": {"x": schema(a=annotated("Region"))}},
        {"$ref": "#/$defs/A", "$defs": {"A": schema(a=annotated("Region"))}},
    ],
    ids=str,
)
def test_an_annotation_is_reached_by_properties_alone(given_schema: dict[str, Any]) -> None:
    """HTTP-63."""
    with pytest.raises(ValueError, match="not on a property that `properties` alone lead to"):
        mirrored(given_schema)


def test_a_schema_may_be_nested_deeper_than_the_stack() -> None:
    deep: dict[str, Any] = annotated("Region")
    for _ in range(5000):
        deep = schema(a=deep)

    assert len(mirrored(deep)[0].path) == 5000


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("", ""),
        ("a b", "a b"),
        (" a", "=?base64?IGE=?="),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (True, "true"),
        (False, "false"),
        (42, "42"),
        (-7, "-7"),
        (42.0, "42"),
        (SAFE_INTEGER, "9007199254740991"),
    ],
    ids=ascii,
)
def test_a_value_is_mirrored(value: Any, header: str) -> None:
    """HTTP-64."""
    assert param_headers(REGION, {"region": value, "other": "x"}) == {"Mcp-Param-Region": header}
    assert check_params(REGION, {"region": value}, headers(region=header)) is None


@pytest.mark.parametrize(
    "arguments", [None, {}, {"region": None}, {"region": 1.5}, {"region": []}, {"region": {}}], ids=str
)
def test_what_has_no_value_has_no_header(arguments: dict[str, Any] | None) -> None:
    """HTTP-64."""
    assert param_headers(REGION, arguments) == {}
    assert check_params(REGION, arguments, headers(other="x")) is None
    assert check_params(REGION, arguments, headers(region="eu")) == "header 'Mcp-Param-Region' has no argument (region)"


def test_a_nested_value_is_mirrored() -> None:
    mirrors = mirrored(schema(where=schema(region=annotated("Region"))))

    assert param_headers(mirrors, {"where": {"region": "eu"}}) == {"Mcp-Param-Region": "eu"}
    assert param_headers(mirrors, {"where": "eu"}) == {}
    assert check_params(mirrors, {"where": {"region": "eu"}}, headers()) == (
        "header 'Mcp-Param-Region' is missing (where.region)"
    )


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("eu", "us"),
        ("eu", "EU"),
        ("eu", "=?base64?dXM=?="),
        ("42", "42.0"),
        (True, "True"),
        (True, "1"),
        (1, "true"),
        (42, "43"),
        (42, "42.5"),
        (42, "4.2e1"),
        (42, ""),
        (42, "\xb2"),
        (42, "9" * 5000),
    ],
    ids=ascii,
)
def test_a_header_that_differs_is_a_fault(value: Any, header: str) -> None:
    """HTTP-65."""
    fault = check_params(REGION, {"region": value}, headers(region=header))

    assert fault is not None
    assert "'Mcp-Param-Region'" in fault


@pytest.mark.parametrize("header", ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "a\tb", "caf\xe9"], ids=ascii)
def test_a_header_that_cannot_be_read_is_a_fault(header: str) -> None:
    """HTTP-65."""
    fault = check_params(REGION, {"region": "Hello"}, headers(region=header))

    assert fault is not None
    assert fault.startswith("header 'Mcp-Param-Region': ")


def test_a_missing_header_is_a_fault() -> None:
    """HTTP-65."""
    assert check_params(REGION, {"region": ""}, headers()) == "header 'Mcp-Param-Region' is missing (region)"


def test_two_values_of_one_header_are_a_fault() -> None:
    twice = Headers([(b"mcp-param-region", b"eu"), (b"mcp-param-region", b"us")])

    assert check_params(REGION, {"region": "eu"}, twice) == (
        "header 'mcp-param-region' came 2 times with different values"
    )


def test_all_arguments_are_compared() -> None:
    mirrors = mirrored(schema(a=annotated("A"), b=annotated("B")))

    assert check_params(mirrors, {"a": "1", "b": "2"}, headers(a="1", b="2")) is None
    assert check_params(mirrors, {"a": "1", "b": "2"}, headers(a="1", b="1")) == (
        "header 'Mcp-Param-B' differs from the argument (b)"
    )


@pytest.mark.parametrize(
    ("value", "header"), [(42, "42.0"), (42.0, "42"), (42.0, "42.00"), (-1, "-1.0"), (0, "-0"), (42, "=?base64?NDI=?=")]
)
def test_integers_are_compared_by_value(value: float, header: str) -> None:
    """HTTP-66."""
    assert check_params(COUNT, {"count": value}, headers(count=header)) is None


@pytest.mark.parametrize(
    "value", [2**53, -(2**53), 1e300, 10**5000], ids=lambda value: f"{value:.3g}" if value < 1e9 else "big"
)
def test_an_integer_that_is_not_safe_is_not_mirrored(value: Any) -> None:
    """HTTP-63."""
    with pytest.raises(ValueError, match="not safe"):
        param_headers(COUNT, {"count": value})
    assert "not safe" in str(check_params(COUNT, {"count": value}, headers(count="9007199254740992")))


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_what_is_no_number_is_not_mirrored(value: float) -> None:
    assert param_headers(COUNT, {"count": value}) == {}


texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.none() | st.booleans() | st.integers(-SAFE_INTEGER, SAFE_INTEGER) | texts
MIRRORS = mirrored(schema(a=annotated("A"), b=schema(c=annotated("C", "integer"), d=annotated("D", "boolean"))))


@given(
    st.fixed_dictionaries(
        {"a": values, "b": st.none() | st.fixed_dictionaries({}, optional={"c": values, "d": values})}
    )
)
def test_what_the_client_mirrors_the_server_finds_right(arguments: dict[str, Any]) -> None:
    sent = param_headers(MIRRORS, arguments)
    received = Headers([(name.lower().encode(), value.encode()) for name, value in sent.items()])

    assert check_params(MIRRORS, arguments, received) is None
    for name in sent:
        without = [(each.lower().encode(), value.encode()) for each, value in sent.items() if each != name]
        assert "is missing" in str(check_params(MIRRORS, arguments, Headers(without)))


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(["string", "A"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["x-mcp-header", "type", "properties", "items", "anyOf", "$defs", "a"]), inner
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["properties", "items", "$defs", "x-mcp-header"]), json))
def test_any_schema_is_read_or_refused(given_schema: dict[str, Any]) -> None:
    fault = annotation_fault(given_schema)

    if fault is None:
        assert all(mirror.header.startswith("Mcp-Param-") for mirror in mirrored(given_schema))
    else:
        assert len(fault) < 400
