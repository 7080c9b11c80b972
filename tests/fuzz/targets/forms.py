"""Forms: any schema is a form or -32602, and so is any content; what is accepted is what the form says.

a schema
---
content
"""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec

from dedalus_mcp.client.form import Form
from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.schema.forms import accept, check, reduce
from dedalus_mcp.schema.typed_forms import typed_form
from dedalus_mcp.types import ElicitRequestParams
from dedalus_mcp.types.revisions import REVISIONS
from tests.fuzz.judging import allowed
from tests.fuzz.pieces import json, parts

__all__ = ("target",)


class Region(enum.Enum):
    """A choice."""

    EU = "eu"
    US = "us"


@dataclass
class Deploy:
    """A form with a field of every kind."""

    confirm: bool
    region: Region
    replicas: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1
    share: Annotated[float, msgspec.Meta(ge=0)] = 0.5
    note: Annotated[str, msgspec.Meta(max_length=20)] | None = None
    when: datetime.date | None = None
    at: datetime.datetime | None = None
    tags: list[Literal["x", "y"]] = field(default_factory=list["Literal['x', 'y']"])


TYPED = typed_form(Deploy)


def target(data: bytes) -> None:
    """Make a form of a schema, fill it in, and fill in one whose fields have types."""
    schema, content = map(json, parts(data, 2))
    for revision in REVISIONS:
        with allowed(McpError, code=INVALID_PARAMS):
            check(schema, revision)
            check(reduce(schema, revision), revision)
    for each in (schema, content):
        with allowed(McpError, code=INVALID_PARAMS):
            TYPED.build(each)
    accepted: dict[str, Any] | None = None
    with allowed(McpError, code=INVALID_PARAMS):
        accepted = accept(content, schema)
    if accepted is not None:
        assert accept(accepted, schema) == accepted, "what was accepted is not accepted once more"
        form = Form(ElicitRequestParams(message="?", requestedSchema=schema))
        assert form.accept(content).content == accepted
