"""Answers one client on one connection: which route a call takes, and in whose words.

    call ──▶ params ──▶ terms (era, revision) ──▶ route ──▶ result ──▶ shaped for its reader

Layer: L4.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dedalus_mcp.errors import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    RESOURCE_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    CapabilityMissing,
    McpError,
)
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.failures import only_mcp_error
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Notice
from dedalus_mcp.server.capabilities import promised
from dedalus_mcp.server.context import Context, current
from dedalus_mcp.server.hints import hinted
from dedalus_mcp.server.results import described
from dedalus_mcp.server.routes import (
    AT_ONCE,
    HANDLED,
    LISTS,
    Handled,
    list_anew,
    list_enabled_tools,
    subscribe_elsewhere,
)
from dedalus_mcp.server.session_listener import SessionListener
from dedalus_mcp.server.sessions import Session
from dedalus_mcp.server.tools import ToolCall
from dedalus_mcp.session import ServerSession, Terms
from dedalus_mcp.types import InitializeResult, RequestParams
from dedalus_mcp.types.messages import InputResponseRequestParams, Meta
from dedalus_mcp.types.methods import CARRIERS, REQUESTS, ROOTS_LIST_CHANGED
from dedalus_mcp.types.revisions import LATEST_LEGACY, V2025_03_26, complete, shape

if TYPE_CHECKING:
    from dedalus_mcp.server.server import MCPServer

__all__ = ("Answering",)

logger = logging.getLogger("dedalus_mcp")

MAX_HANDSHAKE = 64 << 10
"""Bytes that a client may say of itself: a session keeps them, anybody may begin one, and icons have URLs."""


class Answering:
    """The `Handler` of a server's peer.

    Args:
        server: Whose tools, prompts and resources they are.
        session: What is agreed on already; nothing if None.

    Attributes:
        server: As given.
        session: What was agreed with the client.
        client: The client, where a session was agreed on here that lasts.
    """

    __slots__ = ("_hearing", "client", "server", "session")

    def __init__(self, server: MCPServer, session: ServerSession | None = None) -> None:
        self.server = server
        self.session = session or ServerSession()
        self.client: Session | None = None
        self._hearing: SessionListener | None = None

    @property
    def agreed(self) -> Terms | None:
        """The terms that were agreed on; None before, and without a session."""
        return self.session.agreed

    @property
    def revision(self) -> str | None:
        """The legacy revision that was agreed on; None before, and without a session."""
        return None if self.session.agreed is None else self.session.agreed.revision

    def answer(self, call: Inbound) -> Any:
        """Answer one call: what runs no user code at once, the rest in a coroutine.

        Raises:
            McpError: The error to reply with.
        """
        params, terms = self._open(call)
        if (handled := self._handled(call.method)) is not None:
            context = Context(self.server, call.peer, call, terms, params.meta)
            if terms.modern and call.method in CARRIERS and _has_answers(params):
                return self._retry(handled, params, context)
            return self._handle(handled, params, context)
        if call.method == "initialize":
            return self._agree(call, params)
        hint = self.server.config.cache_hints.get(call.method)
        return self._shaped(hinted(AT_ONCE[call.method](self, call, params), hint), terms)

    def _agree(self, call: Inbound, params: Any) -> InitializeResult:
        """Answer `initialize`, and begin the session."""
        if call.batch is not None:
            raise McpError(INVALID_REQUEST, "Invalid request: `initialize` stands alone, never in a batch")
        if len(bytes(call.params)) > MAX_HANDSHAKE:
            raise McpError(INVALID_PARAMS, f"Invalid params: those of `initialize` have {MAX_HANDSHAKE} bytes at most")
        result: InitializeResult = AT_ONCE[call.method](self, call, params)
        call.peer.batches = result.protocolVersion == V2025_03_26
        if self.session.lasting and self.session.agreed is not None:
            self._hearing = SessionListener(self.server.listeners, call.peer, promised(result.capabilities))
            call.peer.at_end(self._hearing.leave)
            carrier = call.channel.carrier
            principal = None if carrier is None else carrier.principal
            self.client = Session(self.server, call.peer, self.session.agreed, principal)
            clients = self.server.sessions.here()
            clients[self.client] = None
            call.peer.at_end(partial(clients.pop, self.client))
        return shape(result, result.protocolVersion)

    def _handled(self, method: str) -> Handled | None:
        handled = HANDLED.get(method)
        if handled is not None:
            return handled
        if method in LISTS and self.server.before_lists:
            return partial(list_anew, self)
        if method == "tools/list" and self.server.tools.conditional:
            return list_enabled_tools
        if method == "resources/subscribe" and self.server.resources.unlisted:
            return partial(subscribe_elsewhere, self)
        return None

    def frees_others(self, call: Inbound) -> bool:
        """Whether it brings the answers that a parked call waits for, which may hold what others wait for."""
        return call.method in CARRIERS and call.params is not UNSET and b'"requestState"' in bytes(call.params)

    def hear(self, notice: Notice) -> None:
        """Take a notice; most need nothing done."""
        if notice.method == ROOTS_LIST_CHANGED.name and self.session.agreed is not None:
            self.session.agreed.forget_roots()

    def hearing(self) -> SessionListener:
        """Return what the session hears of.

        Raises:
            McpError: -32600, there is no session; -32601, it does not last.
        """
        if not self.session.lasting:
            raise McpError(METHOD_NOT_FOUND, "Method not found: this server keeps no sessions, and no subscriptions")
        if self._hearing is None:
            raise McpError(INVALID_REQUEST, "Invalid request: there is no session that could hear of changes")
        return self._hearing

    async def _handle(self, handled: Handled, params: Any, context: Context) -> Any:
        current.set(context)
        try:
            try:
                result = await handled(self.server, params)
            except Exception as error:
                told = self._told(error, context)
                if told is error:
                    raise
                raise told from error
            result = self._shaped(result, context.terms)
        except BaseException as error:
            if context.parked is None or not context.parked.end(error):
                raise
            return None
        if context.parked is None or not context.parked.end(result):
            return result
        return None  # the request is replied to already: a retry gets the result

    async def _retry(self, handled: Handled, params: InputResponseRequestParams, context: Context) -> Any:
        """Answer what brings answers: with what the call leads to that it goes on with, or by running it."""
        parking = self.server.parkings.here()
        if params.requestState is None:  # no retry of ours, but questions may be answered before they are asked
            context.park(parking.begin(context, params.inputResponses))
            return await self._handle(handled, params, context)
        return await parking.retry(params, context, partial(self._handle, handled, params))

    def _told(self, error: Exception, context: Context) -> Exception:
        """Return what the client is told of an exception; as it is, it is an internal error."""
        found = only_mcp_error(error)
        if found is not None:
            return _in_words_of(context, found)
        if self.server.config.mask_errors:
            return error
        logger.error("%r failed", context.call.method, exc_info=error)
        return McpError(INTERNAL_ERROR, f"Internal error: {described(error)}")

    def _shaped(self, result: Any, terms: Terms) -> Any:
        return complete(result, terms.revision, self.server.info)

    def _open(self, call: Inbound) -> tuple[Any, Terms]:
        """Decode the params once, and find the terms; what is wrong first is said first."""
        if call.params is not UNSET and memoryview(call.params)[0] != _BRACE:
            raise McpError(INVALID_PARAMS, "Invalid params: `params` is an object")
        raw = _NOTHING if call.params is UNSET else call.params
        try:
            params: Any = _decode(call.method, raw)
            return params, self._terms(call.method, params.meta)
        except (msgspec.DecodeError, RecursionError) as error:
            self._terms(call.method, _meta(raw))  # raises, if that is wrong already
            fault = _fault_of_meta(raw) or error
            why = "nested too deeply" if isinstance(fault, RecursionError) else excerpt(fault)
            raise McpError(INVALID_PARAMS, f"Invalid params: {why}") from None

    def _terms(self, method: str, meta: Meta | Raw | UnsetType | None) -> Terms:
        """Find the terms of a call; a method with nothing behind it is none (DISC-05)."""
        terms = self.session.terms(method, meta)
        if not self.server.offers(method) or not (method in HANDLED or method in AT_ONCE):
            raise McpError(METHOD_NOT_FOUND, f"Method not found: {method:.80}")
        return terms


def _in_words_of(context: Context, error: McpError) -> McpError:
    """Return an error as the revision knows it: some codes belong to other revisions alone (RPC-27)."""
    if context.modern and isinstance(error, CapabilityMissing):
        data = {"requiredCapabilities": error.required}
        return McpError(MISSING_REQUIRED_CLIENT_CAPABILITY, error.message, data)
    if context.modern and error.code == RESOURCE_NOT_FOUND:
        return McpError(INVALID_PARAMS, error.message, error.data)
    if error.code == HEADER_MISMATCH:  # the transport's alone: clients make a call again that was refused so
        return McpError(INTERNAL_ERROR, error.message, error.data)
    if error.code == URL_ELICITATION_REQUIRED and context.revision != LATEST_LEGACY:
        return McpError(INTERNAL_ERROR, error.message)
    return error


def _has_answers(params: InputResponseRequestParams) -> bool:
    return params.requestState is not None or params.inputResponses is not None


class _MetaOnly(msgspec.Struct):
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


_BRACE = ord("{")
_NOTHING = Raw(b"{}")
_decode_meta = msgspec.json.Decoder(_MetaOnly).decode
_decode_tool_call = msgspec.json.Decoder(ToolCall).decode


def _decode(method: str, raw: Raw) -> Any:
    """The params by the method; of a method that nobody knows, the `_meta` alone."""
    if method == "tools/call":
        return _decode_tool_call(raw)
    known = REQUESTS.get(method)
    return RequestParams(meta=_meta(raw)) if known is None else known.decode_params(raw)


def _meta(raw: Raw) -> Meta | None:
    try:
        return _decode_meta(raw).meta
    except (msgspec.DecodeError, RecursionError):
        return None


def _fault_of_meta(raw: Raw) -> Exception | None:
    """What is wrong about the `_meta`, and where in the params."""
    try:
        _decode_meta(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        return error
    return None
