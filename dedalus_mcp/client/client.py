"""A client of one server.

    async with MCPClient.connect(StdioServer("python", ["server.py"])) as client:
        print(await client.call_tool("add", {"a": 1, "b": 2}))

Layer: L4; `connect` is a door to `dedalus_mcp.reaching`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, get_args

import msgspec

from dedalus_mcp.client.any_request import ProgressHandler
from dedalus_mcp.client.changes import ChangeRequests
from dedalus_mcp.client.completing import CompletionRequests
from dedalus_mcp.client.conduct import Conduct
from dedalus_mcp.client.connecting import Connectable, Connecting
from dedalus_mcp.client.link import Agreement, Link
from dedalus_mcp.client.opening import open_link
from dedalus_mcp.client.reading import ResourceRequests
from dedalus_mcp.client.requesting import Requests
from dedalus_mcp.client.rounds import Rounds
from dedalus_mcp.client.settings import ClientSettings, conduct_of
from dedalus_mcp.client.timeouts import DEFAULT, Default, TimeoutLike
from dedalus_mcp.errors import ConnectionLost, ToolError
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
    PING,
    PROMPTS_GET,
    PROMPTS_LIST,
    ROOTS_LIST_CHANGED,
    TOOLS_CALL,
    TOOLS_LIST,
)
from dedalus_mcp.types.revisions import MODERN

__all__ = ("MCPClient",)

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R")
PageT = TypeVar("PageT", bound=PaginatedResult)


class MCPClient(ChangeRequests, ResourceRequests, CompletionRequests):
    """A client of one server, made by `connect`.  Usable and closable from any task of its event loop."""

    if not TYPE_CHECKING:  # checkers tell what is missing

        def __new__(cls, *parts: Any, **named: Any) -> MCPClient:
            """Refuse what does not come from `connect`."""
            if len(parts) + len(named) < 3:
                raise TypeError("a client is made by connecting: MCPClient.connect(target, ...)")
            return super().__new__(cls)

    def __init__(self, link: Link, agreement: Agreement, conduct: Conduct, server: str | None = None) -> None:
        self._requests = Requests(link, agreement, conduct, server)
        rounds = Rounds(link, self._requests, conduct.max_rounds)
        super().__init__(link, rounds, conduct.opening.timeout, agreement.capabilities)
        self._requests.became_modern = self._listening.take_over

    @classmethod
    def connect(cls, target: Connectable, **settings: Unpack[ClientSettings]) -> Connecting[MCPClient]:
        """Connect to a server.

        Args:
            target: A URL; a `StdioServer`; an `MCPServer`, to be served in this process; a connection
                (`Duplex`) or something that opens connections (`Target`).
            settings: What the client does and how: see `ClientSettings`.

        Returns:
            What to await for a client, or to enter with `async with` for one that is closed.

        Raises:
            TypeError: `target` is nothing that can be connected to, or a handler no function of one argument.
            ValueError: `revision` is none, a string no URL, a root no ``file:`` URI, an extension's
                id none, `max_rounds` no count.
            ImportError: `check_outputs` is True, and the extra `schema` is not installed.
            OSError: The connection cannot be made; over HTTP an `MCPConnectionError`, whose
                classes tell why.
            ConnectionLost: It ended meanwhile; the reason says what the server left behind.
            RequestTimeout: The server did not answer in time.
            RemoteProtocolError: There is no revision in common, or the answer is not legal.
            McpError: The server refused.
        """
        from dedalus_mcp.reaching import open_target  # noqa: PLC0415 - the door: it knows the transports

        conduct = conduct_of(settings)
        headers, auth, http_client = settings.get("headers"), settings.get("auth"), settings.get("http_client")

        async def open_client() -> MCPClient:
            opened = open_target(target, headers=headers, auth=auth, http_client=http_client)
            link, agreement = await open_link(opened, conduct.opening)
            client = cls(link, agreement, conduct, getattr(opened, "cache_key", None))
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
    def ended(self) -> str | None:
        """Why the connection is over; None as long as it is not."""
        return self._link.ended

    async def wait_ended(self) -> str:
        """Return why the connection is over, when it is."""
        await self._link.over()
        return self._link.ended or "the connection is closed"

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

    async def set_logging_level(self, level: LoggingLevel, *, timeout: TimeoutLike | Default = DEFAULT) -> None:
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
            await self.request(LOGGING_SET_LEVEL, SetLevelRequestParams(level=level), timeout=timeout)

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

    async def list_tools_page(
        self, cursor: str | None = None, *, timeout: TimeoutLike | Default = DEFAULT
    ) -> ListToolsResult:
        """Return one page of tools; `nextCursor` is None on the last.

        Raises:
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError: See `request`.
        """
        return await self.request(TOOLS_LIST, PaginatedRequestParams(cursor=cursor), timeout=timeout)

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
            TypeError: `arguments` are no mapping.
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError, LocalProtocolError:
                See `request`.
        """
        given = None if arguments is None else _members(name, arguments)
        params = CallToolRequestParams(name=name, arguments=given, meta=dict(meta) if meta else None)
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

    async def list_prompts_page(
        self, cursor: str | None = None, *, timeout: TimeoutLike | Default = DEFAULT
    ) -> ListPromptsResult:
        """Return one page of prompts; `nextCursor` is None on the last.

        Raises:
            McpError, RequestTimeout, ConnectionLost, RemoteProtocolError: See `request`.
        """
        return await self.request(PROMPTS_LIST, PaginatedRequestParams(cursor=cursor), timeout=timeout)

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
        given = None if arguments is None else {k: _string(value) for k, value in _members(name, arguments).items()}
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


def _members(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(arguments, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers err
        return dict(arguments)
    raise TypeError(f"the arguments of {name!r:.80} are a mapping of values by name, not {type(arguments).__name__}")


def _string(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
