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
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import msgspec

__all__ = (
    "BaseMetadata",
    "CacheScope",
    "CacheableResult",
    "Choice",
    "Cursor",
    "EmptyResult",
    "InputResponseRequestParams",
    "Meta",
    "NotificationParams",
    "PaginatedRequestParams",
    "PaginatedResult",
    "ProgressToken",
    "RequestId",
    "RequestParams",
    "Result",
    "Role",
    "TaggedMeta",
    "Wire",
    "dec_hook",
    "from_mapping",
)

RequestId: TypeAlias = int | str
ProgressToken: TypeAlias = int | str
Cursor: TypeAlias = str
Role: TypeAlias = Literal["user", "assistant"]
CacheScope: TypeAlias = Literal["public", "private"]
Meta: TypeAlias = dict[str, Any]
"""A `_meta` object: every key survives, known or not."""


class Wire(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Base class of everything the protocol puts on the wire."""


WireT = TypeVar("WireT", bound=Wire)


class TaggedMeta(msgspec.StructMeta):
    """Metaclass of the types with a fixed member, which its constructor takes and checks.

    The fixed member is msgspec's own tag, always written; or, for a member that the protocol
    lets be absent, the class argument `implied`, never written.
    """

    if not TYPE_CHECKING:  # the checkers read the constructor from the fields alone

        def __new__(mcs, name, bases, namespace, *, implied=None, **config):  # noqa: ANN001, ANN003, ANN204, D102
            cls = super().__new__(mcs, name, bases, namespace, **config)
            own = cls.__struct_config__
            cls.__fixed__ = implied or (own.tag_field, own.tag)
            setattr(cls, *cls.__fixed__)  # `block.type` reads as the tag
            return cls

        def __call__(cls, *args, **members):  # noqa: ANN002, ANN003, ANN204, D102, N805
            name, value = cls.__fixed__
            if name in members and (given := members.pop(name)) != value:
                raise TypeError(f"{cls.__name__} has {name}={value!r}, not {given!r}")
            return super().__call__(*args, **members)


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
    if not isinstance(value, dict):
        raise ValueError("Expected `object`")
    return msgspec.convert(value, hint.choose(value), dec_hook=dec_hook)


def from_mapping(cls: type[WireT], members: Mapping[str, Any]) -> WireT:
    """Make a `cls` of `members`, as a person wrote them.

    Raises:
        TypeError: A member is missing, unknown or of the wrong type; the text says which.
    """
    legal = cls.__struct_encode_fields__
    if unknown := [repr(name) for name in members if name not in legal]:
        raise TypeError(f"{cls.__name__} has no {', '.join(unknown)}; it has {', '.join(legal)}")
    try:
        return msgspec.convert(members, cls)
    except msgspec.ValidationError as error:
        raise TypeError(f"{cls.__name__}: {error}") from None


class BaseMetadata(Wire, frozen=True, kw_only=True):
    """What has a `name` for programs and a `title` for people."""

    name: str
    title: str | None = None


class RequestParams(Wire, frozen=True, kw_only=True):
    """The params of a request that takes none of its own."""

    meta: Meta | None = msgspec.field(default=None, name="_meta")


class NotificationParams(Wire, frozen=True, kw_only=True):
    """The params of a notification that takes none of its own."""

    meta: Meta | None = msgspec.field(default=None, name="_meta")


class Result(Wire, frozen=True, kw_only=True):
    """The result of a request; by itself an empty acknowledgement.

    Attributes:
        resultType: 2026-07-28 only; `revisions.complete` fills it in.  Absent means "complete".
    """

    meta: Meta | None = msgspec.field(default=None, name="_meta")
    resultType: str | None = None


EmptyResult = Result


class PaginatedRequestParams(RequestParams, frozen=True, kw_only=True):
    """The params of a list request: `cursor` is the `nextCursor` of the page before."""

    cursor: Cursor | None = None


class PaginatedResult(Result, frozen=True, kw_only=True):
    """One page of a list.  `nextCursor` is None on the last one; an empty string is a cursor."""

    nextCursor: Cursor | None = None


class CacheableResult(Result, frozen=True, kw_only=True):
    """A result that 2026-07-28 lets its reader keep.

    Attributes:
        ttlMs: How long, in milliseconds; a negative one means 0.
        cacheScope: "public" if it is the same for every user.
    """

    ttlMs: int | None = None
    cacheScope: CacheScope | None = None


class InputResponseRequestParams(RequestParams, frozen=True, kw_only=True):
    """The params of a request whose result may ask for input first (2026-07-28).

    Attributes:
        inputResponses: The answers, under the keys of `InputRequiredResult.inputRequests`.
            The member's shape follows from the request it answers: see `rounds`.
        requestState: The state of that result, verbatim.
    """

    inputResponses: dict[str, Any] | None = None
    requestState: str | None = None
