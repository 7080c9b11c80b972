"""Typical messages, decoded and encoded: ours against msgspec with nothing round it.  CPU per message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from benchmarks.measure import Effort, Row, cpu, take
from dedalus_mcp.errors import ErrorData
from dedalus_mcp.jsonrpc.codec import decode, encode
from dedalus_mcp.jsonrpc.messages import Call, Failure, Success
from dedalus_mcp.types import CallToolResult, ListToolsResult, TextContent, Tool
from dedalus_mcp.types.methods import TOOLS_CALL, TOOLS_LIST

__all__ = ("TITLE", "run")

TITLE = "Codec: CPU for one message"


class Envelope(msgspec.Struct):
    jsonrpc: Literal["2.0"]
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: ErrorData | UnsetType = UNSET


class Params(msgspec.Struct):
    name: str
    arguments: dict[str, Any]


class BareCall(msgspec.Struct, tag_field="jsonrpc", tag="2.0"):
    id: int
    method: str
    params: Any


class BareReply(msgspec.Struct, tag_field="jsonrpc", tag="2.0"):
    id: int
    result: Any


class BareTool(msgspec.Struct):
    name: str
    inputSchema: dict[str, Any]
    description: str | None = None


class BareTools(msgspec.Struct):
    tools: list[BareTool]


ARGUMENTS = {"name": "echo", "arguments": {"text": "the quick brown fox jumps over it"}}
RESULT = CallToolResult(content=[TextContent(text="the quick brown fox jumps over it")])
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}, "required": ["text"]}
TOOLS = ListToolsResult(tools=[Tool(name=f"t{n}", description="One.", inputSchema=SCHEMA) for n in range(50)])
bare_decode = msgspec.json.Decoder(Envelope).decode
bare_params = msgspec.json.Decoder(Params).decode
bare_tools = msgspec.json.Decoder(BareTools).decode
bare_encode = msgspec.json.Encoder().encode


def repeat(step: Callable[[Any], object], value: Any) -> Callable[[int], None]:
    def work(number: int) -> None:
        for _ in range(number):
            step(value)

    return work


def run(effort: Effort) -> list[Row]:
    """Measure."""
    call, reply, tools = Call(7, "tools/call", ARGUMENTS), Success(7, RESULT), Success(7, TOOLS)
    frames = {
        "a call": encode(call),
        "a reply": encode(reply),
        "an error": encode(Failure(7, ErrorData(-32602, "Unknown tool: nothing"))),
        "50 tools": encode(tools),
    }
    pairs: list[tuple[str, int, Callable[[int], object], Callable[[int], object]]] = [
        (f"decode {name}", 20_000, repeat(decode, frame), repeat(bare_decode, frame)) for name, frame in frames.items()
    ]
    pairs += [
        (
            "decode the params of a call",
            20_000,
            repeat(TOOLS_CALL.decode_params, encoded(ARGUMENTS)),
            repeat(bare_params, encoded(ARGUMENTS)),
        ),
        (
            "decode the result with 50 tools",
            400,
            repeat(TOOLS_LIST.decode_result, encoded(TOOLS)),
            repeat(bare_tools, encoded(TOOLS)),
        ),
        ("encode a call", 20_000, repeat(encode, call), repeat(bare_encode, BareCall(7, "tools/call", ARGUMENTS))),
        ("encode a reply", 20_000, repeat(encode, reply), repeat(bare_encode, BareReply(7, RESULT))),
        ("encode 50 tools", 1_000, repeat(encode, tools), repeat(bare_encode, BareReply(7, TOOLS))),
    ]
    return [
        take(name, "us", {"ours": cpu(ours, effort.times(n)), "bare": cpu(bare, effort.times(n))}, effort.rounds)
        for name, n, ours, bare in pairs
    ]


def encoded(value: Any) -> Raw:
    return Raw(bare_encode(value))
