"""What a client's frames say to HTTP: the headers of each POST, without I/O.

    peek(frame) ──▶ Outgoing ──▶ Words.headers(outgoing) ──▶ the POST
                                   ▲
    the replies to initialize and tools/list: Words.learn(outgoing, frame)

A request of 2026-07-28 is told by its `_meta`; all else is legacy.

Source: MCP 2026-07-28, basic/transports/streamable-http; 2025-11-25, basic/transports.
Layer: L2; imports `errors`, `http_headers` and `http_params` only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import UNSET, Raw

from dedalus_mcp.complaints import Complaints
from dedalus_mcp.errors import LocalProtocolError, RemoteProtocolError
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp_transports.http_headers import encode_value
from dedalus_mcp_transports.http_params import ANNOTATION, Mirror, mirrored, param_headers

__all__ = ("Outgoing", "Words", "peek")

FIRST_WITH_HEADER = "2025-06-18"
"""The first revision whose clients say in a header what was negotiated (HTTP-47)."""

# Longer than any real one by far, and still fit for a header.
MAX_SESSION_ID = 1024
# Tools whose arguments are mirrored are few; a server that lists more than this is not kept up with.
MAX_MIRRORED = 10_000

_NAMED_BY = {
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/cancel": "taskId",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tools/call": "name",
}


class Outgoing(NamedTuple):
    """A frame about to be sent, and what HTTP needs to know of it.

    Attributes:
        frame: The frame.
        id: Its id, if it is a call.
        method: What is called or told; None for a reply.
        revision: What its `_meta` says; None for a legacy message.
        name: What `Mcp-Name` repeats; None if nothing.
        arguments: Those of a tool call, raw.
        cancels: The id of the call that it cancels; None if it does not.
    """

    frame: bytes
    id: int | str | None = None
    method: str | None = None
    revision: str | None = None
    name: str | None = None
    arguments: Raw | None = None
    cancels: int | str | None = None


class _Meta(msgspec.Struct, rename={"revision": "io.modelcontextprotocol/protocolVersion"}):
    revision: Any = None


class _Params(msgspec.Struct):
    name: Any = None
    uri: Any = None
    taskId: Any = None
    requestId: Any = None
    arguments: Raw | msgspec.UnsetType = UNSET
    meta: _Meta | None = msgspec.field(name="_meta", default=None)


class _Frame(msgspec.Struct):
    id: Any = None
    method: str | None = None
    params: Raw | msgspec.UnsetType = UNSET


class _Agreed(msgspec.Struct):
    protocolVersion: str


class _Initialized(msgspec.Struct):
    result: _Agreed


class _Tool(msgspec.Struct):
    name: str
    inputSchema: dict[str, Any]


_decode_frame = msgspec.json.Decoder(_Frame).decode
_decode_params = msgspec.json.Decoder(_Params).decode
_decode_initialized = msgspec.json.Decoder(_Initialized).decode
_decode_tool = msgspec.json.Decoder(_Tool).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode


def peek(frame: bytes) -> Outgoing:
    """Look at a frame that the engine made."""
    if frame.startswith(b"["):  # the replies to a batch
        return Outgoing(frame)
    found = _decode_frame(frame)
    method = found.method
    if method is None:
        return Outgoing(frame)
    try:
        params = _Params() if found.params is UNSET else _decode_params(found.params)
    except msgspec.ValidationError:  # of a shape that is nobody's business here
        params = _Params()
    named = getattr(params, _NAMED_BY[method]) if method in _NAMED_BY else None
    revision = params.meta.revision if params.meta is not None else None
    return Outgoing(
        frame,
        found.id,
        method,
        revision if isinstance(revision, str) else None,
        named if isinstance(named, str) else None,
        None if params.arguments is UNSET else params.arguments,
        params.requestId if method == "notifications/cancelled" else None,
    )


class Words:
    """What one connection's requests have to say, besides their frames.

    Attributes:
        session: The id of the legacy session; None without one.
        revision: What is spoken; None before that is known.
        modern: Whether that is a revision of single requests.
    """

    def __init__(self) -> None:
        self.session: str | None = None
        self.revision: str | None = None
        self.modern = False
        self._complaints = Complaints()
        self._mirrors: dict[str, tuple[Mirror, ...]] = {}

    def headers(self, out: Outgoing) -> dict[str, str]:
        """Return the headers of one POST.

        Raises:
            LocalProtocolError: Something that has to be in a header does not fit into one.
        """
        if out.method == "initialize":
            if self.modern:  # only tried, it turns out
                self.modern, self.revision = False, None
            return {}
        if out.revision is not None:
            self.revision, self.modern = out.revision, True
        if not self.modern or self.revision is None or out.method is None:
            return self.legacy_headers()
        headers = {"mcp-protocol-version": self.revision, "mcp-method": out.method}
        try:
            if out.name is not None:
                headers["mcp-name"] = encode_value(out.name)
            if out.method == "tools/call" and out.name in self._mirrors:
                headers |= param_headers(self._mirrors[out.name], _arguments(out))
        except ValueError as error:
            raise LocalProtocolError(f"{out.method!r:.80} cannot be sent over HTTP: {error}") from error
        return headers

    def legacy_headers(self) -> dict[str, str]:
        """Return what every request of a legacy session says (HTTP-42, HTTP-47)."""
        headers: dict[str, str] = {}
        if self.session is not None:
            headers["mcp-session-id"] = self.session
        if self.revision is not None and self.revision >= FIRST_WITH_HEADER:
            headers["mcp-protocol-version"] = self.revision
        return headers

    def learn(self, out: Outgoing, reply: bytes, headers: Mapping[str, str]) -> bytes:
        """Take the reply to a call; return it as the engine is to have it.

        Args:
            out: The call.
            reply: Its reply.
            headers: Those of the response that brought it.

        Raises:
            RemoteProtocolError: The session id is not legal.
        """
        if out.method == "initialize":
            self._agree(reply, headers.get("mcp-session-id"))
        elif out.method == "tools/list" and out.revision is not None:
            return self._note_tools(reply)
        return reply

    def _agree(self, reply: bytes, session: str | None) -> None:
        try:
            self.revision = _decode_initialized(reply).result.protocolVersion
        except (msgspec.DecodeError, RecursionError):  # a refusal, or nothing that the engine will take
            return
        if session is not None and not (0 < len(session) <= MAX_SESSION_ID and all("!" <= c <= "~" for c in session)):
            raise RemoteProtocolError("the server's Mcp-Session-Id is not legal: 1 to 1024 visible ASCII characters")
        self.session = session

    def _note_tools(self, reply: bytes) -> bytes:
        """Remember which arguments are mirrored, and drop the tools whose annotations are wrong (HTTP-62)."""
        if not self._mirrors and ANNOTATION.encode() not in reply:
            return reply
        try:
            message = _decode_members(reply)
            result = _decode_members(message["result"])
            tools = [(_decode_tool(raw), raw) for raw in _decode_items(result["tools"])]
        except (msgspec.DecodeError, KeyError, RecursionError):  # an error, or nothing that the engine will take
            return reply
        kept = [raw for tool, raw in tools if self._note(tool)]
        if len(kept) == len(tools):
            return reply
        return msgspec.json.encode(message | {"result": result | {"tools": kept}})

    def _note(self, tool: _Tool) -> bool:
        self._mirrors.pop(tool.name, None)
        try:
            mirrors = mirrored(tool.inputSchema)
        except ValueError as error:
            self._complaints.tell("dropped the tool %.80r from the server's list: %s", tool.name, excerpt(error))
            return False
        if mirrors and len(self._mirrors) < MAX_MIRRORED:
            self._mirrors[tool.name] = mirrors
        return True


def _arguments(out: Outgoing) -> dict[str, Any] | None:
    arguments: Any = None if out.arguments is None else msgspec.json.decode(out.arguments)
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else None
