"""A server within a server: everything that one offers, offered by the other as well.

    outer.include(inner, prefix="x")

    tools/call "x_add" ──▶ outer: the client, its call, the context ──▶ lent ──▶ inner: whether the tool is
                           there, its arguments, threads, limits, lifespan, and what errors tell

Tools and prompts have names, which get the prefix.  Resources and templates have URIs, which stay: a URI
that stands in a result, a link or a notice can be read back as it is.

Layer: L4.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from msgspec import Raw

from dedalus_mcp.errors import INTERNAL_ERROR, INVALID_PARAMS, McpError
from dedalus_mcp.jsonrpc.failures import only_mcp_error
from dedalus_mcp.server.catalogue import Catalogue, Showing
from dedalus_mcp.server.changes import Change
from dedalus_mcp.server.context import active_context, get_context
from dedalus_mcp.server.hints import hinted
from dedalus_mcp.server.listeners import Listeners
from dedalus_mcp.server.middleware import Incoming
from dedalus_mcp.server.rendering import UnrenderableError
from dedalus_mcp.server.results import described
from dedalus_mcp.server.telling import Telling
from dedalus_mcp.server.tool_passage import arguments_of, call_through
from dedalus_mcp.server.tools import OnFailure
from dedalus_mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    CompletionArgument,
    CompletionContext,
    CompletionReference,
    GetPromptRequestParams,
    GetPromptResult,
    Prompt,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    ResourceTemplateReference,
    Tool,
)
from dedalus_mcp.types.methods import COMPLETION_COMPLETE, PROMPTS_GET, RESOURCES_READ

if TYPE_CHECKING:
    from dedalus_mcp.server.server import MCPServer

__all__ = ("Home", "Including")

logger = logging.getLogger("dedalus_mcp")

T = TypeVar("T")

_PREFIX = r"[A-Za-z0-9_.-]{0,64}"  # a name of a tool has 128 of these at most (TOOL-04): half for each part


class Home(msgspec.Struct, frozen=True):
    """Where the handler of a call is at home, if that is not the server which the client is connected to.

    Attributes:
        server: The included server.
        lifespan: What its lifespan gave.
    """

    server: MCPServer
    lifespan: Any


class Including(Telling):
    """The part of `MCPServer` that includes other servers, whose clients hear of what these tell.

    Attributes:
        includes: The servers that it includes itself.
        before_lists: Awaited before a list is answered, all at once, with its method: what it lists may be known
            elsewhere only.
        listeners: Who hears of changes.
    """

    listeners: Listeners

    def __init__(self) -> None:
        super().__init__()
        self.includes: tuple[MCPServer, ...] = ()
        self.before_lists: tuple[Callable[[str], Coroutine[Any, Any, None]], ...] = ()
        self._outer: tuple[MCPServer, ...] = ()
        self._served = 0  # connections

    def include(self, other: MCPServer, *, prefix: str = "") -> None:
        """Offer everything that another server offers, now and later.

        Its tools and prompts are called ``prefix_name`` here; its resources and templates keep their URIs, so
        that what refers to them can be read.  Its settings hold for them: what is allowed and enabled, threads,
        timeouts and limits, what errors tell, its middleware (behind this server's), and its lifespan, which begins
        and ends with that of this server.
        The call is this server's: `Context.server` is what the client is connected to, `Context.lifespan` is
        that of the included one.

        Args:
            other: The server.  It can still be served by itself, and included elsewhere.
            prefix: What its names begin with here, before an underscore; none if it is empty.

        Raises:
            TypeError: `other` is no server.
            ValueError: It has a session lifespan or middleware of requests, and sessions and requests are this
                server's; `prefix` cannot begin a name; there is something of one of the names or URIs here already;
                or it would include itself.
            RuntimeError: A client is being served, or tools may not change any more.
        """
        if not isinstance(cast("object", other), Including):
            raise TypeError(f"include takes an MCPServer, not {type(other).__name__}; for one elsewhere, see `proxy`")
        if not isinstance(cast("object", prefix), str) or re.fullmatch(_PREFIX, prefix) is None:
            raise ValueError(f"a prefix has at most 64 of A-Z a-z 0-9 _ . -, as {prefix!r:.80} has not")
        ours = cast("MCPServer", self)
        if ours is other or ours in other.included():
            raise ValueError(f"server {ours.name!r:.80} would include itself: {other.name!r:.80} includes it already")
        other.check_lendable()
        if self.served:
            raise RuntimeError("include before serving: the lifespan of what is included begins with the server's own")
        inclusion = _Inclusion(ours, other, prefix)
        inclusion.check()
        inclusion.make()
        self.includes = (*self.includes, other)
        other.included_by(ours)

    @property
    def served(self) -> bool:
        """Whether there is a client now, of this server or of one that includes it."""
        return self._served > 0 or any(outer.served for outer in self._outer)

    def included(self) -> Iterator[MCPServer]:
        """Give all servers that are included here, those of included ones too."""
        for other in self.includes:
            yield other
            yield from other.included()

    def included_by(self, outer: MCPServer) -> None:
        """Another server includes this one from now on."""
        self._outer = (*self._outer, outer)
        outer.look_before_lists(self.before_lists)
        if self.forwards_logs:
            outer.forwarding()

    def look_before_lists(self, look: Iterable[Callable[[str], Coroutine[Any, Any, None]]]) -> None:
        """Await these as well, here and wherever this server is included: see `before_lists`."""
        self.before_lists = tuple(dict.fromkeys((*self.before_lists, *look)))  # one may be included in several ways
        for outer in self._outer:
            outer.look_before_lists(look)

    def forwarding(self) -> None:
        """Logs are forwarded from the next call on, also in calls to servers that include this one."""
        super().forwarding()
        for outer in self._outer:
            outer.forwarding()

    @contextmanager
    def serving(self) -> Generator[None]:
        """There is one client more."""
        self._served += 1
        try:
            yield
        finally:
            self._served -= 1

    def hear(self, change: Change) -> None:
        """Take a change, from any thread: who listens to a server that includes this one hears of it, too."""
        self.listeners.hear(change)
        for outer in self._outer:
            outer.hear(change)


class _Inclusion:
    """What one server shows of another."""

    def __init__(self, outer: MCPServer, other: MCPServer, prefix: str) -> None:
        self._outer = outer
        self._other = other
        lender = _Lender(other, outer)
        start = f"{prefix}_" if prefix else ""

        def named(name: str) -> str:
            return start + name

        def same(uri: str) -> str:
            return uri

        def showing(borrower: Catalogue[Any, Any], rename: Callable[[str], str], lend: Any) -> Showing[Any]:
            return Showing(borrower, other.name, rename, partial(lend, lender, rename))

        self._showings: list[tuple[Catalogue[Any, Any], Showing[Any]]] = [
            (other.tools.catalogue, showing(outer.tools.catalogue, named, _Tool)),
            (other.prompts.catalogue, showing(outer.prompts.catalogue, named, _Prompt)),
            (other.resources.catalogue, showing(outer.resources.catalogue, same, _Resource)),
            (other.resources.templates, showing(outer.resources.templates, same, _Template)),
        ]
        self._anywhere = _Resources(lender)

    def check(self) -> None:
        """Refuse it, if something has no room: see `Catalogue.check`."""
        for catalogue, showing in self._showings:
            catalogue.check_all(showing)

    def make(self) -> None:
        """Show everything."""
        outer, other = self._outer, self._other
        for catalogue, showing in self._showings:
            catalogue.show(showing)
        outer.tools.included.append(other.tools)
        outer.completions.included.append(other.completions)
        other.resources.show_unlisted(outer.resources, self._anywhere)


class _Lender:
    """A server that is included, in the eyes of what it lends."""

    def __init__(self, server: MCPServer, outer: MCPServer) -> None:
        self.server = server
        self._outer = outer

    @contextmanager
    def visited(self) -> Generator[bool]:
        """Let a call be at home here for a while; true if there is one."""
        context = active_context()
        if context is None:
            yield False
            return
        homes = context.homes
        context.homes = (*homes, Home(self.server, self.server.lifespan_value))
        try:
            yield True
        finally:
            context.homes = homes

    async def run(self, work: Awaitable[T]) -> T:
        """Wait for a handler of the server; what its exceptions tell is as the server is set."""
        with self.visited() as called:
            try:
                return await work
            except (McpError, UnrenderableError):
                raise
            except Exception as error:
                masked = self.server.config.mask_errors
                if not called or masked == self._outer.config.mask_errors or only_mcp_error(error) is not None:
                    raise
                logger.exception("what server %r lends failed", self.server.name)
                raise McpError(INTERNAL_ERROR, f"Internal error{'' if masked else f': {described(error)}'}") from error

    @property
    def intercepted(self) -> bool:
        """Whether middleware of the server's own stands before what it lends, for a client's call."""
        return bool(self.server.middleware) and active_context() is not None

    async def pass_through(self, method: str, params: Any, end: Callable[[Any], Awaitable[Any]]) -> Any:
        """Let a call through that middleware: see `intercepted`."""
        return await self.run(self.server.middleware.run(Incoming(method, params, get_context()), end))

    async def complete(
        self, ref: CompletionReference, argument: CompletionArgument, context: CompletionContext | None
    ) -> Completion:
        """Suggest values for an argument."""
        completions = self.server.completions
        if not self.intercepted:
            return await self.run(completions.complete(ref, argument, context))

        async def end(given: CompleteRequestParams) -> CompleteResult:
            return CompleteResult(completion=await completions.complete(given.ref, given.argument, given.context))

        params = CompleteRequestParams(ref=ref, argument=argument, context=context)
        result: CompleteResult = await self.pass_through(COMPLETION_COMPLETE.name, params, end)
        return result.completion


class _Tool:
    """A tool of an included server: a `LentTool`."""

    __slots__ = ("_key", "_lender", "definition", "tags")

    def __init__(self, lender: _Lender, rename: Callable[[str], str], key: str, item: Any) -> None:
        definition: Tool = item.definition
        self._lender = lender
        self._key = key
        self.definition = msgspec.structs.replace(definition, name=rename(key))
        self.tags: frozenset[str] = item.tags

    @property
    def there(self) -> bool:
        return self._lender.server.tools.there(self._key)

    async def enabled(self) -> bool:
        with self._lender.visited():
            return await self._lender.server.tools.is_enabled(self._key)

    async def call(self, arguments: Raw | dict[str, Any] | None, on_failure: OnFailure | None) -> CallToolResult:
        server, context = self._lender.server, active_context()
        tools = server.tools
        if not tools.allows(self._key):
            raise McpError(INVALID_PARAMS, f"Unknown tool: {self.definition.name:.128}")
        with self._lender.visited():
            if context is None or not server.middleware:
                return await tools.call(self._key, arguments, on_failure)
            given = arguments_of(arguments) if isinstance(arguments, Raw) else arguments
            params = CallToolRequestParams(name=self._key, arguments=given)
            return await call_through(server.middleware, tools, params, context, on_failure)


class _Prompt:
    """A prompt of an included server: a `LentPrompt`."""

    __slots__ = ("_key", "_lender", "definition")

    def __init__(self, lender: _Lender, rename: Callable[[str], str], key: str, item: Any) -> None:
        definition: Prompt = item.definition
        self._lender = lender
        self._key = key
        self.definition = msgspec.structs.replace(definition, name=rename(key))

    async def get(self, arguments: Mapping[str, Any] | None) -> GetPromptResult:
        lender = self._lender
        if not lender.intercepted:
            return await lender.run(lender.server.prompts.get(self._key, arguments))
        params = GetPromptRequestParams(name=self._key, arguments=None if arguments is None else dict(arguments))
        result: GetPromptResult = await lender.pass_through(
            PROMPTS_GET.name, params, lambda given: lender.server.prompts.get(given.name, given.arguments)
        )
        return result

    async def complete(self, argument: CompletionArgument, context: CompletionContext | None) -> Completion:
        return await self._lender.complete(PromptReference(name=self._key), argument, context)


class _Resources:
    """The resources of an included server: a `Reader`."""

    __slots__ = ("_lender",)

    def __init__(self, lender: _Lender) -> None:
        self._lender = lender

    async def read(self, uri: str) -> ReadResourceResult:
        lender, server = self._lender, self._lender.server
        if lender.intercepted:
            params = ReadResourceRequestParams(uri=uri)
            reading = lender.pass_through(RESOURCES_READ.name, params, lambda given: server.resources.read(given.uri))
        else:
            reading = lender.run(server.resources.read(uri))
        result: ReadResourceResult = hinted(await reading, server.config.cache_hints.get("resources/read"))
        return result

    def watched(self, uri: str) -> AbstractAsyncContextManager[None]:
        return self._lender.server.resources.watched(uri)


class _Resource(_Resources):
    """One of them: a `LentResource`."""

    __slots__ = ("definition",)

    def __init__(self, lender: _Lender, rename: Callable[[str], str], key: str, item: Any) -> None:
        super().__init__(lender)
        self.definition: Resource = item.definition


class _Template(_Resources):
    """A resource template of an included server: a `LentTemplate`."""

    __slots__ = ("_item", "_key", "definition", "variables")

    def __init__(self, lender: _Lender, rename: Callable[[str], str], key: str, item: Any) -> None:
        super().__init__(lender)
        self._item = item
        self._key = key
        self.definition: ResourceTemplate = item.definition
        self.variables: tuple[str, ...] = item.variables

    def match(self, uri: str) -> dict[str, str] | None:
        values: dict[str, str] | None = self._item.match(uri)
        return values

    async def complete(self, argument: CompletionArgument, context: CompletionContext | None) -> Completion:
        return await self._lender.complete(ResourceTemplateReference(uri=self._key), argument, context)
