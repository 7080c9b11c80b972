"""A JSON Schema that an author wrote: published to the letter, enforced by a library.

    mapping ──▶ JSON ──▶ bounds ──▶ compiled, with no way to a network or a file
    value   ──▶ depth ──▶ problems in words

The library is the extra `dedalus-mcp[schema]`; schemas made from signatures do without it.

Layer: L1; imports `effort`, `faults`, `plain` and `shapes`; jsonschema-rs when there is a schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import msgspec

from dedalus_mcp.schema.effort import Effort
from dedalus_mcp.schema.faults import at
from dedalus_mcp.schema.plain import plain
from dedalus_mcp.schema.shapes import has_more, is_array, is_object

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

__all__ = ("MAX_SCHEMA_BYTES", "MAX_SCHEMA_DEPTH", "MAX_VALUE_DEPTH", "JsonSchema")

MAX_SCHEMA_BYTES = 256 * 1024
"""Bytes of one schema as JSON: it goes out with every list of tools, and models read those."""

MAX_SCHEMA_DEPTH = 64
"""Levels of one schema.  The library gives up at some 120 on a thread of half a MiB."""

MAX_VALUE_DEPTH = 128
"""Levels of a value.  Thousands overflow the library's stack, which ends the process."""

_LISTED = 2000  # parts of a value of which all problems are told, and not the first alone
_PROBLEMS = 20  # problems of one value that are told
_SHOWN = 200  # characters of one problem: names that the peer made up may be in it


class JsonSchema:
    """One schema.  `problems` may run in any thread.

    Args:
        schema: The schema, of any dialect that `$schema` may name; 2020-12 without it (META-25).
        name: What errors call it.

    Attributes:
        published: The schema as JSON, member for member.

    Raises:
        ImportError: The library is not installed; the text names the extra.
        ValueError: It is no schema, is too large, or refers to what is not in it: nothing is
            ever fetched.
    """

    __slots__ = ("_effort", "_validator", "published")

    def __init__(self, schema: Mapping[str, Any], name: str) -> None:
        self.published: dict[str, Any] = plain(schema, name)
        if len(msgspec.json.encode(self.published)) > MAX_SCHEMA_BYTES:
            raise ValueError(f"{name} is longer than {MAX_SCHEMA_BYTES} bytes")
        if _deeper(self.published, MAX_SCHEMA_DEPTH):
            raise ValueError(f"{name} is nested more than {MAX_SCHEMA_DEPTH} levels deep")
        self._validator = _compiled(self.published, name)
        self._effort = _effort_of(self.published)

    def problems(self, value: Any, name: str) -> list[str]:
        """Return what is wrong with a value of JSON: where, and what is legal there.

        Args:
            value: Dictionaries, lists and scalars.
            name: What the problems call it.
        """
        if _deeper(value, MAX_VALUE_DEPTH):
            return [f"{name}: nested more than {MAX_VALUE_DEPTH} levels deep"]
        try:
            if self._validator.is_valid(value):  # ten times as fast as finding no errors
                return []
            # Whether it fits is found out once for each part; why it does not, for each way there.
            if self._effort is None or not self._effort.allows(value):
                return [f"{name}: does not fit the schema; where is too much to be found out"]
            found = self._errors(value)
        except UnicodeEncodeError:
            return [f"{name}: a lone surrogate has no place in JSON"]
        return [f"{_where(error.instance_path) or name}: {error.message:.{_SHOWN}}" for error in found]

    def _errors(self, value: Any) -> list[ValidationError]:
        if not has_more(value, _LISTED):
            return list(islice(self._validator.iter_errors(value), _PROBLEMS))
        found: list[ValidationError] = []
        try:  # the other way finds all of them before the first is told, and each takes long
            self._validator.validate(value)
        except ValueError as error:
            found.append(cast("ValidationError", error))
        return found


def _compiled(schema: dict[str, Any], name: str) -> Validator:
    try:
        from jsonschema_rs import validator_for  # noqa: PLC0415 - an extra: only those who give a schema need it
    except ImportError:
        raise ImportError(f"{name} needs jsonschema-rs: install dedalus-mcp[schema]") from None
    try:
        # Offline: by itself the library fetches `$ref` from networks and files.
        return validator_for(schema, offline=True, mask="the value")
    except ValueError as error:
        why = str(error).partition("\n")[0]
        raise ValueError(f"{name} cannot be enforced: {why:.{_SHOWN}}") from None


def _effort_of(schema: dict[str, Any]) -> Effort | None:
    """What it takes to find out what is wrong with a value; None if that may be anything."""
    try:
        return Effort(schema)
    except ValueError:
        return None


def _where(path: Sequence[str | int]) -> str:
    return reduce(lambda found, step: at(found, step) if isinstance(step, str) else f"{found}[{step}]", path, "")


def _deeper(value: object, levels: int) -> bool:
    """Whether a value has more levels of objects and arrays."""
    if is_object(value):
        return levels == 0 or any(_deeper(member, levels - 1) for member in value.values())
    if is_array(value):
        return levels == 0 or any(_deeper(item, levels - 1) for item in value)
    return False
