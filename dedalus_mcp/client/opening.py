"""Opening a connection: the transport, the probe, and the handshake where it is needed.

    open ──▶ server/discover ──▶ modern, agreed
                   │ (no modern answer, or silence)
                   └──▶ initialize ──▶ legacy, agreed
                            │ (400, 404 or 405, over HTTP)
                            └──▶ the older transport ──▶ initialize ──▶ legacy, agreed

Layer: L4.
Source: MCP 2026-07-28, basic/versioning; 2025-11-25, basic/lifecycle.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

import anyio
import msgspec

from dedalus_mcp.client.delivery import Deliveries
from dedalus_mcp.client.era import (
    Handshake,
    Remembered,
    Retry,
    Speak,
    Verdict,
    after_discover,
    after_refusal,
    is_modern_refusal,
    may_be_older,
    says_era,
)
from dedalus_mcp.client.handlers import Handlers
from dedalus_mcp.client.link import Agreement, Link
from dedalus_mcp.client.patience import pause_before_repeat
from dedalus_mcp.errors import (
    METHOD_NOT_FOUND,
    ConnectionLost,
    DedalusError,
    MCPConnectionError,
    McpError,
    RemoteProtocolError,
    RequestTimeout,
)
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.transport import Duplex, Target
from dedalus_mcp.types import (
    DiscoverResult,
    Implementation,
    InitializeRequestParams,
    NotificationParams,
    PaginatedRequestParams,
    RequestParams,
    ServerCapabilities,
)
from dedalus_mcp.types.meta import SERVER_INFO_KEY
from dedalus_mcp.types.methods import DISCOVER, INITIALIZE, INITIALIZED, TOOLS_LIST
from dedalus_mcp.types.revisions import LATEST, LATEST_LEGACY, LEGACY, MODERN, REVISIONS

__all__ = ("Opening", "initialize", "open_link")


remembered = Remembered()


class Opening(NamedTuple):
    """How to open a connection.

    Attributes:
        make_handlers: Makes what answers the server.
        info: Who we are.
        revision: The one revision to speak; None to find out.
        timeout: How long the server may take for the handshake; None for no limit.
        probe_timeout: How long it may keep silent before it counts as legacy.
        never_silent: Whether silence is a failure instead: see `Target`.
        eras: What is known of servers.
    """

    make_handlers: Callable[[Deliveries], Handlers]
    info: Implementation
    revision: str | None
    timeout: Timeout | None
    probe_timeout: Timeout
    never_silent: bool = False
    eras: Remembered = remembered


class _HandshakeRefused(Exception):
    """A server refused `initialize` as one does that has only the older transport."""

    def __init__(self, error: McpError | MCPConnectionError) -> None:
        super().__init__()
        self.error = error


_Agree: TypeAlias = Callable[[Link, Opening], Awaitable[Agreement]]


class _EndedByProbe(Exception):
    """The connection ended while the probe waited for its answer."""

    def __init__(self, lost: ConnectionLost) -> None:
        super().__init__()
        self.lost = lost


async def open_link(target: Target, opening: Opening) -> tuple[Link, Agreement]:
    """Connect to a server and agree on a revision.

    Raises:
        ValueError: There is no such revision.
        OSError: The connection cannot be made.
        ConnectionLost: It ended meanwhile; the reason says what the server left behind.
        RequestTimeout: The server did not answer the handshake in time.
        RemoteProtocolError: There is no revision in common, or the server's answer is not legal.
        McpError: The server refused the handshake.
        MCPConnectionError: It refused it at the HTTP level, or cannot be reached.
    """
    opening = opening._replace(never_silent=getattr(target, "never_silent", False))
    if opening.revision is not None and opening.revision not in REVISIONS:
        raise ValueError(f"no protocol revision {opening.revision!r}; legal are {', '.join(REVISIONS)}")
    try:
        return await _opened(target, opening)
    except _HandshakeRefused as refused:
        return await _opened_older(target, opening, refused.error)


async def _opened(target: Target, opening: Opening) -> tuple[Link, Agreement]:
    if opening.revision in LEGACY or (opening.revision is None and getattr(target, "only_legacy", False)):
        return await _agreed(await target.open(), opening, _shake_hands)
    if opening.revision is None and opening.eras.is_legacy(target):
        try:
            return await _agreed(await target.open(), opening, initialize)
        except (McpError, MCPConnectionError, RemoteProtocolError, RequestTimeout, ConnectionLost) as error:
            if isinstance(error, MCPConnectionError) and not says_era(error):
                raise
            opening.eras.forget(target)
    link, agreement = await _found_out(target, opening)
    opening.eras.take(target, agreement.revision)
    return link, agreement


async def _opened_older(
    target: Target, opening: Opening, refused: McpError | MCPConnectionError
) -> tuple[Link, Agreement]:
    """Try the older transport of a target, whose newer one was refused so."""
    older: Target | None = getattr(target, "older", None)
    if older is None:
        raise refused
    try:
        return await _agreed(await older.open(), opening, initialize)
    except (OSError, DedalusError) as error:
        refused.add_note(f"The older transport was tried too: {error}")
        raise refused from error


async def _found_out(target: Target, opening: Opening) -> tuple[Link, Agreement]:
    try:
        return await _agreed(await target.open(), opening, _probe)
    except _EndedByProbe as ended:
        lost = ended.lost
        if opening.revision is not None:
            raise lost from None
    # Some legacy servers end at the first request they do not know: once more, without it.
    try:
        duplex = await target.open()
    except OSError as error:  # a connection that cannot be made twice: what ended it is the news
        raise lost from error
    return await _agreed(duplex, opening, _shake_hands)


async def _agreed(duplex: Duplex, opening: Opening, agree: _Agree) -> tuple[Link, Agreement]:
    link = Link(duplex, opening.make_handlers, opening.info)
    try:
        return link, await agree(link, opening)
    except BaseException:
        await link.close("no revision was agreed on")
        raise


async def _probe(link: Link, opening: Opening) -> Agreement:
    revision = opening.revision or LATEST
    for _ in range(2):
        link.speak(revision)
        verdict, result = await _discover(link, opening)
        if isinstance(verdict, Speak) and result is not None:
            link.speak(verdict.revision)
            return _discovered(verdict.revision, result)
        if isinstance(verdict, Handshake):
            if opening.revision is not None:
                raise RemoteProtocolError(f"the server does not speak {opening.revision}")
            return await _shake_hands(link, opening)
        if isinstance(verdict, Retry):
            revision = verdict.revision
        else:
            return await _undiscovered(link, opening, revision)
    raise RemoteProtocolError(f"the server refuses {revision}, which it said it speaks")


async def _discover(link: Link, opening: Opening) -> tuple[Verdict, DiscoverResult | None]:
    patience = opening.timeout if opening.never_silent else opening.probe_timeout
    try:
        result = await _asked_twice_if_busy(link, patience)
    except (McpError, MCPConnectionError) as error:
        return after_refusal(error), None
    except ConnectionLost as error:
        raise _EndedByProbe(error) from error
    except RequestTimeout:
        if opening.never_silent:
            raise
        return Handshake(), None
    except RemoteProtocolError:  # an answer that is none
        return Handshake(), None
    return after_discover(result), result


async def _asked_twice_if_busy(link: Link, timeout: Timeout | None) -> DiscoverResult:
    try:
        return await link.request(DISCOVER, RequestParams(), timeout=timeout)
    except MCPConnectionError as error:
        pause = pause_before_repeat(error, timeout)
        if pause is None:
            raise
        await anyio.sleep(pause)
        return await link.request(DISCOVER, RequestParams(), timeout=timeout)


def _discovered(revision: str, result: DiscoverResult) -> Agreement:
    info = (result.meta or {}).get(SERVER_INFO_KEY)
    return Agreement(
        revision=revision,
        server_info=_implementation(info),
        capabilities=result.capabilities,
        instructions=result.instructions,
    )


async def _undiscovered(link: Link, opening: Opening, revision: str) -> Agreement:
    """Go on without `server/discover` if another request works, or is refused for its own sake."""
    try:
        await link.request(TOOLS_LIST, PaginatedRequestParams(), timeout=opening.timeout)
    except McpError as error:
        if error.code == METHOD_NOT_FOUND:
            raise RemoteProtocolError(f"the server speaks {revision}, but knows no request of it") from error
    return Agreement(revision=revision, server_info=None, capabilities=ServerCapabilities(), instructions=None)


async def _shake_hands(link: Link, opening: Opening) -> Agreement:
    try:
        return await initialize(link, opening)
    except (McpError, MCPConnectionError) as error:
        if may_be_older(error):
            raise _HandshakeRefused(error) from error
        raise


async def initialize(link: Link, opening: Opening) -> Agreement:
    """Shake hands with a legacy server, the first time or again after it has lost the session.

    Raises:
        RemoteProtocolError: There is no revision in common.
        RequestTimeout, ConnectionLost, McpError, MCPConnectionError: See `open_link`.
    """
    wanted = opening.revision or LATEST_LEGACY
    link.speak(wanted)
    params = InitializeRequestParams(
        protocolVersion=wanted, capabilities=link.capabilities_in(wanted), clientInfo=opening.info
    )
    try:
        result = await link.request(INITIALIZE, params, timeout=opening.timeout)
    except (McpError, MCPConnectionError) as error:
        if opening.revision is None and is_modern_refusal(error):  # it answered the probe too late
            return await _probe(link, opening._replace(revision=MODERN[-1]))
        raise
    agreed = result.protocolVersion
    if agreed not in LEGACY or (opening.revision is not None and agreed != opening.revision):
        raise RemoteProtocolError(f"the server answered {wanted} with {agreed!r:.80}, which is not spoken here")
    link.speak(agreed)
    link.notify(INITIALIZED, NotificationParams())
    return Agreement(
        revision=agreed,
        server_info=result.serverInfo,
        capabilities=result.capabilities,
        instructions=result.instructions,
    )


def _implementation(info: object) -> Implementation | None:
    """What a result's `_meta` says of the server; nothing depends on it, so a bad one is none."""
    try:
        return None if info is None else msgspec.convert(info, Implementation)
    except msgspec.ValidationError:
        return None
