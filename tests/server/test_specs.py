"""Specs: remembered on functions, found again, registered while a server is binding."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from dedalus_mcp.server.specs import (
    CapabilitySpec,
    CompletionSpec,
    PromptSpec,
    ResourceSpec,
    ResourceTemplateSpec,
    ToolSpec,
    attach,
    binding,
    extract_spec,
    icons_of,
)
from dedalus_mcp.types import Icon


class Collected:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.functions: list[Callable[..., Any]] = []

    def collect(self, *functions: Callable[..., Any]) -> None:
        self.functions += functions


def plain() -> Callable[[], int]:
    def answer() -> int:
        return 42

    return answer


def test_a_function_without_a_spec_has_none() -> None:
    assert extract_spec(plain()) is None
    assert extract_spec(print) is None
    assert extract_spec(None) is None


def test_what_is_attached_is_found_and_the_function_is_as_before() -> None:
    function = plain()
    spec = ToolSpec(name="a")
    attach(function, spec)

    assert extract_spec(function) is spec
    assert function() == 42


def test_a_tool_comes_before_a_prompt_whichever_was_attached_first() -> None:
    orders: list[list[CapabilitySpec]] = [[ToolSpec(), PromptSpec(name="p")], [PromptSpec(name="p"), ToolSpec()]]
    for specs in orders:
        function = plain()
        for spec in specs:
            attach(function, spec)

        assert isinstance(extract_spec(function), ToolSpec)


def test_a_prompt_comes_before_a_resource_and_that_before_a_template() -> None:
    function = plain()
    found: list[CapabilitySpec | None] = []
    for spec in (ResourceTemplateSpec(uri_template="a://{x}"), ResourceSpec(uri="a://b"), PromptSpec(name="p")):
        attach(function, spec)
        found.append(extract_spec(function))

    assert [type(spec) for spec in found] == [ResourceTemplateSpec, ResourceSpec, PromptSpec]


def test_the_later_of_two_specs_of_a_kind_counts() -> None:
    """So a function that is a tool already can be a tool by another name elsewhere."""
    function = plain()
    attach(function, ToolSpec(name="a"))
    attach(function, ToolSpec(name="b"))

    assert extract_spec(function) == ToolSpec(name="b")


def test_a_wrapper_has_the_spec_of_what_it_wraps_until_it_gets_its_own() -> None:
    inner = plain()
    attach(inner, ToolSpec(name="inner"))

    @functools.wraps(inner)
    def outer() -> int:
        return inner() + 1

    assert extract_spec(outer) == ToolSpec(name="inner")
    attach(outer, ToolSpec(name="outer"))
    attach(outer, PromptSpec(name="outer"))

    assert extract_spec(outer) == ToolSpec(name="outer")
    assert extract_spec(inner) == ToolSpec(name="inner")


def test_methods_of_every_kind_carry_a_spec_and_are_found_bound() -> None:
    def on_the_class(cls: type) -> type:
        return cls

    class_method = cast("Any", classmethod(on_the_class))

    class Desk:
        def method(self) -> None: ...

    attach(Desk.method, ToolSpec(name="m"))
    attach(class_method, ToolSpec(name="c"))
    attach(static_method := staticmethod(plain()), ToolSpec(name="s"))

    class Office(Desk):
        on_class = class_method
        static = static_method

    for owner in (Office(), Office):
        assert extract_spec(owner.on_class) == ToolSpec(name="c")
        assert extract_spec(owner.static) == ToolSpec(name="s")
        assert extract_spec(owner.method) == ToolSpec(name="m")


def test_partials_and_callable_objects_carry_a_spec_of_their_own() -> None:
    class Answer:
        def __call__(self) -> int:
            return 1

    for carrier, other in ((functools.partial(int), functools.partial(int)), (Answer(), Answer())):
        attach(carrier, ToolSpec(name="mine"))

        assert extract_spec(carrier) == ToolSpec(name="mine")
        assert extract_spec(other) is None


NOTHING: list[int] = []


@pytest.mark.parametrize("thing", [print, 7, "name", NOTHING.append], ids=type)
def test_what_can_carry_nothing_is_refused_with_the_cure(thing: Any) -> None:
    with pytest.raises(TypeError, match="wrap it in a function"):
        attach(thing, ToolSpec())


def test_a_class_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot decorate"):
        attach(Collected, ToolSpec())
    assert extract_spec(Collected()) is None


def test_a_binding_server_gets_what_is_attached_and_no_other() -> None:
    collected = Collected()
    token = binding.set(collected)
    try:
        inside = plain()
        attach(inside, ToolSpec())
        static = plain()
        attach(staticmethod(static), ToolSpec())
    finally:
        binding.reset(token)
    attach(plain(), ToolSpec())

    assert collected.functions == [inside, static]


def test_icons_are_taken_as_such_or_as_mappings() -> None:
    icon = Icon(src="https://example.com/a.png")

    assert icons_of(None) is None
    assert icons_of([]) is None
    assert icons_of([icon, {"src": icon.src}, {"type": "url", "url": icon.src}]) == [icon] * 3
    wrong: Any = [7]
    with pytest.raises(TypeError):
        icons_of(wrong)


@pytest.mark.parametrize("spec", [ToolSpec, PromptSpec, ResourceSpec, ResourceTemplateSpec, CompletionSpec])
def test_the_fields_of_specs_can_be_looked_up(spec: type[Any]) -> None:
    """Else `help(dedalus_mcp)` fails as a whole."""
    assert inspect.signature(spec).parameters.keys() == {field.name for field in msgspec.structs.fields(spec)}
