"""Arguments of tools: any bytes are the arguments of the function, or `InvalidArguments` that says what is legal."""

from __future__ import annotations

import datetime
import enum
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec

from dedalus_mcp.errors import InvalidArguments
from dedalus_mcp.schema.arguments import Arguments
from dedalus_mcp.schema.given import GivenArguments
from tests.fuzz.judging import allowed

__all__ = ("target",)


class Level(enum.Enum):
    """A choice."""

    LOW = 1
    HIGH = 2


@dataclass
class Place:
    """Something with parts, one of them of its own kind."""

    name: str
    at: tuple[float, float] = (0.0, 0.0)
    inner: Place | None = None


def many(
    text: str,
    *,
    count: Annotated[int, msgspec.Meta(ge=0, le=99)] = 0,
    places: list[Place] | None = None,
    level: Level = Level.LOW,
    kind: Literal["a", "b"] | int = "a",
    table: dict[str, float | bool | None] | None = None,
    when: datetime.datetime | datetime.date | None = None,
    span: datetime.timedelta | None = None,
    id: uuid.UUID | None = None,
    price: Decimal | None = None,
    data: bytes = b"",
    rest: Any = None,
) -> None:
    """Take an argument of every kind."""


def whole(given: Any) -> None:
    """Take them all as one."""


SCHEMA = {
    "type": "object",
    "properties": {
        "mail": {"type": "string", "format": "email", "pattern": "^[a-z]+@"},
        "list": {"type": "array", "items": {"type": "integer", "multipleOf": 3}, "uniqueItems": True},
    },
    "required": ["mail"],
    "additionalProperties": {"type": ["number", "null"]},
}
READERS = (
    Arguments.of(many),
    Arguments.of(many, strict=True),
    GivenArguments(whole, SCHEMA, injected=lambda annotation, default: False),
)


def target(data: bytes) -> None:
    """Decode arguments."""
    for reader in READERS:
        with allowed(InvalidArguments):
            values = reader.decode(data)
            reader.call(values)
