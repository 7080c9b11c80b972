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
from dedalus_mcp.schema.forms import FIRST, check, reduce
from dedalus_mcp.schema.typed_forms import TypedForm


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
    form = TypedForm(Deploy)

    assert form.schema == {
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
    form = TypedForm(Deploy)

    assert form.build({"confirm": True, "region": "eu"}) == Deploy(True, Region.EU)
    assert form.build(
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
    form = TypedForm(kind)

    check(form.schema, FIRST)
    assert reduce(form.schema, FIRST)["required"] == ["name"]
    assert form.build({"name": "a"}) == value


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


def test_what_only_the_decoder_refuses_is_refused_without_the_value() -> None:
    @dataclasses.dataclass
    class Holder:
        id: Annotated[str, msgspec.Meta(pattern="^a")]

    with pytest.raises(McpError, match=r"^content: does not fit$"):
        TypedForm(Holder).build({"id": "secret"})


def test_a_class_that_no_form_can_ask_for_is_refused_by_field() -> None:
    @dataclasses.dataclass
    class Nested:
        inner: Deploy

    @dataclasses.dataclass
    class Either:
        it: int | str

    with pytest.raises(TypeError, match="Nested makes no form: Unsupported schema type 'object' for property 'inner'"):
        TypedForm(Nested)
    with pytest.raises(TypeError, match="Either makes no form: Unsupported schema type 'None' for property 'it'"):
        TypedForm(Either)
    with pytest.raises(TypeError, match=r"int makes no form: requestedSchema\.properties must be"):
        TypedForm(int)
    with pytest.raises(TypeError, match="complex makes no form: complex has no JSON form"):
        TypedForm(complex)
