"""How a client behaves: what may be set, for one connection and for a group of them alike.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypedDict

from dedalus_mcp.client.answers import Answers, ElicitationHandler, SamplingHandler, UrlElicitationHandler
from dedalus_mcp.client.cache import MemoryCache, ResponseCache
from dedalus_mcp.client.conduct import Conduct, RepeatHandler, SessionLostHandler
from dedalus_mcp.client.delivery import check_callback
from dedalus_mcp.client.era import EraStore, Remembered
from dedalus_mcp.client.handlers import Handlers
from dedalus_mcp.client.known_tools import checks_outputs
from dedalus_mcp.client.notices import Callbacks, ListChangedHandler, LoggingHandler, ResourceUpdatedHandler
from dedalus_mcp.client.opening import Opening, remembered
from dedalus_mcp.client.roots import RootsSource
from dedalus_mcp.client.rounds import MAX_ROUNDS
from dedalus_mcp.client.timeouts import TimeoutLike, timeout_of
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.types import Implementation
from dedalus_mcp.types.methods import (
    MESSAGE,
    PROMPTS_LIST_CHANGED,
    RESOURCES_LIST_CHANGED,
    RESOURCES_UPDATED,
    TOOLS_LIST_CHANGED,
)

__all__ = ("ClientSettings", "conduct_of")

TIMEOUT = 60.0
PROBE_TIMEOUT = 5.0


class ClientSettings(TypedDict, total=False):
    """What `MCPClient.connect` takes by keyword besides the target; each may be left out.

    What the client can do is declared exactly as handlers are given.  Each takes one argument: the
    params of what it answers or hears.

    Attributes:
        elicitation: Answers the server's questions to the user: an async function, or a
            plain one that runs in a worker thread.  It takes `ElicitRequestParams`, or a
            `Form` if its parameter is annotated so, and returns an `ElicitResult`, or the
            content of an accepted one.
        elicitation_url: Answers requests to send the user to a page (2025-11-25 and later).
        sampling: Asks your model for the server; called as `elicitation` is.
        sampling_tools: Whether it takes tools (2025-11-25 and later).
        roots: The roots to tell servers of: `Root` objects, ``file:`` URIs, `pathlib.Path`s; or
            a function, plain or async, that returns them.
        extensions: The extensions of the protocol that you speak, by id, with their settings (2026-07-28).
        logging: Hears log messages, from level "info" on: see `set_logging_level`.
        tools_list_changed: Hears that the tools are others now, or may be: list them again.
        prompts_list_changed: The same for prompts.
        resources_list_changed: The same for resources and templates.
        resource_updated: Hears of changes of the resources of `subscribe_resource`, in order.
        revision: The one protocol revision to speak; None to find out the newest in common.
        client_info: Who you are.
        timeout: How long to wait for replies where a call does not say, in seconds or as a
            `Timeout`; None for no limit; a minute if not given.  It stands still while the user is asked.
        probe_timeout: How long a server may ignore the probe for 2026-07-28 before it
            counts as an older one, in seconds; five if not given.
        max_rounds: How often the server may ask back before it answers one request (2026-07-28); ten if not given.
        headers: What every request to a URL says; this and the next two are for a URL only,
            and `StreamableHttp` takes more.
        auth: An `httpx.Auth`, or whatever else the HTTP client takes for `auth=`.
        http_client: An `httpx.AsyncClient` or `httpx2.AsyncClient` of yours; not closed.
        eras: What is known of servers from earlier runs, so that those of an older revision
            are not probed again; None for what this process has found out.
        cache: Where results are kept for as long as the server allows (2026-07-28); None for nowhere.
            If not given, in memory and for this client alone.
        principal: On whose behalf the client asks, where `cache` serves several clients: what is
            private is shared with those of the same name, and with nobody if not given.
        check_outputs: Whether a tool's result is held against the output schema that the tool was
            listed with; an `InvalidOutput` is raised where it does not fit.  None, or not given:
            where `dedalus-mcp[schema]` is installed.
        on_session_lost: Hears that the server had forgotten the session (it was restarted,
            say), once there is a new one, with the log level and the subscriptions of the old
            one.  Whatever else the server kept for it is gone.
        on_repeat: Hears that a request is made once more, since the first time it failed in a way
            that may pass, and does no more the second time.
    """

    elicitation: ElicitationHandler | None
    elicitation_url: UrlElicitationHandler | None
    sampling: SamplingHandler | None
    sampling_tools: bool
    roots: RootsSource | None
    extensions: Mapping[str, Mapping[str, Any]] | None
    logging: LoggingHandler | None
    tools_list_changed: ListChangedHandler | None
    prompts_list_changed: ListChangedHandler | None
    resources_list_changed: ListChangedHandler | None
    resource_updated: ResourceUpdatedHandler | None
    revision: str | None
    client_info: Implementation | None
    timeout: TimeoutLike
    probe_timeout: float
    max_rounds: int
    headers: Mapping[str, str] | None
    auth: Any
    http_client: Any
    eras: EraStore | None
    cache: ResponseCache | None
    principal: str | None
    check_outputs: bool | None
    on_session_lost: SessionLostHandler | None
    on_repeat: RepeatHandler | None


def conduct_of(settings: ClientSettings) -> Conduct:
    """Check settings and complete them.

    Raises:
        TypeError: There is no such setting; a handler is no function of one argument; another is of the wrong kind.
        ImportError: `check_outputs` is True, and the extra `schema` is not installed.
        ValueError: A value is not legal; the text says which is.
    """
    unknown = settings.keys() - ClientSettings.__annotations__.keys()
    if unknown:
        raise TypeError(f"no setting {min(unknown)!r:.80}; legal are {', '.join(ClientSettings.__annotations__)}")
    callbacks: Callbacks = {
        MESSAGE: settings.get("logging"),
        TOOLS_LIST_CHANGED: settings.get("tools_list_changed"),
        PROMPTS_LIST_CHANGED: settings.get("prompts_list_changed"),
        RESOURCES_LIST_CHANGED: settings.get("resources_list_changed"),
        RESOURCES_UPDATED: settings.get("resource_updated"),
    }
    asked = (settings.get("elicitation"), settings.get("elicitation_url"), settings.get("sampling"))
    told = (settings.get("on_session_lost"), settings.get("on_repeat"))
    for handler in (*asked, *callbacks.values(), *told):
        check_callback(handler)
    info, cache = settings.get("client_info"), settings.get("cache")
    if not isinstance(info, Implementation | None):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers err
        raise TypeError(f"client_info is an Implementation(name=..., version=...), not {info!r:.80}")
    if not (cache is None or hasattr(cache, "put")):
        raise TypeError(f"cache is a MemoryCache(), another ResponseCache or None, not {cache!r:.80}")
    max_rounds = settings.get("max_rounds", MAX_ROUNDS)
    if max_rounds < 0:
        raise ValueError(f"max_rounds is a count >= 0, not {max_rounds!r}")
    eras = settings.get("eras")
    opening = Opening(
        make_handlers=partial(Handlers, answers=_answers(settings), callbacks=callbacks),
        info=info or Implementation(name="dedalus-mcp", version="0"),
        revision=settings.get("revision"),
        timeout=timeout_of(settings.get("timeout", TIMEOUT)),
        probe_timeout=Timeout(settings.get("probe_timeout", PROBE_TIMEOUT)),
        eras=remembered if eras is None else Remembered(eras),
    )
    return Conduct(
        opening=opening,
        max_rounds=max_rounds,
        cache=cache if "cache" in settings else MemoryCache(),
        principal=settings.get("principal"),
        check_outputs=checks_outputs(settings.get("check_outputs")),
        on_session_lost=settings.get("on_session_lost"),
        on_repeat=settings.get("on_repeat"),
    )


def _answers(settings: ClientSettings) -> Answers:
    return Answers(
        elicitation=settings.get("elicitation"),
        elicitation_url=settings.get("elicitation_url"),
        sampling=settings.get("sampling"),
        sampling_tools=settings.get("sampling_tools", False),
        roots=settings.get("roots"),
        extensions={**_of_auth(settings.get("auth")), **(settings.get("extensions") or {})},
    )


def _of_auth(auth: Any) -> Mapping[str, Mapping[str, Any]]:
    """The extensions by which tokens are got are spoken too (AUTH-53)."""
    found: Mapping[str, Mapping[str, Any]] = getattr(auth, "mcp_extensions", {})
    return found
