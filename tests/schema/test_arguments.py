"""Arguments: the schema of a signature, and what fits it."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import decimal
import enum
import functools
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NotRequired, cast

import attrs
import jsonschema  # type: ignore[import-untyped]
import msgspec
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw
from typing_extensions import TypedDict

from dedalus_mcp.errors import InvalidArguments
from dedalus_mcp.schema.arguments import MAX_LOOKED_AT, Arguments, summary
from tests.ids import shown

if TYPE_CHECKING:
    from nowhere import Missing  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]


unhurried = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Color(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Point:
    x: int
    label: str = ""

    def __post_init__(self) -> None:
        if self.x == 13:
            raise ValueError("x must not be 13")
        if self.x == 14:
            raise ValueError


class Options(TypedDict):
    depth: int
    name: NotRequired[str]


class Pair(NamedTuple):
    a: int
    b: str = "x"


class Wire(msgspec.Struct):
    n: int


@attrs.define
class Attrs:
    n: int


class Model(pydantic.BaseModel):
    n: int
    tags: list[str] = []


@dataclasses.dataclass
class Tree:
    kids: list[Tree]


class Context:
    """Stands for what the server gives."""


def injected(annotation: Any, default: Any) -> bool:
    return annotation is Context or isinstance(default, Context)


def problems(arguments: Arguments, raw: Any) -> tuple[str, ...]:
    with pytest.raises(InvalidArguments) as caught:
        arguments.decode(raw)
    return caught.value.problems


def one(annotation: Any, raw: str, **options: Any) -> Any:
    """Decode the one argument `it`."""

    def fn(it: Any) -> None: ...

    fn.__annotations__["it"] = annotation
    return Arguments.of(fn, **options).decode(f'{{"it":{raw}}}'.encode())["it"]


def test_a_schema_is_a_closed_object() -> None:
    def fn(a: int, b: str = "x", *, c: bool) -> None: ...

    assert Arguments.of(fn).schema == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string", "default": "x"}, "c": {"type": "boolean"}},
        "required": ["a", "c"],
        "additionalProperties": False,
    }


def test_no_parameters_make_an_empty_object() -> None:
    assert Arguments.of(lambda: None).schema == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }


def test_texts_come_from_the_annotation_and_else_from_the_docstring() -> None:
    def fn(
        a: int,
        b: Annotated[int, "Its own"],
        c: Annotated[str, msgspec.Meta(min_length=1)],
        d: Point,
        e: Annotated[str, "Optional"] | None = None,
        f: int = 0,
    ) -> None:
        """Do it.

        Args:
            a: The a.
            b: The b.
            c: The c.
            d: The d.
            e: The e.
        """

    properties = Arguments.of(fn).schema["properties"]

    assert {name: schema.get("description") for name, schema in properties.items()} == {
        "a": "The a.",
        "b": "Its own",
        "c": "The c.",
        "d": "The d.",
        "e": "Optional",
        "f": None,
    }
    assert summary(fn) == "Do it."
    assert summary(lambda: None) == ""


def test_an_optional_argument_is_published_as_its_plain_type() -> None:
    """B122."""

    def fn(  # noqa: PLR0917
        role: Annotated[str | None, "Role"] = None,
        either: int | str | None = None,
        word: Literal["a"] | None = None,
        same: Literal["a", None] = None,
        tree: Tree | None = None,
        kept: int | None = 5,
        nothing: None = None,
        anything: Any = None,
        *,
        asked: int | None,
    ) -> None: ...

    arguments = Arguments.of(fn)

    assert arguments.schema["properties"] == {
        "role": {"type": "string", "description": "Role"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "word": {"type": "string", "enum": ["a"]},
        "same": {"type": "string", "enum": ["a"]},
        "tree": {"$ref": "#/$defs/Tree"},
        "kept": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 5},
        "nothing": {"type": "null"},
        "anything": {},
        "asked": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    }
    assert arguments.schema["required"] == ["asked"]
    for raw in (b'{"role":null,"asked":null}', b'{"asked":null}'):
        assert arguments.decode(raw)["role"] is None
    assert arguments.decode(b'{"role":"x","asked":1}')["role"] == "x"


def test_a_default_without_json_form_leaves_the_argument_optional() -> None:
    sentinel = object()

    def fn(a: Any = sentinel, b: float = float("nan"), c: Path = Path(), d: Color = Color.RED) -> None: ...

    arguments = Arguments.of(fn)

    assert arguments.schema["properties"] == {
        "a": {},
        "b": {"type": "number"},
        "c": {"type": "string", "format": "path", "default": "."},
        "d": {"type": "string", "enum": ["red"], "default": "red"},
    }
    assert arguments.schema["required"] == []
    assert arguments.decode(b"{}")["a"] is sentinel


def test_the_very_default_is_passed_as_by_a_call_without_the_argument() -> None:
    default: list[int] = [1]

    def fn(a: list[int] = default) -> None: ...

    assert Arguments.of(fn).decode(b"{}")["a"] is default
    assert problems(Arguments.of(fn), b'{"b":1}') == ("'b': no such argument; legal: a",)


def test_injected_parameters_are_nobody_elses() -> None:
    """B145, B146."""
    default = Context()

    def fn(a: int, ctx: Context, *, dep: int = cast("int", default)) -> None: ...

    arguments = Arguments.of(fn, injected=injected)

    assert list(arguments.schema["properties"]) == ["a"]
    assert arguments.injected == {"ctx": Context, "dep": int}
    assert arguments.defaults == {"dep": default}
    assert arguments.decode(b'{"a":1}') == {"a": 1}
    assert problems(arguments, b'{"a":1,"ctx":{},"dep":2}') == (
        "'ctx': no such argument; legal: a",
        "'dep': no such argument; legal: a",
    )


def test_references_are_kept_for_recursive_types_alone() -> None:
    """B112."""

    def fn(c: Color, p: Point, t: Tree, u: list[Tree]) -> None: ...

    schema = Arguments.of(fn).schema

    assert schema["properties"]["c"] == {"type": "string", "enum": ["red"]}
    assert schema["properties"]["p"]["properties"]["x"] == {"type": "integer"}
    assert schema["properties"]["t"] == {"$ref": "#/$defs/Tree"}
    assert set(schema["$defs"]) == {"Tree"}
    values: dict[str, Any] = {"c": "red", "p": {"x": 1}, "t": {"kids": [{"kids": []}]}, "u": []}
    jsonschema.validate(values, schema)


@pytest.mark.parametrize("text", ["123", '{"a":1}', "null", "[1]", "1e5", "007", "true", ""], ids=shown)
def test_a_string_that_fits_is_never_read(text: str) -> None:
    """B109."""

    def fn(s: str, o: str | None = None, u: int | str = 0) -> None: ...

    raw = msgspec.json.encode({"s": text, "o": text, "u": text})

    assert Arguments.of(fn).decode(raw) == {"s": text, "o": text, "u": text}


def lenient(n: int, b: bool, l: list[int], d: Point) -> None: ...  # noqa: E741


STRINGS = b'{"n":"5","b":"false","l":"[1]","d":"{\\"x\\":\\"3\\"}"}'


def test_strings_of_json_are_read_where_no_string_fits() -> None:
    """B110."""
    assert Arguments.of(lenient).decode(STRINGS) == {"n": 5, "b": False, "l": [1], "d": Point(3)}


def test_strict_arguments_are_all_refused_at_once() -> None:
    """B110."""
    assert problems(Arguments.of(lenient, strict=True), STRINGS) == (
        "n: expected an integer, got a string",
        "b: expected true or false, got a string",
        "l: expected an array, got a string",
        "d: expected an object, got a string",
    )


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("annotation", "raw"), [(int, '"5.5"'), (bool, '"yes"'), (int, "5.5"), (int, "true"), (bool, "1")]
)
def test_what_is_not_json_of_the_type_is_refused(annotation: Any, raw: str, strict: bool) -> None:
    """B110."""
    with pytest.raises(InvalidArguments, match=r"^it: expected"):
        one(annotation, raw, strict=strict)


@pytest.mark.parametrize("strict", [True, False])
def test_an_integral_float_is_an_integer(strict: bool) -> None:
    assert one(int, "1.0", strict=strict) == 1
    assert isinstance(one(int, "1e3", strict=strict), int)
    assert isinstance(one(int | float, "1.0", strict=strict), float)
    assert one(list[Point], '[{"x":1.0}]', strict=strict) == [Point(1)]


@pytest.mark.parametrize(
    ("annotation", "raw", "value"),
    [
        (Point, '{"x":1}', Point(1)),
        (Options, '{"depth":1}', {"depth": 1}),
        (Pair, "[1]", Pair(1)),
        (Wire, '{"n":1}', Wire(1)),
        (Attrs, '{"n":1}', Attrs(1)),
        (Model, '{"n":1}', Model(n=1)),
        (Model | None, "null", None),
        (Model | int, '{"n":1}', Model(n=1)),
        (Color, '"red"', Color.RED),
        (Level, "1", Level.LOW),
        (Level, '"1"', Level.LOW),
        (Literal["a", 1], "1", 1),
        (int | str, '"a"', "a"),
        (Tree, '{"kids":[{"kids":[]}]}', Tree([Tree([])])),
        (datetime.datetime, '"2020-01-02T03:04:05Z"', datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)),
        (datetime.date, '"2020-01-02"', datetime.date(2020, 1, 2)),
        (uuid.UUID, '"12345678-1234-5678-1234-567812345678"', uuid.UUID("12345678-1234-5678-1234-567812345678")),
        (decimal.Decimal, '"1.50"', decimal.Decimal("1.50")),
        (bytes, '"aGk="', b"hi"),
        (Path, '"a/b"', Path("a/b")),
        (set[int], "[1,1]", {1}),
        (tuple[int, str], '[1,"a"]', (1, "a")),
        (dict[str, Point], '{"a":{"x":1}}', {"a": Point(1)}),
        (Any, '{"a":[1]}', {"a": [1]}),
        (object, "null", None),
        (int, str(2**70), 2**70),
    ],
    ids=shown,
)
def test_every_kind_of_type_is_decoded(annotation: Any, raw: str, value: Any) -> None:
    assert one(annotation, raw) == value


def test_every_argument_at_fault_is_named_with_its_path() -> None:
    def fn(
        a: int, m: Model, p: list[Point], t: Annotated[int, msgspec.Meta(ge=1)] = 1, c: Color = Color.RED
    ) -> None: ...

    raw = b'{"m":{"n":"x","tags":1},"p":[{"x":1},{"label":2}],"t":0,"c":"blue","zz":1}'

    assert problems(Arguments.of(fn), raw) == (
        "'zz': no such argument; legal: a, m, p, t, c",
        "a: required, expected an integer",
        "m.n: expected an integer, got a string",
        "m.tags: expected an array, got an integer",
        "p[1].x: required, expected an integer",
        "p[1].label: expected a string, got an integer",
        "t: expected an integer, >= 1",
        "c: expected one of 'red'",
    )


def test_the_words_of_an_authors_own_check_are_passed_on() -> None:
    class Checked(pydantic.BaseModel):
        it: list[int]

        @pydantic.field_validator("it")
        @classmethod
        def check(cls, it: list[int]) -> list[int]:
            if 13 in it:
                raise ValueError("no 13")
            return it

    def fn(p: list[Point], c: Checked | None = None, d: datetime.datetime | None = None) -> None: ...

    found = problems(Arguments.of(fn), b'{"p":[{"x":1},{"x":13}],"c":{"it":[13]},"d":"soon"}')

    assert found == (
        "p[1]: x must not be 13",
        "c.it: Value error, no 13",
        "d: expected a string, in the format date-time",
    )
    assert problems(Arguments.of(fn), b'{"p":[{"x":14}]}') == ("p: expected an array",)


def test_a_check_inside_a_list_of_a_model_says_where() -> None:
    class Holder(pydantic.BaseModel):
        urls: list[pydantic.HttpUrl]

    def fn(h: list[Holder]) -> None: ...

    assert problems(Arguments.of(fn), b'{"h":[{"urls":["https://a.example/"]},{"urls":["x","y"]}]}') == (
        "h[1].urls[0]: Input should be a valid URL, relative URL without a base",
        "h[1].urls[1]: Input should be a valid URL, relative URL without a base",
    )


def test_long_values_and_names_are_never_repeated() -> None:
    def fn(a: int) -> None: ...

    text = " ".join(problems(Arguments.of(fn), msgspec.json.encode({"a": "secret" * 1000, "n" * 1000: 1})))

    assert "secret" not in text
    assert len(text) < 200


@pytest.mark.parametrize("raw", [None, UNSET, b"null", b"{}", {}, Raw(b"{}"), Raw(b"null")], ids=shown)
def test_no_arguments_are_an_empty_object(raw: Any) -> None:
    """B118."""
    assert Arguments.of(lambda: None).decode(raw) == {}

    def fn(it: int = 1) -> None: ...

    assert Arguments.of(fn).decode(raw) == {"it": 1}


def test_a_mapping_is_taken_in_process() -> None:
    def fn(a: int, p: Point) -> None: ...

    arguments = Arguments.of(fn)

    assert arguments.decode({"a": 1, "p": {"x": 2}}) == {"a": 1, "p": Point(2)}
    assert arguments.decode({"a": "1", "p": {"x": 2}}) == {"a": 1, "p": Point(2)}
    assert problems(arguments, {"a": 1}) == ("p: required, expected an object",)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"[]", "arguments: expected an object"),
        (b'"x"', "arguments: expected an object"),
        (b"{", "arguments: not valid JSON"),
        (b'{"a":"\\ud800"}', "arguments: not valid JSON"),
        (b'{"a":"\xff"}', "arguments: not valid JSON"),
        (b'{"a":' + b"[" * 100_000, "arguments: nested too deeply"),
    ],
    ids=lambda it: repr(it)[:30],
)
def test_what_is_no_object_is_refused(raw: bytes, problem: str) -> None:
    def fn(a: Any = None) -> None: ...

    assert problems(Arguments.of(fn), raw) == (problem,)


def test_a_value_that_is_nested_too_deeply_is_refused() -> None:
    def fn(it: Tree) -> None: ...

    value: dict[str, Any] = {"kids": []}
    for _ in range(20_000):
        value = {"kids": [value]}

    assert problems(Arguments.of(fn), {"it": value}) == ("it: nested too deeply",)


def test_no_more_unknown_names_are_listed_than_can_be_read() -> None:
    assert len(problems(Arguments.of(lambda: None), {f"x{index}": 1 for index in range(1000)})) == 20


NAMES = ["schema", "json", "copy", "keys", "items", "type", "id", "method", "params", "msg", "self", "cls", "_x", "__y"]
MORE = ["__init__", "__class__", "argument_0", "args", "kwargs", "raw", "dict", "model_config", "__struct_fields__"]


def test_any_legal_name_works() -> None:
    """B119."""
    names = [*NAMES, *MORE]
    space: dict[str, Any] = {}
    exec(f"def fn({', '.join(names)}): return [{', '.join(names)}]", space)
    arguments = Arguments.of(space["fn"])
    values = arguments.decode(msgspec.json.encode({name: index for index, name in enumerate(names)}))

    assert list(arguments.schema["properties"]) == names
    assert arguments.call(values) == list(range(len(names)))


def test_positional_parameters_are_passed_by_position() -> None:
    def fn(a: int, ctx: Context, b: int = 2, /, *, c: int = 3) -> tuple[Any, ...]:
        return a, ctx, b, c

    context = Context()
    arguments = Arguments.of(fn, injected=injected)
    values = {**arguments.decode(b'{"a":1,"c":4}'), "ctx": context}

    assert arguments.call(values) == (1, context, 2, 4)
    assert values == {"a": 1, "b": 2, "c": 4, "ctx": context}


class Service:
    def method(self, a: int) -> int:
        return a

    @classmethod
    def on_class(cls, a: int) -> int:
        return a

    async def __call__(self, a: int) -> int:
        return a


async def coroutine(a: int) -> int:
    return a


@pytest.mark.parametrize(
    "fn",
    [Service().method, Service.on_class, Service(), coroutine, functools.partial(coroutine), eval("lambda a: a")],
    ids=["method", "classmethod", "object", "async", "partial", "lambda"],
)
async def test_every_callable_is_called(fn: Callable[..., Any]) -> None:
    """B148."""
    arguments = Arguments.of(fn)
    result = arguments.call(arguments.decode(b'{"a":1}'))

    assert (await result if hasattr(result, "__await__") else result) == 1


def refused(fn: Callable[..., Any], match: str) -> None:
    with pytest.raises(TypeError, match=match):
        Arguments.of(fn)


def test_what_cannot_be_published_is_refused_by_function_and_parameter() -> None:
    class Thing:
        pass

    @dataclasses.dataclass
    class Late:
        missing: Missing

    @dataclasses.dataclass
    class Pets:
        pet: Point | Tree

    def thing(ok: int, bad: Thing) -> None: ...
    def late(ok: int, bad: Late) -> None: ...
    def pets(ok: int, bad: Pets) -> None: ...
    def constrained(bad: Annotated[int, msgspec.Meta(min_length=1)]) -> None: ...
    def union(bad: Thing | Point) -> None: ...

    refused(thing, r"thing\(\): parameter 'bad' cannot be published: .*Thing has no JSON form")
    refused(late, r"late\(\): parameter 'bad' cannot be published: .*Missing")
    refused(pets, r"pets\(\): parameter 'bad' cannot be published: .*unions")
    refused(constrained, r"constrained\(\): parameter 'bad' cannot be published")
    refused(union, r"union\(\): parameter 'bad' cannot be published: .*Thing has no JSON form")


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text('ab1{}[]"'),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["n", "kids", "x", "d"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def everything(
    n: int, d: Model | None = None, x: Point | Tree | None = None, kids: list[Tree] | dict[str, int] | None = None
) -> None: ...


EVERYTHING = Arguments.of(everything)


@unhurried
@given(given=json)
def test_any_json_fits_or_is_refused_in_words(given: Any) -> None:
    raw = msgspec.json.encode(given)
    sources: list[Any] = [raw, given] if isinstance(given, dict) else [raw]
    for source in sources:
        with contextlib.suppress(InvalidArguments):
            values = EVERYTHING.decode(source)
            assert isinstance(values["n"], int)
            assert set(values) == {"n", "d", "x", "kids"}


@pytest.mark.parametrize("strict", [True, False])
def test_of_an_argument_too_large_for_a_model_it_is_told_what_is_legal_and_no_more(strict: bool) -> None:
    """A body full of what does not fit held up the event loop for a minute: it is neither mended nor gone through."""

    def fn(a: list[int]) -> None: ...

    arguments = Arguments.of(fn, injected=injected, strict=strict)
    few, many = [1.0] * 10 + ["x"], [1] * MAX_LOOKED_AT + ["x"]

    assert problems(arguments, {"a": few}) == ("a[10]: expected an integer, got a string",)
    assert problems(arguments, {"a": many}) == ("a: expected an array",)
