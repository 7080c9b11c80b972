"""Whether the `Mcp-Param-*` headers of a `tools/call` say what its arguments say.

What a tool mirrors is in its input schema, and is worked out once for each schema: for nearly
every tool there is nothing to compare, and the arguments are not looked at here.

Layer: L2; imports `errors`, `messages`, `http_classify`, `http_headers` and `http_params` only.
Source: MCP 2026-07-28, basic/transports/streamable-http, "Custom headers".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET

from dedalus_mcp.errors import HEADER_MISMATCH, ErrorData
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.messages import Call, Failure
from dedalus_mcp_transports.http_classify import NAME, Refused
from dedalus_mcp_transports.http_headers import Headers, decode_value
from dedalus_mcp_transports.http_params import Mirror, check_params, mirrored

__all__ = ("Mirrors",)

logger = logging.getLogger("dedalus_mcp")

# Tools come and go, where they may.
MAX_KNOWN = 8192

Schema: TypeAlias = Mapping[str, Any]


class _Called(msgspec.Struct):
    arguments: dict[str, Any] | None = None


_decode_arguments = msgspec.json.Decoder(_Called).decode


class _Known(NamedTuple):
    tool: str
    schema: Schema
    mirrors: tuple[Mirror, ...]


class Mirrors:
    """What the tools of a server mirror.

    Args:
        input_schema: Returns the input schema of a tool; None if there is no such tool.
    """

    def __init__(self, input_schema: Callable[[str], Schema | None]) -> None:
        self._input_schema = input_schema
        self._known: dict[str, _Known] = {}  # by the header: a tool's name is written in two ways at most

    def check(self, call: Call, headers: Headers) -> Refused | None:
        """Refuse a `tools/call` whose headers and arguments differ (HTTP-65).

        Args:
            call: A modern call that `classify` let pass: its `Mcp-Name` names its tool.
            headers: The headers of its request.
        """
        if call.method != "tools/call" or call.params is UNSET:
            return None
        name = headers.one(NAME)
        if name is None:
            return None
        try:
            mirrors = self._of(name)
            if not mirrors:
                return None
            fault = check_params(mirrors, _decode_arguments(call.params).arguments, headers)
        except (ValueError, msgspec.DecodeError, RecursionError):
            return None  # no name, or no arguments: that is for those to say who answer the call
        if fault is None:
            return None
        return Refused(400, Failure(call.id, ErrorData(HEADER_MISMATCH, f"Header mismatch: {fault}")))

    def _of(self, name: str) -> tuple[Mirror, ...]:
        known = self._known.get(name)
        tool = decode_value(name) if known is None else known.tool
        schema = self._input_schema(tool)
        if schema is None:
            return ()
        if known is None or known.schema is not schema:  # a tool may be replaced by one of the same name
            known = _Known(tool, schema, _mirrored(tool, schema))
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[name] = known
        return known.mirrors


def _mirrored(tool: str, schema: Schema) -> tuple[Mirror, ...]:
    try:
        return mirrored(schema)
    except ValueError as error:  # clients hide such a tool (HTTP-62)
        logger.warning("tool %r is of no use over HTTP: %s", tool, excerpt(error))
        return ()
