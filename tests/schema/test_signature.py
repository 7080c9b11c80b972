"""Signatures: every kind of callable, every way to spell an annotation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, cast

import pydantic
import pytest
from msgspec import UNSET

from dedalus_mcp.schema.signature import docstring, is_async, label, parameters, remember, returned

if TYPE_CHECKING:
    from nowhere import Missing  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]


def function(a: int, b: str = "x") -> bool:
    """Say what it does."""
    return bool(a) and bool(b)


def anything(*args: int) -> None: ...
def anything_named(**kwargs: int) -> None: ...


class Service:
    """A service."""

    def method(self, a: int, b: str = "x") -> bool:
        """Say what it does."""
        return function(a, b)

    @classmethod
    def on_class(cls, a: int, b: str = "x") -> bool:
        """Say what it does."""
        return function(a, b)

    @staticmethod
    def on_nothing(a: int, b: str = "x") -> bool:
        """Say what it does."""
        return function(a, b)


class Calling:
    """A callable object."""

    async def __call__(self, a: int, b: str = "x") -> bool:
        return function(a, b)


@functools.wraps(function)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


@pytest.mark.parametrize(
    "fn",
    [
        function,
        Service().method,
        Service.on_class,
        Service().on_class,
        Service.on_nothing,
        Calling(),
        wrapped,
        functools.partial(function),
        functools.partial(Service().method),
    ],
    ids=label,
)
def test_every_callable_has_its_parameters(fn: Callable[..., Any]) -> None:
    """B148."""
    found = parameters(fn)

    assert [(one.name, one.annotation, one.default) for one in found] == [("a", int, UNSET), ("b", str, "x")]
    assert returned(fn) is bool


def test_what_a_partial_binds_is_no_parameter() -> None:
    def send(text: str, token: str, *, retries: int = 3) -> None: ...

    assert [one.name for one in parameters(functools.partial(send, token="secret"))] == ["text", "retries"]
    assert [one.name for one in parameters(functools.partial(send, "hello"))] == ["token", "retries"]


def test_a_class_is_called_by_its_constructor() -> None:
    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

    assert [(one.name, one.annotation) for one in parameters(Point)] == [("x", int)]


def test_parameters_keep_their_kind() -> None:
    def fn(a: int, /, b: int, *, c: int) -> None: ...

    assert [(one.name, one.positional) for one in parameters(fn)] == [("a", True), ("b", False), ("c", False)]


def test_no_annotation_is_any() -> None:
    found = parameters(cast("Callable[..., Any]", eval("lambda it: it")))

    assert found[0].annotation is Any
    assert returned(lambda: None) is UNSET


def test_local_types_are_found_by_closure_and_by_frame() -> None:
    """B145."""

    class Local:
        pass

    class Closed:
        pass

    def fn(a: Local, b: list[Closed], c: Annotated[Local | None, "text"]) -> Closed:
        return Closed()

    assert [one.annotation for one in parameters(fn)] == [Local, list[Closed], Annotated[Local | None, "text"]]
    assert returned(fn) is Closed


class Shadowed:
    """There is a local one too."""


def test_a_local_type_goes_before_a_global_one() -> None:
    def outer() -> list[Any]:
        class Shadowed:
            pass

        class Holder:
            class Inner:
                pass

            def method(self, a: Shadowed, b: Inner) -> None: ...

            found = parameters(method)

        def fn(a: Shadowed) -> None: ...

        assert [one.annotation for one in Holder.found[1:]] == [Shadowed, Holder.Inner]
        return [parameters(fn)[0].annotation, Shadowed]

    found, local = outer()

    assert found is local
    assert found is not globals()["Shadowed"]


def test_what_was_remembered_where_it_is_defined_is_found_later() -> None:
    """B145: the function that defines both may have returned."""

    def define(number: int) -> tuple[Callable[..., Any], type, type]:
        class Local:
            pass

        class Holder:
            class Inner:
                pass

            def method(self, a: Inner, b: Annotated[list[Local], "text"]) -> Local | None: ...

            remember(method)

        return Holder.method, Local, Holder.Inner

    method, local, inner = define(1)
    define(2)

    assert [one.annotation for one in parameters(method)[1:]] == [inner, Annotated[list[local], "text"]]  # type: ignore[valid-type]
    assert returned(method) == (local | None)


def test_where_nothing_is_local_nothing_is_kept() -> None:
    def fn(a: int, b: "list[str]") -> None: ...  # noqa: UP037

    for each in (fn, function, functools.partial(fn, 1), Service, Service().method, Calling(), 7):
        remember(each)

    assert vars(fn) == {}
    assert set(vars(function)) == set()


def test_a_variable_that_is_not_set_yet_is_no_error() -> None:
    def outer() -> list[Any]:
        def fn(a: int) -> Any:
            return later

        found = [one.annotation for one in parameters(fn)]
        later = 1
        return [*found, later]

    assert outer() == [int, 1]


def test_strings_inside_annotations_are_resolved() -> None:
    def fn(a: list["int"]) -> None: ...  # noqa: UP037

    assert parameters(fn)[0].annotation == list[int]


def test_a_name_for_type_checkers_only_is_refused_by_name() -> None:
    """B145."""

    def deploy(target: Missing) -> None: ...  # pyright: ignore[reportUnknownParameterType]

    with pytest.raises(TypeError, match=r"deploy\(\): cannot resolve the annotation of 'target': .*Missing"):
        parameters(cast("Callable[..., Any]", deploy))


def test_a_builtin_with_annotations_resolves_without_globals() -> None:
    class Odd:
        __signature__ = None

        def __call__(self, a: int) -> None: ...

    assert [one.annotation for one in parameters(Odd())] == [int]


@pytest.mark.parametrize("fn", [anything, anything_named], ids=label)
def test_arguments_without_a_name_are_refused(fn: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"parameter '\*.* has no schema; name each argument instead"):
        parameters(fn)


def test_a_callable_without_signature_is_refused() -> None:
    with pytest.raises(TypeError, match=r"cannot read the signature"):
        parameters(dict)


def test_a_pydantic_field_as_default_gives_default_and_constraints() -> None:
    def fn(a: int = pydantic.Field(5, ge=1), b: str = pydantic.Field(description="The b")) -> None: ...

    first, second = parameters(fn)
    assert first.default == 5
    assert first.annotation.__origin__ is int
    assert second.default is UNSET


def test_docstrings_come_from_the_function_behind() -> None:
    assert docstring(functools.partial(function, a=1)) == "Say what it does."
    assert docstring(Service().method) == "Say what it does."
    assert docstring(Calling()) == "A callable object."
    assert docstring(lambda: None) is None
    assert docstring(functools.partial(lambda: None)) is None


async def waiting(a: int) -> int:
    return a


def test_coroutine_functions_are_told_from_the_rest() -> None:
    """B148."""
    assert [is_async(fn) for fn in (waiting, Calling(), functools.partial(waiting, 1), function, Service())] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_labels_say_which_function() -> None:
    assert label(Service().method) == "Service.method"
    assert label(functools.partial(function)) == "function"
