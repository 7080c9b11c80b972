"""Types that are local to a function, found while that function runs.

    def make():
        class Region(Enum): ...
        @dataclass
        class Place:
            region: Region        # the text "Region", under `from __future__ import annotations`

Whoever reads the fields of such a class later looks in its module, where no `Region` is.  So the
texts are replaced by what they mean, as long as that can be seen.

Layer: L1; imports the standard library only.
"""

from __future__ import annotations

import inspect
import sys
import typing
from contextlib import suppress
from typing import Any, get_args, get_origin

__all__ = ("around", "evaluate", "is_local", "settle", "settle_here")


def is_local(thing: object) -> bool:
    """Whether a class or function was defined inside of a function."""
    return "<locals>" in getattr(thing, "__qualname__", "")


def around(qualname: str, module: object) -> dict[str, Any]:
    """Return the names in the functions and classes around a definition, of those that run now.

    Args:
        qualname: Of what is defined.
        module: The names of its module; the same object as its frames have.
    """
    outer = set(qualname.split(".")[:-1])
    frames: list[dict[str, Any]] = []
    frame = inspect.currentframe() if outer else None
    while frame is not None:
        if frame.f_code.co_name in outer and frame.f_globals is module:
            frames.append(frame.f_locals)
        frame = frame.f_back
    names: dict[str, Any] = {}
    for found in reversed(frames):
        names |= found
    return names


def evaluate(annotation: Any, module: dict[str, Any], names: dict[str, Any]) -> Any:
    """Return what an annotation means, `Annotated` and the like kept.

    Args:
        annotation: A text, or whatever may hold some.
        module: The names of its module.
        names: Those that go before.

    Raises:
        AttributeError, NameError, SyntaxError, TypeError: It cannot be told.
    """

    def probe() -> None: ...

    probe.__annotations__ = {"it": annotation}
    return typing.get_type_hints(probe, module, names, include_extras=True)["it"]


def settle_here(kind: Any) -> None:
    """Settle a class that is local to functions which run now: see `settle`."""
    if is_local(kind):
        settle(kind, around(kind.__qualname__, _module(kind)))


def settle(kind: Any, names: dict[str, Any]) -> None:
    """Replace the texts in the annotations of local classes by what they mean; what cannot be told yet stays.

    Args:
        kind: A type; all that it is made of, and all that their fields are, is settled.
        names: What is seen where they are defined.
    """
    todo, seen = [kind], set[int]()
    while todo:
        one = todo.pop()
        todo += [get_origin(one), *get_args(one)] if get_args(one) else []
        if isinstance(one, type) and is_local(one) and id(one) not in seen:
            seen.add(id(one))
            todo += [*one.__mro__[1:], *_settled(one, names)]


def _settled(kind: type, names: dict[str, Any]) -> list[Any]:
    """Settle one class, and return the types of its fields."""
    annotations: dict[str, Any] = {}
    with suppress(NameError):  # Python 3.14 evaluates them here
        annotations = dict(inspect.get_annotations(kind))
    known: dict[str, Any] = {}
    for name, annotation in annotations.items():
        with suppress(AttributeError, NameError, SyntaxError, TypeError):
            known[name] = evaluate(annotation, _module(kind), names)
    if any(known[name] is not annotations[name] for name in known):
        with suppress(AttributeError, TypeError):
            kind.__annotations__ = {**annotations, **known}
    return list(known.values())


def _module(kind: Any) -> dict[str, Any]:
    return getattr(sys.modules.get(kind.__module__), "__dict__", {})
