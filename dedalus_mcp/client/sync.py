"""`MCPClient` for programs without an event loop: the same methods, without `await`.

    with SyncMCPClient.connect(StdioServer("python", ["server.py"])) as client:
        print(client.call_tool("add", {"a": 1, "b": 2}))

Layer: L4.
"""

from __future__ import annotations

import concurrent.futures
import inspect
from collections.abc import Callable, Coroutine
from functools import partial, update_wrapper
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, Unpack, cast

from anyio import to_thread

from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.client.portal import Portal
from dedalus_mcp.client.settings import ClientSettings, conduct_of
from dedalus_mcp.errors import ConnectionLost
from dedalus_mcp.schema.signature import is_async
from dedalus_mcp.types import Implementation, ServerCapabilities

__all__ = ("SyncMCPClient",)

R = TypeVar("R")
S = ParamSpec("S")


def _waits(
    method: Callable[Concatenate[MCPClient, S], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[SyncMCPClient, S], R]:
    """Return a method of the synchronous client that waits for one of the other."""

    def call(self: SyncMCPClient, /, *args: S.args, **kwargs: S.kwargs) -> R:
        return self.run(method, *args, **kwargs)

    update_wrapper(call, method)  # its documentation, and its signature too
    return call


class SyncMCPClient:
    """A client of one server, made by `connect`.  Usable and closable from any thread.

    Its methods are those of `MCPClient`; the event loop that they need runs in a thread of its own.
    Handlers may be plain functions: they run in worker threads, and may use the client.
    """

    if not TYPE_CHECKING:  # checkers tell what is missing

        def __new__(cls, *parts: Any, **named: Any) -> SyncMCPClient:
            """Refuse what does not come from `connect`."""
            if len(parts) + len(named) < 2:
                raise TypeError("a client is made by connecting: SyncMCPClient.connect(target, ...)")
            return super().__new__(cls)

    def __init__(self, client: MCPClient, portal: Portal) -> None:
        self._client = client
        self._portal = portal

    @classmethod
    def connect(cls, target: Connectable, **settings: Unpack[ClientSettings]) -> SyncMCPClient:
        """Connect to a server: see `MCPClient.connect`.

        Returns:
            The client, which is connected; enter it with `with` to have it closed, or `close` it.

        Raises:
            RuntimeError: This thread runs an event loop, which would stand still: use `MCPClient` there.
            Exception: See `MCPClient.connect`.
        """
        conduct_of(settings)  # refuses handlers that are none before they are wrapped

        async def connected() -> MCPClient:
            return await MCPClient.connect(target, **_in_threads(settings))

        portal = Portal()
        try:
            return cls(portal.run(connected), portal)
        except BaseException:
            portal.close()
            raise

    def close(self) -> None:
        """End the connection: open calls fail, a server process is ended.  Idempotent, from any thread."""
        try:
            self._portal.run(self._client.close)
        except ConnectionLost:  # by another thread, that moment
            pass
        finally:
            self._portal.close()

    def __enter__(self) -> Self:
        if self._client.ended is not None:
            raise ConnectionLost(self._client.ended)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def ended(self) -> str | None:
        """See `MCPClient.ended`."""
        return self._client.ended

    @property
    def revision(self) -> str:
        """See `MCPClient.revision`."""
        return self._client.revision

    @property
    def server_info(self) -> Implementation | None:
        """See `MCPClient.server_info`."""
        return self._client.server_info

    @property
    def server_capabilities(self) -> ServerCapabilities:
        """See `MCPClient.server_capabilities`."""
        return self._client.server_capabilities

    @property
    def instructions(self) -> str | None:
        """See `MCPClient.instructions`."""
        return self._client.instructions

    ping = _waits(MCPClient.ping)
    wait_ended = _waits(MCPClient.wait_ended)
    set_logging_level = _waits(MCPClient.set_logging_level)
    notify_roots_list_changed = _waits(MCPClient.notify_roots_list_changed)
    list_tools = _waits(MCPClient.list_tools)
    list_tools_page = _waits(MCPClient.list_tools_page)
    call_tool = _waits(MCPClient.call_tool)
    list_prompts = _waits(MCPClient.list_prompts)
    list_prompts_page = _waits(MCPClient.list_prompts_page)
    get_prompt = _waits(MCPClient.get_prompt)
    list_resources = _waits(MCPClient.list_resources)
    list_resources_page = _waits(MCPClient.list_resources_page)
    list_resource_templates = _waits(MCPClient.list_resource_templates)
    list_resource_templates_page = _waits(MCPClient.list_resource_templates_page)
    read_resource = _waits(MCPClient.read_resource)
    subscribe_resource = _waits(MCPClient.subscribe_resource)
    unsubscribe_resource = _waits(MCPClient.unsubscribe_resource)
    complete = _waits(MCPClient.complete)
    drain = _waits(MCPClient.drain)
    request = _waits(MCPClient.request)
    request_round = _waits(MCPClient.request_round)
    continue_round = _waits(MCPClient.continue_round)
    notify = _waits(MCPClient.notify)

    def start(self, method: Callable[S, R], /, *args: S.args, **kwargs: S.kwargs) -> concurrent.futures.Future[R]:
        """Begin a request in the background: ``booking = client.start(client.call_tool, "book", {"seat": 1})``.

        Args:
            method: A method of this client.
            args: What it takes.
            kwargs: The same, by keyword.

        Returns:
            Its `result()` waits for the result; `cancel()` stops the request, at the server too.

        Raises:
            TypeError: That is no method of this client.
            ConnectionLost: The connection is over.
        """
        asynchronous = getattr(method, "__wrapped__", None)
        if asynchronous is None or getattr(method, "__self__", None) is not self:
            raise TypeError(f"start takes a method of this client, such as client.call_tool, not {method!r:.80}")
        begun: concurrent.futures.Future[R] = self._portal.begin(
            partial(asynchronous, self._client, *args, **_heard_in_threads(kwargs))
        )
        return begun

    def run(
        self, work: Callable[Concatenate[MCPClient, S], Coroutine[Any, Any, R]], /, *args: S.args, **kwargs: S.kwargs
    ) -> R:
        """Do asynchronous work with the client, where one call after the other is not enough.

        Args:
            work: An async function; it gets the `MCPClient`, and runs in its event loop.
            args: What else it takes.
            kwargs: The same, by keyword.

        Raises:
            RuntimeError: This thread runs an event loop, which would stand still.
            ConnectionLost: The client is closed.
            Exception: What it raises.
        """
        return self._portal.run(partial(work, self._client, *args, **_heard_in_threads(kwargs)))


_HANDLERS = (
    "logging",
    "tools_list_changed",
    "prompts_list_changed",
    "resources_list_changed",
    "resource_updated",
    "on_session_lost",
    "on_repeat",
)
"""The settings that hear of something; those that answer run in threads anyway, where they are plain."""


def _in_threads(settings: ClientSettings) -> ClientSettings:
    given = {name: _in_thread(value) if name in _HANDLERS else value for name, value in settings.items()}
    return cast("ClientSettings", given)


def _heard_in_threads(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: _in_thread(value) if name == "progress" else value for name, value in kwargs.items()}


def _in_thread(handler: Any) -> Any:
    """A plain function as a handler that keeps no loop from its work."""
    if handler is None or is_async(handler):
        return handler

    async def hear(value: Any) -> None:
        heard = await to_thread.run_sync(handler, value, abandon_on_cancel=True)
        if inspect.isawaitable(heard):
            await heard

    return hear
