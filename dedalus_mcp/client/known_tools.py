"""What a server has said of its tools, until it says that they have changed.

    tools/list ──▶ hints, output schemas ──▶ may this call be made twice? does this result fit?

Nothing is asked for this alone: whatever list the program asks for is learned from.

Layer: L4; no I/O.
Source: MCP 2025-06-18 and later, server/tools, "Output Schema".
"""

from __future__ import annotations

import logging
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from dedalus_mcp.errors import InvalidOutput
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.schema.effort import Effort
from dedalus_mcp.schema.json_schema import JsonSchema
from dedalus_mcp.types import CallToolResult, ListToolsResult, Tool

__all__ = ("KnownTools", "checks_outputs")

logger = logging.getLogger("dedalus_mcp")

MAX_TOOLS = 10_000
"""Tools that are known, at most; of others nothing is held against the server, and nothing is repeated."""

MAX_SCHEMAS_BYTES = 16 * 1024 * 1024
"""Bytes of their output schemas in all, as JSON."""


def checks_outputs(wanted: bool | None) -> bool:  # noqa: FBT001 - the setting, as it was given
    """Whether results are held against the schemas: None for "if that can be done".

    Raises:
        ImportError: It is wanted, and the library is not installed; the text names the extra.
    """
    if wanted and not _has_library():
        raise ImportError("check_outputs=True needs jsonschema-rs: install dedalus-mcp[schema]")
    return _has_library() if wanted is None else wanted


@lru_cache(maxsize=1)
def _has_library() -> bool:
    return find_spec("jsonschema_rs") is not None


class _Checked(NamedTuple):
    schema: JsonSchema
    effort: Effort  # a server has written the schema, and the result too


class KnownTools:
    """The tools of one server, as far as they were listed.

    Args:
        checks: Whether results are held against output schemas.
    """

    def __init__(self, *, checks: bool) -> None:
        self._checks = checks
        self._repeatable: set[str] = set()
        self._schemas: dict[str, bytes] = {}
        self._compiled: dict[str, _Checked | None] = {}  # None where it cannot be enforced
        self._bytes = 0

    def learn(self, listed: ListToolsResult) -> None:
        """Take a list, or a page of one."""
        for tool in listed.tools:
            hints = tool.annotations
            self._repeatable.discard(tool.name)
            if hints is not None and (hints.idempotentHint or hints.readOnlyHint) and self._has_room():
                self._repeatable.add(tool.name)
            if self._checks:
                self._learn_schema(tool)

    def forget(self) -> None:
        """The tools are others now: what is known of them may be wrong."""
        self._repeatable.clear()
        self._schemas.clear()
        self._compiled.clear()
        self._bytes = 0

    def may_repeat(self, name: str) -> bool:
        """Whether the tool does no more when it is called twice, as the server says."""
        return name in self._repeatable

    def check(self, name: str, result: CallToolResult) -> None:
        """Hold a result against the tool's output schema, where there is one; failed results need not fit (AMB-28).

        Raises:
            InvalidOutput: It does not fit; the text names the place, and what is legal there.
        """
        if result.isError or name not in self._schemas:
            return
        if result.structuredContent is UNSET:
            raise InvalidOutput(name, ["structuredContent is missing"], result)
        checked = self._checked(name)
        if checked is None:
            return
        if not checked.effort.allows(result.structuredContent):
            logger.warning("a result of tool %.80r is not checked: it is too large for its schema", name)
            return
        problems = checked.schema.problems(result.structuredContent, "structuredContent")
        if problems:
            raise InvalidOutput(name, problems, result)

    def _has_room(self) -> bool:
        return len(self._repeatable) < MAX_TOOLS

    def _learn_schema(self, tool: Tool) -> None:
        text = b"" if tool.outputSchema is None else _json(tool.outputSchema)
        known = self._schemas.get(tool.name, b"")
        if text == known:
            return
        self._compiled.pop(tool.name, None)
        self._schemas.pop(tool.name, None)
        self._bytes -= len(known)
        if text and len(self._schemas) < MAX_TOOLS and self._bytes + len(text) <= MAX_SCHEMAS_BYTES:
            self._schemas[tool.name] = text
            self._bytes += len(text)

    def _checked(self, name: str) -> _Checked | None:
        if name not in self._compiled:
            try:
                schema = msgspec.json.decode(self._schemas[name])
                self._compiled[name] = _Checked(JsonSchema(schema, "outputSchema"), Effort(schema))
            except (ValueError, RecursionError) as error:
                logger.warning("results of tool %.80r are not checked: %s", name, excerpt(error))
                self._compiled[name] = None
        return self._compiled[name]


def _json(schema: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(schema)
    except RecursionError:  # it came in, so it is only just too deep
        return b""
