"""What a callable takes and returns: its parameters, with every annotation resolved.

Layer: L1; imports `local_types` and msgspec only.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType, MethodType
from typing import Annotated, Any

from msgspec import UNSET

from dedalus_mcp.schema.local_types import around, evaluate, is_local, settle

__all__ = ("Parameter", "docstring", "is_async", "label", "parameters", "remember", "returned")


_LOCALS = "__dedalus_mcp_locals__"
_WORD = re.compile(r"[^\W\d]\w*")


class Parameter:
    """One parameter of a callable.

    Attributes:
        name: As the function spells it.
        annotation: Resolved, `Annotated` kept; `Any` where the function has none.
        default: UNSET where there is none.
        positional: It can only be passed by position.
    """

    __slots__ = ("annotation", "default", "name", "positional")

    def __init__(self, name: str, annotation: Any, default: Any, *, positional: bool) -> None:
        self.name = name
        self.annotation = annotation
        self.default = default
        self.positional = positional


def label(fn: Callable[..., Any]) -> str:
    """Return how messages name the callable."""
    return str(getattr(_plain(fn), "__qualname__", fn))


def is_async(fn: Any) -> bool:
    """Whether calling `fn` gives a coroutine, as far as can be told without calling it."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    call: Any = type(fn).__call__
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(call)


def docstring(fn: Callable[..., Any]) -> str | None:
    """Return the docstring of the function behind `fn`, or of the class of a callable object."""
    plain = _plain(fn)
    return plain.__doc__ or (None if hasattr(fn, "__qualname__") or _is_partial(fn) else fn.__doc__)


def parameters(fn: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters that a caller of `fn` can set, in order.

    What a `functools.partial` binds by keyword is bound for good: it is not in the list.

    Raises:
        TypeError: `fn` has no signature, takes `*args` or `**kwargs`, or an annotation
            cannot be resolved; the text names function and parameter.
    """
    bound: Any = getattr(fn, "keywords", ()) if _is_partial(fn) else ()
    found: list[Parameter] = []
    for name, given in _signature(fn).parameters.items():
        if given.kind in {given.VAR_POSITIONAL, given.VAR_KEYWORD}:
            raise TypeError(f"{label(fn)}(): parameter '{given}' has no schema; name each argument instead")
        if name not in bound:
            default: Any = UNSET if given.default is given.empty else given.default
            annotation = _resolve(fn, name, given.annotation)
            if hasattr(default, "is_required") and hasattr(default, "get_default"):  # pydantic's Field()
                annotation = Annotated[annotation, default]
                default = UNSET if default.is_required() else default.get_default(call_default_factory=True)
            found.append(Parameter(name, annotation, default, positional=given.kind is given.POSITIONAL_ONLY))
    return found


def returned(fn: Callable[..., Any]) -> Any:
    """Return the resolved return annotation of `fn`, or UNSET where there is none.

    Raises:
        TypeError: The annotation cannot be resolved.
    """
    annotation = _signature(fn).return_annotation
    return UNSET if annotation is inspect.Signature.empty else _resolve(fn, "return", annotation)


def remember(fn: Any) -> None:
    """Keep what the annotations of `fn` mean where it is defined: later, types that are local there cannot be found.

    Called while that code runs, by what decorates `fn`.  Functions of modules and classes need nothing kept.
    """
    plain = _plain(fn) if callable(fn) else None
    if not isinstance(plain, FunctionType) or not is_local(plain):
        return
    with suppress(NameError):  # Python 3.14 evaluates them here; those that it can, it can later
        annotations = [each if isinstance(each, str) else repr(each) for each in plain.__annotations__.values()]
        names = _names(plain)
        found = {word: names[word] for word in _WORD.findall(" ".join(annotations)) if word in names}
        for kind in (*found.values(), *(names.get(free) for free in plain.__code__.co_freevars)):
            settle(kind, names)
        if found:
            setattr(plain, _LOCALS, found)


def _signature(fn: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(fn)
    except (NameError, ValueError) as error:  # NameError: Python 3.14 evaluates annotations here
        raise TypeError(f"{label(fn)}(): cannot read the signature: {error}") from error


def _is_partial(fn: object) -> bool:
    return isinstance(fn, functools.partial)


def _plain(fn: Any) -> Any:
    """Return the function behind wrappers, partials, methods and callable objects."""
    while True:
        fn = inspect.unwrap(fn)
        if _is_partial(fn):
            fn = fn.func
        elif isinstance(fn, MethodType):
            fn = fn.__func__
        elif hasattr(fn, "__qualname__"):
            return fn
        else:
            fn = type(fn).__call__


def _resolve(fn: Callable[..., Any], name: str, annotation: Any) -> Any:
    if annotation is inspect.Parameter.empty:
        return Any
    plain = _plain(fn)
    if isinstance(plain, type):
        plain = getattr(plain, "__init__")  # noqa: B009 - mypy finds the plain spelling unsound
    try:
        return evaluate(annotation, getattr(plain, "__globals__", {}), _names(plain))
    except (AttributeError, NameError, SyntaxError, TypeError) as error:
        raise TypeError(f"{label(fn)}(): cannot resolve the annotation of '{name}': {error}") from error


def _names(plain: Any) -> dict[str, Any]:
    """Return what the function sees beside its globals: what surrounds it, and its closure.

    A type that is local to the function or class around the definition is in no closure
    unless the body uses it.  It is in the frame that runs the decorator, if that still runs, or was
    remembered by that.
    """
    names = around(getattr(plain, "__qualname__", ""), getattr(plain, "__globals__", None))
    names |= getattr(plain, _LOCALS, {})
    code = getattr(plain, "__code__", None)
    for free, cell in zip(code.co_freevars if code else (), getattr(plain, "__closure__", None) or (), strict=False):
        try:
            names[free] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return names
