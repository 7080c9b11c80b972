"""Forms from a type."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from typing import Annotated, Any, Literal, NotRequired

import attrs
import msgspec
import pydantic
import pytest
from typing_extensions import TypedDict

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.schema.forms import FIRST, SELECTS, check, reduce
from dedalus_mcp.schema.typed_forms import TypedForm, form, typed_form


class Region(enum.Enum):
    EU = "eu"
    US = "us"


@dataclasses.dataclass
class Deploy:
    confirm: bool
    region: Annotated[Region, msgspec.Meta(title="Where", description="Which region")]
    replicas: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1
    note: str | None = None
    when: datetime.date | None = None
    id: Literal["a", "b"] | None = None
    tags: list[Literal["x", "y"]] = dataclasses.field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]

    def __post_init__(self) -> None:
        if self.replicas == 4:
            raise ValueError("not four")


class Options(TypedDict):
    name: str
    size: NotRequired[float]


class Wire(msgspec.Struct):
    name: str
    size: float = 1.5


@attrs.define
class Attrs:
    name: str
    size: float = 1.5


class Model(pydantic.BaseModel):
    name: str
    size: float = 1.5

    @pydantic.field_validator("name")
    @classmethod
    def check(cls, name: str) -> str:
        if name == "x":
            raise ValueError("not x")
        return name


def test_a_class_becomes_a_legal_form() -> None:
    """ELIC-07 to ELIC-13."""
    asked = TypedForm[Any](Deploy)

    assert asked.schema == {
        "type": "object",
        "properties": {
            "confirm": {"type": "boolean"},
            "region": {"type": "string", "enum": ["eu", "us"], "title": "Where", "description": "Which region"},
            "replicas": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
            "note": {"type": "string"},
            "when": {"type": "string", "format": "date"},
            "id": {"type": "string", "enum": ["a", "b"]},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "default": []},
        },
        "required": ["confirm", "region"],
    }


def test_content_becomes_an_instance() -> None:
    asked = TypedForm[Any](Deploy)

    assert asked.build({"confirm": True, "region": "eu"}) == Deploy(True, Region.EU)
    assert asked.build(
        {"confirm": True, "region": "us", "replicas": 2.0, "note": "n", "when": "2020-01-02", "id": "a", "tags": ["x"]}
    ) == Deploy(True, Region.US, 2, "n", datetime.date(2020, 1, 2), "a", ["x"])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Options, {"name": "a"}),
        (Wire, Wire("a")),
        (Attrs, Attrs("a")),
        (Model, Model(name="a")),
    ],
    ids=repr,
)
def test_every_kind_of_class_makes_a_form(kind: Any, value: Any) -> None:
    asked = TypedForm[Any](kind)

    check(asked.schema, FIRST)
    assert reduce(asked.schema, FIRST)["required"] == ["name"]
    assert asked.build({"name": "a"}) == value


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        (Deploy, {"confirm": True}, "region: required, expected one of 'eu', 'us'"),
        (Deploy, {"confirm": True, "region": "eu", "replicas": 4}, "content: not four"),
        (Model, {"name": "x"}, "content.name: Value error, not x"),
    ],
    ids=repr,
)
def test_content_that_does_not_fit_is_refused(kind: Any, content: Any, message: str) -> None:
    with pytest.raises(McpError) as caught:
        TypedForm(kind).build(content)

    assert (caught.value.code, caught.value.message) == (INVALID_PARAMS, message)


def test_what_only_the_decoder_refuses_is_refused_with_its_bound_and_without_the_value() -> None:
    """Forms know no patterns and no bounds that are themselves too much, so the schema does not show them."""

    @dataclasses.dataclass
    class Holder:
        id: Annotated[str, msgspec.Meta(pattern="^a")] = "a"
        price: Annotated[float, msgspec.Meta(gt=0)] = 1

    form: TypedForm[Holder] = TypedForm(Holder)
    with pytest.raises(McpError, match=r"^content\.id: expected str matching regex '\^a'$"):
        form.build({"id": "secret"})
    with pytest.raises(McpError, match=r"^content\.price: expected float > 0\.0$"):
        form.build({"price": 0})


def test_a_class_that_no_form_can_ask_for_is_refused_by_field() -> None:
    @dataclasses.dataclass
    class Nested:
        inner: Deploy

    @dataclasses.dataclass
    class Either:
        it: int | str

    with pytest.raises(
        TypeError, match="Nested makes no form: Unsupported schema type 'object' for property 'inner'; a field is"
    ):
        TypedForm(Nested)
    with pytest.raises(TypeError, match="Either makes no form: Unsupported schema type 'None' for property 'it'"):
        TypedForm(Either)
    with pytest.raises(TypeError, match=r"int makes no form: requestedSchema\.properties must be"):
        TypedForm(int)
    with pytest.raises(TypeError, match="complex makes no form: complex has no JSON form"):
        TypedForm(complex)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Size(enum.Enum):
    S = "s"
    M = "m"

    @property
    def title(self) -> str:
        return {"S": "Small", "M": "Medium"}[self.name]


TITLED = [{"const": "s", "title": "Small"}, {"const": "m", "title": "Medium"}]


@dataclasses.dataclass
class Choosing:
    level: Level
    size: Size = Size.M
    sizes: list[Size] = dataclasses.field(default_factory=list[Size])
    number: Literal[1, 2] = 2
    levels: frozenset[Level] | None = None


def test_options_have_titles_and_stand_for_what_is_no_string() -> None:
    """ELIC-12, ELIC-13, B017."""
    choosing = TypedForm[Choosing](Choosing)

    assert choosing.form.worded(SELECTS)["properties"] == {
        "level": {"type": "string", "enum": ["LOW", "HIGH"]},
        "size": {"type": "string", "oneOf": TITLED, "default": "m"},
        "sizes": {"type": "array", "items": {"anyOf": TITLED}},
        "number": {"type": "string", "enum": ["1", "2"], "default": "2"},
        "levels": {"type": "array", "items": {"type": "string", "enum": ["LOW", "HIGH"]}},
    }
    assert choosing.build({"level": "HIGH"}) == Choosing(Level.HIGH)
    assert choosing.build({"level": "LOW", "size": "s", "sizes": [], "number": "1", "levels": ["LOW"]}) == Choosing(
        Level.LOW, Size.S, [], 1, frozenset({Level.LOW})
    )


class ChoosingModel(pydantic.BaseModel):
    level: Level = pydantic.Field(alias="how")
    size: Size | None = pydantic.Field(default=None, validation_alias="big")
    sizes: list[Size] = [Size.S]
    count: int = pydantic.Field(gt=0, lt=10, description="How many")


class ChoosingStruct(msgspec.Struct, rename="camel"):
    how_big: Size
    how_many: Annotated[int, msgspec.Meta(gt=0)] = 1


def test_names_on_the_wire_are_those_that_the_class_gives() -> None:
    model, struct = TypedForm[ChoosingModel](ChoosingModel), TypedForm[ChoosingStruct](ChoosingStruct)

    assert model.build({"how": "LOW", "count": 9}) == ChoosingModel(how=Level.LOW, count=9)
    assert model.build({"how": "LOW", "big": "m", "count": 9}).size is Size.M
    assert model.schema["properties"]["sizes"]["default"] == ["s"]
    assert struct.build({"howBig": "m"}) == ChoosingStruct(Size.M)
    assert struct.schema["properties"]["howBig"]["oneOf"] == TITLED


@dataclasses.dataclass
class Bound:
    whole: Annotated[int, msgspec.Meta(gt=0, lt=10)]
    part: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    known: Annotated[int, pydantic.Field(ge=2, description="pydantic's words in a dataclass")]
    mail: Annotated[str, msgspec.Meta(extra_json_schema={"format": "email"}, description="Yours", title="Mail")]
    even: Annotated[int, msgspec.Meta(multiple_of=2)] = 2


def test_bounds_are_said_as_far_as_forms_have_words_and_kept_to_the_end() -> None:
    """ELIC-08, ELIC-09."""
    bound = TypedForm[Bound](Bound)
    sent = bound.form.worded(SELECTS)["properties"]

    assert sent == {
        "whole": {"type": "integer", "minimum": 1, "maximum": 9},
        "part": {"type": "number", "minimum": 0, "maximum": 1},
        "known": {"type": "integer", "minimum": 2, "description": "pydantic's words in a dataclass"},
        "mail": {"type": "string", "format": "email", "title": "Mail", "description": "Yours"},
        "even": {"type": "integer", "default": 2},
    }
    legal = {"whole": 9, "part": 0.5, "known": 2, "mail": "a@b.example"}
    assert bound.build(legal).whole == 9
    for wrong in ({"part": 0}, {"part": 1}, {"even": 3}, {"known": 1}, {"whole": 0}):
        with pytest.raises(McpError) as caught:
            bound.build({**legal, **wrong})
        assert caught.value.code == INVALID_PARAMS


def test_a_secret_is_never_asked_for_by_form() -> None:
    """ELIC-21: whatever the class says of it, in whichever words."""

    class WithSecret(pydantic.BaseModel):
        user: str
        word: pydantic.SecretStr

    class MayHaveSecret(pydantic.BaseModel):
        word: pydantic.SecretStr | None = None

    @dataclasses.dataclass
    class Marked:
        word: Annotated[str, msgspec.Meta(extra_json_schema={"format": "password"})]

    @dataclasses.dataclass
    class WriteOnly:
        word: Annotated[str, msgspec.Meta(extra_json_schema={"writeOnly": True})]

    for kind in (WithSecret, MayHaveSecret, Marked, WriteOnly):
        with pytest.raises(TypeError, match=r"makes no form: Property 'word' is a secret.* by URL"):
            form(kind)


def test_what_may_be_none_need_not_be_answered() -> None:
    @dataclasses.dataclass
    class Maybe:
        note: str | None
        size: Size | None
        name: str

    maybe = TypedForm[Any](Maybe)

    assert maybe.schema["required"] == ["name"]
    assert maybe.build({"name": "n"}) == Maybe(None, None, "n")


def test_the_form_of_a_class_is_made_once() -> None:
    assert typed_form(Deploy) is typed_form(Deploy)
    with pytest.raises(TypeError, match="makes no form"):
        typed_form([])


def test_a_class_that_makes_no_form_is_refused_where_it_is_written() -> None:
    """B017."""
    assert form(Deploy) is Deploy
    with pytest.raises(TypeError, match="Deep makes no form: Unsupported schema type 'object' for property 'inner'"):

        @form
        @dataclasses.dataclass
        class Deep:
            inner: Deploy

    with pytest.raises(TypeError, match="Many makes no form: items of property 'inner' must be"):

        @form
        @dataclasses.dataclass
        class Many:
            inner: list[Deploy]


def test_a_class_that_was_to_be_a_dataclass_is_told_so() -> None:
    with pytest.raises(TypeError, match="Bare has no JSON form; decorate it with @dataclass, below @form"):

        @form
        class Bare:
            name: str
