"""What the reference is told of the source: how msgspec Structs are made, and which words are not for its readers.

mkdocstrings loads this file (see `zensical.toml`); it knows dataclasses by itself, but no Structs.
"""
# pyright: basic, reportMissingImports=false
# griffe is there where the site is made, and nowhere else

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

LAYER = re.compile(r"\n+Layer: .*", re.DOTALL)
REQUIREMENTS = re.compile(r" \([A-Z]+-\d+(?:, [A-Z]+-\d+)*\)")


class Structs(griffe.Extension):
    """Gives each Struct the constructor that msgspec gives it: its fields and those of its bases, by keyword."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Go through a package once it is loaded as a whole, so that bases in other modules are known."""
        for module in modules(pkg):
            for found in module.classes.values():
                if not found.is_alias and "__init__" not in found.members and is_struct(found):
                    found.set_member("__init__", constructor(found))

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Leave out what docstrings say to those who change the source: layers, and numbers of requirements."""
        if obj.docstring is not None:
            obj.docstring.value = REQUIREMENTS.sub("", LAYER.sub("", obj.docstring.value))


def modules(package: griffe.Module) -> Iterator[griffe.Module]:
    """The package, and every module beneath."""
    yield package
    for module in package.modules.values():
        if not module.is_alias:
            yield from modules(module)


def lineage(found: griffe.Class) -> list[griffe.Class]:
    """The class after its bases, as far as they are in these packages."""
    return [*reversed(found.mro()), found]


def is_struct(found: griffe.Class) -> bool:
    """Whether one of its bases is msgspec's."""
    bases = [base for each in lineage(found) for base in each.bases]
    return any(getattr(base, "canonical_path", base) == "msgspec.Struct" for base in bases)


def constructor(found: griffe.Class) -> griffe.Function:
    """The constructor of a Struct: what is by keyword alone comes last."""
    fields: dict[str, griffe.Parameter] = {}
    for each in lineage(found):
        by_keyword = str(each.keywords.get("kw_only")) == "True"
        kind = griffe.ParameterKind.keyword_only if by_keyword else griffe.ParameterKind.positional_or_keyword
        for name, field in each.attributes.items():
            if not field.is_alias and is_field(field):
                fields[name] = griffe.Parameter(name, annotation=field.annotation, kind=kind, default=default(field))
    in_order = sorted(fields.values(), key=lambda field: field.kind is griffe.ParameterKind.keyword_only)
    this = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    return griffe.Function("__init__", parent=found, parameters=griffe.Parameters(this, *in_order))


def is_field(found: griffe.Attribute) -> bool:
    """Whether an attribute is one that the constructor takes."""
    is_class_wide = "class-attribute" in found.labels and "instance-attribute" not in found.labels
    private = found.name.startswith("_")
    return found.annotation is not None and not (private or is_class_wide or "property" in found.labels)


def default(field: griffe.Attribute) -> Any:
    """What stands for a field that is not given; None where it must be given."""
    if not isinstance(field.value, griffe.ExprCall) or str(field.value.function).rpartition(".")[2] != "field":
        return field.value
    given = {each.name: each.value for each in field.value.arguments if isinstance(each, griffe.ExprKeyword)}
    return given.get("default", "..." if "default_factory" in given else None)
