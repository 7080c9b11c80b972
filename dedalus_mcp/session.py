"""The lifecycle of a conversation, seen by the server, without I/O.

Each request is classified by itself, so no era is ever locked:

    request ──▶ its _meta names a protocol version ──▶ modern: terms of this request alone
            ──▶ `initialize`                       ──▶ legacy: a session is agreed, once
            ──▶ anything else                      ──▶ legacy: the terms of that session

Layer: L2; imports `errors` and `types` only.
Source: MCP 2026-07-28, basic/versioning; 2025-11-25, basic/lifecycle.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import fields

from dedalus_mcp.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    McpError,
)
from dedalus_mcp.types import ClientCapabilities, Implementation, InitializeRequestParams, LoggingLevel, Root
from dedalus_mcp.types.messages import Meta
from dedalus_mcp.types.meta import CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY, PROTOCOL_VERSION_KEY
from dedalus_mcp.types.methods import REQUESTS
from dedalus_mcp.types.revisions import LATEST_LEGACY, LEGACY, MODERN

__all__ = ("ServerSession", "Terms", "negotiate", "read_meta")

# Before the client has set a threshold, the server picks one (LOG-02).
DEFAULT_LOG_LEVEL: LoggingLevel = "info"
# Bytes of a `_meta` that is worth remembering; those of the usual clients have 150 to 300.
MAX_KNOWN = 1024


class Terms(msgspec.Struct, eq=False, gc=False):  # of every modern request, and no part of a cycle
    """What holds between server and client while one request is answered.

    Attributes:
        revision: The protocol revision that both speak.
        client_info: Who the client says it is; None where it did not say.
        capabilities: What the client can do.
        log_level: The least severe log level to send; None for no log messages at all.
        lasting: Whether they may hold for later messages of the client, too.
        roots: The client's roots, as long as it would tell if they changed; None where they are not known.
        roots_version: Rises when they change.
    """

    revision: str
    client_info: Implementation | None
    capabilities: ClientCapabilities
    log_level: LoggingLevel | None
    lasting: bool = True
    roots: tuple[Root, ...] | None = None
    roots_version: int = 0

    def forget_roots(self) -> None:
        """The client has told that its roots have changed."""
        self.roots = None
        self.roots_version += 1

    @property
    def modern(self) -> bool:
        """Whether the request stands alone, without a session."""
        return self.revision in MODERN


class ServerSession:
    """What was agreed on one connection, if anything was.

    Args:
        agreed: What was agreed on elsewhere; None before `initialize`.
        lasting: See below.

    Attributes:
        agreed: The terms of the legacy session; None before `initialize`.
        lasting: Whether it outlives one message, so that what a client sets has an effect.
    """

    __slots__ = ("agreed", "lasting")

    def __init__(self, agreed: Terms | None = None, *, lasting: bool = True) -> None:
        self.agreed = agreed
        self.lasting = lasting
        if agreed is not None:
            agreed.lasting = lasting

    def terms(self, method: str, meta: Meta | Raw | UnsetType | None) -> Terms:
        """Return the terms that this request is to be answered under.

        Args:
            method: The request's method.
            meta: The request's `_meta`, read or as it came.

        Raises:
            DecodeError, RecursionError: It is nothing that a `_meta` can be.
            McpError: -32601, the revision has no such method; -32602, the modern envelope is
                not complete; -32022, its version is not spoken here; -32600, there is no
                session yet.
        """
        envelope = _envelope_of(meta)
        if envelope is not None:
            terms = Terms(envelope.version, envelope.client_info, envelope.capabilities, envelope.log_level)
        elif self.agreed is not None:
            terms = self.agreed
        else:
            terms = self._terms_before_handshake(method)
        known = REQUESTS.get(method)
        if known is None or terms.revision not in known.client_sends:
            raise McpError(METHOD_NOT_FOUND, f"Method not found: {method:.80} (in revision {terms.revision})")
        return terms

    def initialize(self, params: InitializeRequestParams) -> Terms:
        """Agree on a session.

        Raises:
            McpError: -32600, there is a session already; it is left as it was.
        """
        if self.agreed is not None:
            raise McpError(INVALID_REQUEST, "Invalid request: the session is initialized already")
        revision = negotiate(params.protocolVersion)
        self.agreed = Terms(revision, params.clientInfo, params.capabilities, DEFAULT_LOG_LEVEL)
        return self.agreed

    def set_log_level(self, level: LoggingLevel) -> None:
        """Send the session's later log messages from this level on.

        Raises:
            McpError: -32600, there is no session; -32603, the level cannot be kept, and differs from
                the one that holds.
        """
        if self.agreed is None:
            raise McpError(INVALID_REQUEST, "Invalid request: the session is not initialized")
        if not self.lasting and level != self.agreed.log_level:
            why = f"the log level stays at {self.agreed.log_level!r}: this server keeps no sessions"
            raise McpError(INTERNAL_ERROR, f"Cannot be configured: {why}")
        self.agreed.log_level = level

    def _terms_before_handshake(self, method: str) -> Terms:
        known = REQUESTS.get(method)
        if method in ("initialize", "ping"):
            return _STRANGER
        if known is not None and not any(revision in known.client_sends for revision in LEGACY):
            raise _incomplete({})  # the version at least is missing
        raise McpError(
            INVALID_REQUEST,
            "Invalid request: the session is not initialized; send `initialize` first, or put "
            f"{PROTOCOL_VERSION_KEY} and {CLIENT_CAPABILITIES_KEY} into `_meta`",
        )


_STRANGER = Terms(LATEST_LEGACY, None, ClientCapabilities(), None)


def negotiate(requested: str) -> str:
    """Return the legacy revision to speak with a client that asks for `requested` (LIFE-03)."""
    return requested if requested in LEGACY else LATEST_LEGACY


def read_meta(meta: Meta | Raw | UnsetType | None) -> Meta:
    """Return the `_meta` of a request, which may not be read yet; nothing for none.

    Raises:
        DecodeError, RecursionError: It is neither an object nor null.
    """
    if isinstance(meta, Raw):
        meta = _decode_meta(meta)
    return {} if meta is None or meta is UNSET else meta


class _Envelope(msgspec.Struct, frozen=True):
    version: str = msgspec.field(name=PROTOCOL_VERSION_KEY)
    capabilities: ClientCapabilities = msgspec.field(name=CLIENT_CAPABILITIES_KEY)
    client_info: Implementation | None = msgspec.field(name=CLIENT_INFO_KEY, default=None)
    log_level: LoggingLevel | None = msgspec.field(name=LOG_LEVEL_KEY, default=None)


_decode_meta = msgspec.json.Decoder(Meta | None).decode


def _envelope_of(meta: Meta | Raw | UnsetType | None) -> _Envelope | None:
    """Return what a request of 2026-07-28 says of itself; None for one that does not name its version."""
    if isinstance(meta, Raw):
        raw = bytes(meta)
        return _known_envelope(raw) if len(raw) <= MAX_KNOWN else _envelope_in(raw)
    return None if meta is None or meta is UNSET else _envelope(meta)


def _envelope_in(raw: bytes) -> _Envelope | None:
    return _envelope(_decode_meta(raw) or {})


_known_envelope = lru_cache(maxsize=256)(_envelope_in)  # one for each client, but for what changes from call to call


def _envelope(meta: Meta) -> _Envelope | None:
    if PROTOCOL_VERSION_KEY not in meta:
        return None
    try:
        envelope = msgspec.convert(meta, _Envelope)
    except msgspec.ValidationError:
        raise _incomplete(meta) from None
    # The order is that of `backcompat`: what is missing comes before what is not spoken.
    if envelope.version not in MODERN:
        data = {"supported": list(MODERN), "requested": envelope.version}
        raise McpError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)
    return envelope


def _incomplete(meta: Meta) -> McpError:
    """Say which member is wrong: the path that msgspec gives does not tell dots of a name from its own."""
    faults = (_fault(field.encode_name, meta.get(field.encode_name), field.type) for field in fields(_Envelope))
    return McpError(INVALID_PARAMS, f"Invalid params: `_meta` {next(filter(None, faults))}")


def _fault(key: str, value: Any, kind: Any) -> str | None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return f"member {key}: {error}"
    return None
