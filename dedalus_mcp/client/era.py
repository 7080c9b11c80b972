"""Which era a server is of: what the answer to the probe says, without I/O.

    server/discover ──▶ Speak(revision)   modern: go on with it
                    ──▶ Retry(revision)   modern, but another version: ask once more
                    ──▶ Undiscovered()    modern, but without `server/discover`
                    ──▶ Handshake()       legacy: `initialize`
                    ──▶ an error          neither will work, or the answer says nothing

Layer: L4; no I/O.
Source: MCP 2026-07-28, basic/transports/stdio and streamable-http, "Backward compatibility".
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, Final, NamedTuple, Protocol, TypeAlias
from weakref import WeakSet

import msgspec

from dedalus_mcp.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    UNSUPPORTED_PROTOCOL_VERSION,
    MCPConnectionError,
    McpError,
    RemoteProtocolError,
)
from dedalus_mcp.types import DiscoverResult
from dedalus_mcp.types.revisions import LEGACY, MODERN

__all__ = (
    "EraStore",
    "Handshake",
    "MemoryEras",
    "Remembered",
    "Retry",
    "Speak",
    "Undiscovered",
    "Verdict",
    "after_discover",
    "after_refusal",
    "is_modern_refusal",
    "may_be_older",
    "says_era",
)


MAX_KEYS = 1024
"""Servers that are remembered by their key, at most."""


class Speak(NamedTuple):
    """The server is modern, and this is the newest revision that both speak."""

    revision: str


class Retry(NamedTuple):
    """The server is modern, but wants this revision."""

    revision: str


class Undiscovered(NamedTuple):
    """The server is modern, but does not know `server/discover`."""


class Handshake(NamedTuple):
    """The server is legacy."""


Verdict: TypeAlias = Speak | Retry | Undiscovered | Handshake


def after_discover(result: DiscoverResult) -> Verdict:
    """Judge the result of `server/discover`.

    Raises:
        RemoteProtocolError: There is no revision in common.
    """
    offered = result.supportedVersions
    common = _newest(MODERN, offered)
    if common is not None:
        return Speak(common)
    if _newest(LEGACY, offered) is not None:
        return Handshake()
    raise _nothing_in_common(offered)


def after_refusal(error: McpError | MCPConnectionError) -> Verdict:
    """Judge an error that answers `server/discover`; only a recognised modern one is no legacy (VER-10).

    Raises:
        RemoteProtocolError: The server is modern, but cannot be spoken with.
        MCPConnectionError, McpError: This very error, since it says nothing of the era.
    """
    if not says_era(error):
        raise error
    if isinstance(error, MCPConnectionError):
        return Handshake() if error.error is None else _after_answer(McpError(error.error), error.status_code)
    return _after_answer(error, _status(error))


def says_era(error: McpError | MCPConnectionError) -> bool:
    """Whether an error shows which era the server is of: who asks and how busy it is do not (AMB-09)."""
    status = _status(error)
    if status is None:
        return isinstance(error, McpError)
    return status < 500 and status not in (401, 403, 429) and not 300 <= status < 400


def _status(error: McpError | MCPConnectionError) -> int | None:
    """The HTTP status of an answer; None where there was none, or no HTTP."""
    http = error if isinstance(error, MCPConnectionError) else error.__cause__
    return http.status_code if isinstance(http, MCPConnectionError) else None


def _after_answer(error: McpError, status: int | None) -> Verdict:
    if error.code == METHOD_NOT_FOUND and status == 404:
        return Undiscovered()
    if error.code == UNSUPPORTED_PROTOCOL_VERSION:
        supported = _supported(error)
        common = _newest(MODERN, supported)
        if common is not None:
            return Retry(common)
        if not supported or _newest(LEGACY, supported) is not None:
            return Handshake()
        raise _nothing_in_common(supported)
    if error.code == MISSING_REQUIRED_CLIENT_CAPABILITY:
        raise RemoteProtocolError(f"the server needs a capability that this client lacks: {error.data!r:.200}")
    if error.code == HEADER_MISMATCH or (error.code == INVALID_PARAMS and "io.modelcontextprotocol/" in error.message):
        raise RemoteProtocolError(f"the server refused the probe: {error.message:.200}")
    return Handshake()


def is_modern_refusal(error: McpError | MCPConnectionError) -> bool:
    """Whether an error that answers `initialize` says that the server is modern after all."""
    if isinstance(error, MCPConnectionError):
        return error.error is not None and is_modern_refusal(McpError(error.error))
    return error.code == UNSUPPORTED_PROTOCOL_VERSION and _newest(MODERN, _supported(error)) is not None


def may_be_older(error: McpError | MCPConnectionError) -> bool:
    """Whether an error that answers `initialize` is what a server says that has only HTTP+SSE (HTTP-77, HTTP-78)."""
    status = _status(error)
    if status not in (400, 404, 405):
        return False
    said = error if isinstance(error, McpError) else error.error
    if said is None:
        return True
    is_modern = said.code in (HEADER_MISMATCH, MISSING_REQUIRED_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION)
    return not is_modern and not (said.code == METHOD_NOT_FOUND and status == 404)


class EraStore(Protocol):
    """What a program knows of servers from earlier runs: `MCPClient.connect(url, eras=...)` (VER-16).

    A mapping that is loaded at the start and saved at the end is enough.  Only servers of the
    legacy era are worth an entry: the probe of a modern one is its handshake.  What is wrong
    or has become so does no harm: it is found out, and corrected.  The methods are called in
    the event loop, so they must not block.
    """

    def get(self, key: str, /) -> str | None:
        """Return the revision that was put there, or None."""
        ...

    def put(self, key: str, revision: str, /) -> None:
        """Remember that the server spoke this revision.

        Args:
            key: The server: its URL, without user and query.
            revision: A legacy one.
        """
        ...

    def forget(self, key: str, /) -> None:
        """It does not hold, or not any more.  There need not be an entry."""
        ...


class MemoryEras:
    """The `EraStore` of those who bring none: of this process, and bounded."""

    def __init__(self) -> None:
        self._revisions: dict[str, str] = {}  # in order of discovery

    def get(self, key: str) -> str | None:
        """See `EraStore.get`."""
        return self._revisions.get(key)

    def put(self, key: str, revision: str) -> None:
        """See `EraStore.put`; beyond `MAX_KEYS` the oldest entry goes."""
        self._revisions[key] = revision
        if len(self._revisions) > MAX_KEYS:
            del self._revisions[next(iter(self._revisions))]

    def forget(self, key: str) -> None:
        """See `EraStore.forget`."""
        self._revisions.pop(key, None)


class Remembered:
    """Which targets turned out to be legacy, so that the next connection does not probe (VER-15).

    A target is remembered by its `era_key`, or else as long as it lives.

    Args:
        store: Where the keys are.
    """

    def __init__(self, store: EraStore | None = None) -> None:
        self._store: EraStore = MemoryEras() if store is None else store

    def is_legacy(self, target: object) -> bool:
        """Whether the target was legacy the last time."""
        key = _key(target)
        if key is not None:
            return self._store.get(key) in LEGACY
        return _memorable(target) and target in _LEGACY_TARGETS

    def take(self, target: object, revision: str) -> None:
        """Remember what was agreed on."""
        self.forget(target)
        key = _key(target)
        if revision not in LEGACY:
            return
        if key is not None:
            self._store.put(key, revision)
        elif _memorable(target):
            _LEGACY_TARGETS.add(target)

    def forget(self, target: object) -> None:
        """It did not hold: find out again."""
        key = _key(target)
        if key is not None:
            self._store.forget(key)
        elif _memorable(target):
            _LEGACY_TARGETS.discard(target)


_LEGACY_TARGETS: Final[WeakSet[Any]] = WeakSet()


def _key(target: object) -> str | None:
    key = getattr(target, "era_key", None)
    return key if isinstance(key, str) else None


def _memorable(target: object) -> bool:
    try:
        weakref.ref(target)
        hash(target)
    except TypeError:
        return False
    return True


class _Supported(msgspec.Struct):
    supported: list[Any]  # what is no string among them says nothing


def _newest(known: tuple[str, ...], offered: Iterable[str]) -> str | None:
    common = [revision for revision in known if revision in offered]
    return common[-1] if common else None


def _supported(error: McpError) -> list[str]:
    try:
        supported = msgspec.convert(error.data, _Supported).supported
    except msgspec.ValidationError:
        return []
    return [revision for revision in supported if isinstance(revision, str)]


def _nothing_in_common(offered: Iterable[str]) -> RemoteProtocolError:
    ours = ", ".join((*LEGACY, *MODERN))
    return RemoteProtocolError(f"no revision in common: the server speaks {', '.join(offered)[:200]}; we {ours}")
