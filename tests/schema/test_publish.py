"""Published schemas: self-contained, inlined, and saying the same as before."""

from __future__ import annotations

import dataclasses
import enum
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypeVar

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pydantic
import pytest
from typing_extensions import TypedDict

from dedalus_mcp.schema.publish import publish, publish_all

T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Item:
    color: Color
    count: Annotated[int, msgspec.Meta(ge=1, description="How many")] = 1


@dataclasses.dataclass
class Order:
    first: Annotated[Item, msgspec.Meta(description="The first item", title="First")]
    rest: list[Item]
    title: str = ""


@dataclasses.dataclass
class Tree:
    name: str
    kids: list[Tree]


class Even(msgspec.Struct):
    odd: Odd | None = None


class Odd(msgspec.Struct):
    even: Even | None = None


class Cat(msgspec.Struct, tag=True):
    lives: int


class Dog(msgspec.Struct, tag=True):
    tricks: list[str]


class Box(msgspec.Struct, Generic[T]):
    inside: T


class Partial(TypedDict):
    a: int
    b: NotRequired[str]


class Pair(NamedTuple):
    a: int
    b: str = "x"


class Leaf(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(title="A leaf")

    name: str = pydantic.Field(title="Name of it", description="Its name")
    size: int = 0


class Node(pydantic.BaseModel):
    value: Leaf
    next: Node | None = None


def _foreign() -> type[pydantic.BaseModel]:
    class Tree(pydantic.BaseModel):
        kids: list[Tree]

    Tree.model_rebuild(_types_namespace={"Tree": Tree})
    return Tree


Foreign = _foreign()


def test_types_used_once_are_inlined_with_what_stands_beside() -> None:
    """B112."""
    schema = publish(Order)

    assert "$defs" not in schema
    item = {
        "type": "object",
        "properties": {
            "color": {"type": "string", "enum": ["blue", "red"]},
            "count": {"type": "integer", "minimum": 1, "description": "How many", "default": 1},
        },
        "required": ["color"],
    }
    assert schema == {
        "type": "object",
        "properties": {
            "first": {**item, "description": "The first item", "title": "First"},
            "rest": {"type": "array", "items": item},
            "title": {"type": "string", "default": ""},
        },
        "required": ["first", "rest"],
    }


def test_a_recursive_type_keeps_its_definition_and_a_typed_root() -> None:
    """B113."""
    schema = publish(Tree)

    assert schema["type"] == "object"
    assert schema["properties"]["kids"]["items"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["properties"] == schema["properties"]


def test_types_that_contain_each_other_are_both_kept() -> None:
    schema = publish(list[Even])

    assert schema["items"] == {"$ref": "#/$defs/Even"}
    assert set(schema["$defs"]) == {"Even", "Odd"}


def test_tagged_unions_have_no_openapi_discriminator() -> None:
    schema = publish(Cat | Dog)

    assert "discriminator" not in schema
    assert [branch["properties"]["type"]["enum"] for branch in schema["anyOf"]] == [["Cat"], ["Dog"]]


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (Literal["b", "a"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[2, 1], {"type": "integer", "enum": [1, 2]}),
        (Literal["a", 1], {"enum": [1, "a"]}),
        (Annotated[Any, msgspec.Meta(extra_json_schema={"enum": [True, False]})], {"enum": [True, False]}),
        (Annotated[str, msgspec.Meta(extra_json_schema={"enum": ["a"]})], {"type": "string", "enum": ["a"]}),
        (Color, {"type": "string", "enum": ["blue", "red"]}),
    ],
    ids=str,
)
def test_values_of_one_type_say_it(annotation: Any, schema: dict[str, Any]) -> None:
    """B112: there are models that take no enum without it."""
    assert publish(annotation) == schema


def test_generic_types_have_no_made_up_title() -> None:
    assert publish(Box[int]) == {
        "type": "object",
        "properties": {"inside": {"type": "integer"}},
        "required": ["inside"],
    }


def test_pydantic_models_keep_the_titles_that_were_given() -> None:
    assert publish(Leaf) == {
        "type": "object",
        "title": "A leaf",
        "properties": {
            "name": {"type": "string", "title": "Name of it", "description": "Its name"},
            "size": {"type": "integer", "default": 0},
        },
        "required": ["name"],
    }


def test_a_recursive_pydantic_model_is_self_contained() -> None:
    schema = publish(Node)

    assert schema["type"] == "object"
    assert schema["properties"]["value"]["properties"]["name"]["title"] == "Name of it"
    assert schema["properties"]["next"]["anyOf"][0] == {"$ref": "#/$defs/Node"}
    jsonschema.validate({"value": {"name": "a"}, "next": {"value": {"name": "b"}}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"value": {"name": "a"}, "next": {"value": {}}}, schema)


def test_definitions_of_one_name_are_kept_apart() -> None:
    definitions = publish_all({"ours": Tree, "theirs": Foreign})[1]

    assert set(definitions) == {"Tree", "Tree_"}
    assert definitions["Tree_"]["properties"]["kids"]["items"] == {"$ref": "#/$defs/Tree_"}


def test_a_reference_to_elsewhere_stays() -> None:
    class External(pydantic.BaseModel):
        it: Annotated[int, pydantic.WithJsonSchema({"$ref": "https://example.org/schema"})]

    assert publish(External)["properties"]["it"]["$ref"] == "https://example.org/schema"


def test_values_that_look_like_schemas_are_left_alone() -> None:
    class Example(pydantic.BaseModel):
        it: dict[str, Any] = {"title": "It", "discriminator": 1, "$defs": {}}

    default = publish(Example)["properties"]["it"]["default"]

    assert default == {"title": "It", "discriminator": 1, "$defs": {}}


def test_several_annotations_share_their_definitions() -> None:
    schemas, definitions = publish_all({"a": Tree, "b": list[Tree], "c": int})

    assert schemas == {
        "a": {"$ref": "#/$defs/Tree"},
        "b": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        "c": {"type": "integer"},
    }
    assert set(definitions) == {"Tree"}


def test_a_type_without_json_form_is_refused() -> None:
    class Thing:
        pass

    with pytest.raises(TypeError, match="Thing has no JSON form"):
        publish(Thing)


CASES: list[tuple[Any, Any, Any]] = [
    (
        Order,
        {"first": {"color": "red"}, "rest": [{"color": "blue", "count": 2}]},
        {"first": {"color": "x"}, "rest": []},
    ),
    (Tree, {"name": "a", "kids": [{"name": "b", "kids": []}]}, {"name": "a", "kids": [{"name": 1, "kids": []}]}),
    (Cat | Dog, {"type": "Dog", "tricks": ["sit"]}, {"type": "Dog", "tricks": [1]}),
    (Partial, {"a": 1}, {"b": "x"}),
    (Pair, [1], ["x"]),
    (Node, {"value": {"name": "a"}}, {"value": {"name": "a"}, "next": 1}),
    (Literal["a", 1, None], None, "b"),
    (dict[str, set[int]], {"a": [1, 2]}, {"a": ["x"]}),
    (tuple[int, str], [1, "a"], [1, "a", 2]),
]


@pytest.mark.parametrize(("annotation", "good", "bad"), CASES, ids=repr)
def test_schemas_take_what_the_types_take(annotation: Any, good: Any, bad: Any) -> None:
    """B112."""
    schema = publish(annotation)

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(good, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(bad, schema)
