"""A client of one server.

    async with MCPClient.connect(StdioServer("python", ["server.py"])) as client:
        print(await client.call_tool("add", {"a": 1, "b": 2}))

Layer: L4; `connect` is a door to `dedalus_mcp.run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, get_args

import msgspec

from dedalus_mcp.client.answers import Answers, ElicitationHandler, SamplingHandler, UrlElicitationHandler
from dedalus_mcp.client.any_request import ProgressHandler
from dedalus_mcp.client.changes import ChangeRequests
from dedalus_mcp.client.completing import CompletionRequests
from dedalus_mcp.client.connecting import Connecting
from dedalus_mcp.client.delivery import check_callback
from dedalus_mcp.client.era import EraStore, Remembered
from dedalus_mcp.client.handlers import Handlers
from dedalus_mcp.client.link import Agreement, Link
from dedalus_mcp.client.notices import Callbacks, ListChangedHandler, LoggingHandler, ResourceUpdatedHandler
from dedalus_mcp.client.opening import Opening, open_link, remembered
from dedalus_mcp.client.reading import ResourceRequests
from dedalus_mcp.client.requesting import Requests, SessionLostHandler
from dedalus_mcp.client.roots import RootsSource
from dedalus_mcp.client.rounds import MAX_ROUNDS, Rounds
from dedalus_mcp.client.timeouts import DEFAULT, Default, TimeoutLike, timeout_of
from dedalus_mcp.errors import ConnectionLost, ToolError
from dedalus_mcp.jsonrpc.clock import Timeout
from dedalus_mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    Implementation,
    ListPromptsResult,
    ListToolsResult,
    LoggingLevel,
    NotificationParams,
    PaginatedRequestParams,
    PaginatedResult,
    RequestParams,
    ServerCapabilities,
    SetLevelRequestParams,
)
from dedalus_mcp.types.method import Method
from dedalus_mcp.types.methods import (
    DISCOVER,
    LOGGING_SET_LEVEL,
    MESSAGE,
    PING,
    PROMPTS_GET,
    PROMPTS_LIST,
    PROMPTS_LIST_CHANGED,
    RESOURCES_LIST_CHANGED,
    RESOURCES_UPDATED,
    ROOTS_LIST_CHANGED,
    TOOLS_CALL,
    TOOLS_LIST,
    TOOLS_LIST_CHANGED,
)
from dedalus_mcp.types.revisions import MODERN

__all__ = ("MCPClient",)

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R")
PageT = TypeVar("PageT", bound=PaginatedResult)


class MCPClient(ChangeRequests, ResourceRequests, CompletionRequests):
    """A client of one server, made by `connect`.  Usable and closable from any task of its event loop."""

    def __init__(
        self,
        link: Link,
        agreement: Agreement,
        opening: Opening,
        on_session_lost: SessionLostHandler | None = None,
        max_rounds: int = MAX_ROUNDS,
    ) -> None:
        self._requests = Requests(link, agreement, opening, on_session_lost)
        super().__init__(link, Rounds(link, self._requests, max_rounds), opening.timeout, agreement.capabilities)

    @classmethod
    def connect(  # noqa: PLR0913 - the settings of a connection, by keyword
        cls,
        target: Any,
        *,
        elicitation: ElicitationHandler | None = None,
        elicitation_url: UrlElicitationHandler | None = None,
        sampling: SamplingHandler | None = None,
        sampling_tools: bool = False,
        roots: RootsSource | None = None,
        extensions: Mapping[str, Mapping[str, Any]] | None = None,
        logging: LoggingHandler | None = None,
        tools_list_changed: ListChangedHandler | None = None,
        prompts_list_changed: ListChangedHandler | None = None,
        resources_list_changed: ListChangedHandler | None = None,
        resource_updated: ResourceUpdatedHandler | None = None,
        revision: str | None = None,
        client_info: Implementation | None = None,
        timeout: TimeoutLike = 60.0,
        probe_timeout: float = 5.0,
        max_rounds: int = MAX_ROUNDS,
        headers: Mapping[str, str] | None = None,
        auth: Any = None,
        http_client: Any = None,
        eras: EraStore | None = None,
        on_session_lost: SessionLostHandler | None = None,
    ) -> Connecting[MCPClient]:
        """Connect to a server.

        What the client can do is declared exactly as handlers are given.  Each takes one argument: the
        params of what it answers or hears.

        Args:
            target: A URL; a `StdioServer`; an `MCPServer`, to be served in this process; a connection
                (`Duplex`) or something that opens connections (`Target`).
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
                `Timeout`; None for no limit.  It stands still while the user is asked.
            probe_timeout: How long a server may ignore the probe for 2026-07-28 before it
                counts as an older one, in seconds.
            max_rounds: How often the server may ask back before it answers one request (2026-07-28).
            headers: What every request to a URL says; this and the next two are for a URL only,
                and `StreamableHttp` takes more.
            auth: An `httpx.Auth`, or whatever else the HTTP client takes for `auth=`.
            http_client: An `httpx.AsyncClient` or `httpx2.AsyncClient` of yours; not closed.
            eras: What is known of servers from earlier runs, so that those of an older revision
                are not probed again; None for what this process has found out.
            on_session_lost: Hears that the server had forgotten the session (it was restarted,
                say), once there is a new one, with the log level and the subscriptions of the old
                one.  Whatever else the server kept for it is gone.

        Returns:
            What to await for a client, or to enter with `async with` for one that is closed.

        Raises:
            TypeError: `target` is nothing that can be connected to, or a handler no function of one argument.
            ValueError: `revision` is none, a string no URL, a root no ``file:`` URI, an extension's
                id none, `max_rounds` no count.
            OSError: The connection cannot be made; over HTTP an `MCPConnectionError`, whose
                classes tell why.
            ConnectionLost: It ended meanwhile; the reason says what the server left behind.
            RequestTimeout: The server did not answer in time.
            RemoteProtocolError: There is no revision in common, or the answer is not legal.
            McpError: The server refused.
        """
        from dedalus_mcp.run import open_target  # noqa: PLC0415 - the door: run knows the transports

        callbacks: Callbacks = {
            MESSAGE: logging,
            TOOLS_LIST_CHANGED: tools_list_changed,
            PROMPTS_LIST_CHANGED: prompts_list_changed,
            RESOURCES_LIST_CHANGED: resources_list_changed,
            RESOURCES_UPDATED: resource_updated,
        }
        for handler in (elicitation, elicitation_url, sampling, *callbacks.values()):
            check_callback(handler)
        if max_rounds < 0:
            raise ValueError(f"max_rounds is a count >= 0, not {max_rounds!r}")
        answers = Answers(
            elicitation=elicitation,
            elicitation_url=elicitation_url,
            sampling=sampling,
            sampling_tools=sampling_tools,
            roots=roots,
            extensions=extensions,
        )
        patience = timeout_of(timeout)
        opening = Opening(
            make_handlers=partial(Handlers, answers=answers, callbacks=callbacks),
            info=client_info or Implementation(name="dedalus-mcp", version="0"),
            revision=revision,
            timeout=patience,
            probe_timeout=Timeout(probe_timeout),
            eras=remembered if eras is None else Remembered(eras),
        )

        async def open_client() -> MCPClient:
            opened = open_target(target, headers=headers, auth=auth, http_client=http_client)
            link, agreement = await open_link(opened, opening)
            client = cls(link, agreement, opening, on_session_lost, max_rounds)
            try:
                await client._listening.begun()
            except BaseException:
                await client.close()
                raise
            return client

        return Connecting(open_client)

    async def close(self) -> None:
        """End the connection: open calls fail, a server process is ended.  Idempotent, from any task."""
        await self._link.close()

    async def __aenter__(self) -> Self:
        if self._link.ended is not None:
            raise ConnectionLost(self._link.ended)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def revision(self) -> str:
        """The protocol revision that both sides speak."""
        return self._requests.agreement.revision

    @property
    def server_info(self) -> Implementation | None:
        """Who the server says it is; not to be trusted."""
        return self._requests.agreement.server_info

    @property
    def server_capabilities(self) -> ServerCapabilities:
        """What the server can do."""
        return self._requests.agreement.capabilities

    @property
    def instructions(self) -> str | None:
        """How to use the server, for the model."""
        return self._requests.agreement.instructions

    async def ping(self, *, timeout: TimeoutLike | Default = DEFAULT) -> None:
        """Return when the server has answered.  2026-07-28 has no ping: `server/discover` stands for it.

        Raises:
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError: See `request`.
        """
        method: Method[RequestParams, Any] = DISCOVER if self.revision in MODERN else PING
        await self.request(method, RequestParams(), timeout=timeout)

    async def set_logging_level(self, level: LoggingLevel) -> None:
        """Hear log messages from this level on.  On 2026-07-28 that holds for later requests.

        Raises:
            ValueError: There is no such level.
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError: See `request`.
        """
        if level not in get_args(LoggingLevel):
            raise ValueError(f"no log level {level!r}; legal are {', '.join(get_args(LoggingLevel))}")
        if self.revision in MODERN:
            self._link.log_from(level)
        else:
            await self.request(LOGGING_SET_LEVEL, SetLevelRequestParams(level=level))

    async def notify_roots_list_changed(self) -> None:
        """Tell the server that the roots have changed; it asks again if it cares.

        2026-07-28 has no such notice: its servers ask when they need to know.

        Raises:
            RuntimeError: The client was given no roots to tell of.
            ConnectionLost: The connection is over.
        """
        if not self._link.answers.takes("roots/list"):
            raise RuntimeError("this client has no roots: give MCPClient.connect(roots=...)")
        if self._link.ended is not None:
            raise ConnectionLost(self._link.ended)
        if self.revision not in MODERN:
            self._link.notify(ROOTS_LIST_CHANGED, NotificationParams())

    async def list_tools(self, *, timeout: TimeoutLike | Default = DEFAULT) -> ListToolsResult:
        """Return all tools, from as many pages as there are.

        Raises:
            RemoteProtocolError: The pages do not end.
            McpError, RequestTimeout, ConnectionLost: See `request`.
        """
        return await self.drain(TOOLS_LIST, "tools", timeout)

    async def list_tools_page(self, cursor: str | None = None) -> ListToolsResult:
        """Return one page of tools; `nextCursor` is None on the last.

        Raises:
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError: See `request`.
        """
        return await self.request(TOOLS_LIST, PaginatedRequestParams(cursor=cursor))

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: TimeoutLike | Default = DEFAULT,
        progress: ProgressHandler | None = None,
        meta: Mapping[str, Any] | None = None,
        raise_on_error: bool = False,
    ) -> CallToolResult:
        """Call a tool.

        Args:
            name: Which one.
            arguments: What it takes.
            timeout: See `request`.
            progress: See `request`.
            meta: The request's `_meta`.
            raise_on_error: Raise a failed result instead of returning it.

        Raises:
            ToolError: The tool failed, and `raise_on_error` is set.
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError, LocalProtocolError:
                See `request`.
        """
        params = CallToolRequestParams(
            name=name, arguments=None if arguments is None else dict(arguments), meta=dict(meta) if meta else None
        )
        result = await self.request(TOOLS_CALL, params, timeout=timeout, progress=progress)
        if raise_on_error and result.isError:
            raise ToolError(result.text or f"tool {name!r} failed without saying why")
        return result

    async def list_prompts(self, *, timeout: TimeoutLike | Default = DEFAULT) -> ListPromptsResult:
        """Return all prompts, from as many pages as there are.

        Raises:
            RemoteProtocolError: The pages do not end.
            McpError, RequestTimeout, ConnectionLost: See `request`.
        """
        return await self.drain(PROMPTS_LIST, "prompts", timeout)

    async def list_prompts_page(self, cursor: str | None = None) -> ListPromptsResult:
        """Return one page of prompts; `nextCursor` is None on the last.

        Raises:
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError: See `request`.
        """
        return await self.request(PROMPTS_LIST, PaginatedRequestParams(cursor=cursor))

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: TimeoutLike | Default = DEFAULT,
        progress: ProgressHandler | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> GetPromptResult:
        """Render a prompt.

        Args:
            name: Which one.
            arguments: Strings by name; a value that is none goes as its JSON text (PROMPT-03).
            timeout: See `request`.
            progress: See `request`.
            meta: The request's `_meta`.

        Raises:
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError: See `request`.
        """
        given = None if arguments is None else {key: _string(value) for key, value in arguments.items()}
        params = GetPromptRequestParams(name=name, arguments=given, meta=dict(meta) if meta else None)
        return await self.request(PROMPTS_GET, params, timeout=timeout, progress=progress)

    async def drain(
        self,
        method: Method[PaginatedRequestParams, PageT],
        listed: str,
        timeout: TimeoutLike | Default = DEFAULT,
    ) -> PageT:
        """Return a whole list, whose result holds it in the member `listed`; raises what `list_tools` does."""
        return await self._requests.make_all(method, listed, timeout=self._patience(timeout))


def _string(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
