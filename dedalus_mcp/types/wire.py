"""What every wire type of the protocol is made of.

A `Wire` is a frozen `msgspec.Struct` whose attributes carry their wire names.  A member that
is None (or UNSET) is left out on the wire; members this package does not know are ignored.

A *tagged* type carries one member with a fixed value (`type`, `method`, `mode`).  Its
constructor takes and checks that member, so both spellings work: ``TextContent(text="x")``
and ``TextContent(type="text", text="x")``.  Decoding never goes through the constructor.

Layer: L1; imports nothing of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

__all__ = (
    "Choice",
    "TaggedMeta",
    "Wire",
    "dec_hook",
    "from_members",
    "members_of",
    "no_blocks",
)


class Wire(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Base class of everything the protocol puts on the wire."""


WireT = TypeVar("WireT", bound=Wire)


class TaggedMeta(msgspec.StructMeta):
    """Metaclass of the types with a fixed member, which its constructor takes and checks.

    The fixed member is msgspec's own tag, always written; or, where the protocol lets it be
    absent, what the class body says in `__fixed__`, never written.
    """

    if not TYPE_CHECKING:  # pragma: no branch - the checkers read the constructor from the fields alone

        def __new__(mcs, name, bases, namespace, **config):  # noqa: ANN001, ANN003, ANN204, D102
            cls = super().__new__(mcs, name, bases, namespace, **config)
            tag = cls.__struct_config__
            cls.__fixed__ = namespace.get("__fixed__", (tag.tag_field, tag.tag))
            setattr(cls, *cls.__fixed__)  # `block.type` reads as the tag
            return cls

        def __call__(cls, *args, **members):  # noqa: ANN002, ANN003, ANN204, D102, N805
            name, value = cls.__fixed__
            if name in members and (given := members.pop(name)) != value:
                raise TypeError(f"{cls.__name__} has {name}={value!r}, not {given!r}")
            return msgspec.StructMeta.__call__(cls, *args, **members)


class Choice:
    """One of several types that msgspec cannot tell apart by a tag; `choose` does.

    Mixed into each of the types, and written as the type of the member that holds one.
    """

    __slots__ = ()

    @classmethod
    def choose(cls, members: dict[str, Any]) -> type[Any]:
        """Return the type that these members are of.

        Raises:
            ValueError: They are of none; the text says what is legal.
        """
        raise NotImplementedError


def dec_hook(hint: Any, value: Any) -> Any:
    """Decode a `Choice`: msgspec's `dec_hook` for every decoder of a wire type."""
    if not (isinstance(hint, type) and issubclass(hint, Choice)):
        raise NotImplementedError(f"no wire type: {hint!r}")
    members = msgspec.convert(value, dict[str, Any])
    return msgspec.convert(members, hint.choose(members), dec_hook=dec_hook)


def members_of(value: object, cls: type[Wire]) -> dict[str, Any]:
    """Return a copy of the members that a person wrote for a `cls`.

    Raises:
        TypeError: It is no mapping.
    """
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    raise TypeError(f"expected {cls.__name__} or a mapping of its members, not {type(value).__name__}")


def from_members(members: dict[str, Any], cls: type[WireT]) -> WireT:
    """Make a `cls` of the members that a person wrote.

    Raises:
        TypeError: One is missing, unknown or of the wrong type; the text says which.
    """
    legal = cls.__struct_encode_fields__
    if unknown := [repr(name) for name in members if name not in legal]:
        raise TypeError(f"{cls.__name__} has no {', '.join(unknown)}; it has {', '.join(legal)}")
    try:
        return msgspec.convert(members, cls)
    except msgspec.ValidationError as error:
        raise TypeError(f"{cls.__name__}: {error}") from None


def no_blocks() -> list[Any]:
    """Stand for a `content` that a peer left out.

    A function of ours, not `list`: `omit_defaults` leaves out an empty default list, and the
    protocol requires the member.
    """
    return []
