"""What came of a question: a value, a no, or nothing.

    match await ctx.elicit("Deploy?", Deploy):
        case Accepted(deploy): ...
        case Declined(): ...
        case Cancelled(): ...

Only `Accepted` is true, so ``if answer:`` asks the same.

Layer: L4.
"""

from __future__ import annotations

from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar, final

import msgspec

__all__ = ("Accepted", "Answer", "Cancelled", "Declined")

T = TypeVar("T")


@final
class Accepted(msgspec.Struct, Generic[T], frozen=True):
    """The user answered.

    Attributes:
        data: What was asked for.
    """

    data: T
    action: ClassVar[Literal["accept"]] = "accept"

    def __bool__(self) -> Literal[True]:
        return True


@final
class Declined(msgspec.Struct, frozen=True):
    """The user said no."""

    action: ClassVar[Literal["decline"]] = "decline"

    def __bool__(self) -> Literal[False]:
        return False


@final
class Cancelled(msgspec.Struct, frozen=True):
    """The user went away without choosing."""

    action: ClassVar[Literal["cancel"]] = "cancel"

    def __bool__(self) -> Literal[False]:
        return False


Answer: TypeAlias = Accepted[T] | Declined | Cancelled
