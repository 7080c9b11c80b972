"""A server: what it offers.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dedalus_mcp.jsonrpc.loops import PerLoop
from dedalus_mcp.schema.signature import is_async
from dedalus_mcp.server.answering import Answering
from dedalus_mcp.server.asked_forms import check_forms
from dedalus_mcp.server.audit import OnAsk
from dedalus_mcp.server.changes import MemoryBus, SubscriptionBus
from dedalus_mcp.server.completions import Completions
from dedalus_mcp.server.composition import Including
from dedalus_mcp.server.config import ServerConfig, check_texts, config_of
from dedalus_mcp.server.intercepting import Intercepting
from dedalus_mcp.server.lifespan import Lifespan, entering
from dedalus_mcp.server.listeners import Listeners
from dedalus_mcp.server.middleware import Chain, Middleware
from dedalus_mcp.server.parkings import Parkings
from dedalus_mcp.server.pinging import Pinging
from dedalus_mcp.server.prompts import Prompts
from dedalus_mcp.server.requests import Requests
from dedalus_mcp.server.resources import Resources
from dedalus_mcp.server.sampling_bounds import SamplingBoundsByPeer
from dedalus_mcp.server.serving import Serving
from dedalus_mcp.server.session_lifespan import EnterSession, SessionLifespan
from dedalus_mcp.server.sessions import Session
from dedalus_mcp.server.specs import (
    CompletionSpec,
    PromptSpec,
    ResourceSpec,
    ResourceTemplateSpec,
    ToolSpec,
    binding,
    extract_spec,
    icons_of,
    undecorated,
)
from dedalus_mcp.server.tools import Tools, raised_in_process
from dedalus_mcp.server.watching import Watching
from dedalus_mcp.session import ServerSession
from dedalus_mcp.threads import Threads
from dedalus_mcp.types import (
    CallToolResult,
    Completion,
    CompletionArgument,
    CompletionContext,
    CompletionReference,
    CompletionsCapability,
    GetPromptResult,
    Icon,
    Implementation,
    LoggingCapability,
    PromptsCapability,
    ReadResourceResult,
    ResourcesCapability,
    ServerCapabilities,
    ToolsCapability,
)
from dedalus_mcp.types.keys import extensions_of

if TYPE_CHECKING:
    from dedalus_mcp_transports.http_security import TransportSecuritySettings

__all__ = ("MCPServer",)


class MCPServer(Including, Pinging, Requests, Serving):
    """A Model Context Protocol server.

    Args:
        name: Its name, for programs.
        version: Its version.
        instructions: How to use it, for the model.
        title: Its name, for people.
        website_url: Where people read about it.
        icons: Icons as such or as mappings with `src` (or `url`).
        config: The settings.
        lifespan: Called with the server; the async context manager it returns is entered before
            the first connection is served and left after the last.  What it gives is
            `Context.lifespan`.
        experimental_capabilities: To be advertised as they are.
        extensions: The extensions of the protocol that your tools speak, by id, with their settings (`{}`
            for none): told to clients of 2026-07-28, whose own are in `Context.client_capabilities`.
        http_security: Which hosts and web pages are served over HTTP; None for what the environment
            says (`MCP_DNS_REBINDING_PROTECTION`, `MCP_ALLOWED_HOSTS`, `MCP_ALLOWED_ORIGINS`, read when
            the application is made), else loopback and the host listened on.
        subscription_bus: Carries the news of changes, where other processes are to hear of them
            too; None for this server alone.
        state_keys: Secrets of at least 32 bytes, under which the state of calls that ask in rounds is
            sealed: then any process that has them goes on with such a call, also after a restart.  The
            first seals, all open.  Needs the extra `seal`.  Where there are none, `DEDALUS_MCP_STATE_KEYS` is
            read (keys separated by commas) when an HTTP application is made.
        allow_dynamic_tools: Whether tools may be registered, removed and allowed while clients are served,
            who hear of it then.  False fixes them once the lifespan has begun: then a list that was read
            holds, and code that runs later cannot add to what clients trust.
        middleware: Async functions round every call and notice of clients, the first outermost: see
            `dedalus_mcp.server.middleware`.  A call that asks in rounds is one call, suspended in them.
        request_middleware: The same round every request: a call that asks in rounds takes several.
        session_lifespan: Called with each `Session`; what it returns is entered before the session's first handler
            runs, and left at its end.  On 2026-07-28, which has no sessions, that is once for each call.  What it
            gives is `Context.session_lifespan`.
        on_ask: Is told of every question to a client when it is over, see `AskRecord`.  A plain `def`,
            called in the event loop.

    Raises:
        TypeError: A setting is of the wrong kind; the text says which.
        ValueError: A state key is too short, or the id of an extension is none.
        ImportError: There are state keys, and the extra `seal` is not installed.

    Attributes:
        allow_dynamic_tools: As given.
        instructions: As given.
        config: As given.
        http_security: As given.
        state_keys: As given, here or to what serves over HTTP.
        on_ask: As given.
        middleware: As given; `add` adds one.
        request_middleware: Likewise.
        session_lifespan: What enters it, and leaves it; None without one.
        sessions: The clients that have begun a session, for each event loop, oldest first.
        tools: The registered tools.
        prompts: The registered prompts.
        resources: The registered resources and resource templates.
        completions: The registered completers.
        sampling_bounds: How much each client's model is asked.
        parkings: The calls that have asked in rounds and are not over, for each event loop.
        listeners: Who hears of changes.
        watching: What they want to hear of that is elsewhere.
        bus: Where changes are published, also from code that cannot await.
        threads: Where plain `def` tools and resources run.
    """

    def __init__(  # noqa: PLR0913 - who a server is, by keyword
        self,
        name: str,
        *,
        version: str | None = None,
        instructions: str | None = None,
        title: str | None = None,
        website_url: str | None = None,
        icons: Sequence[Icon | Mapping[str, Any]] | None = None,
        config: ServerConfig | None = None,
        lifespan: Callable[[MCPServer], AbstractAsyncContextManager[Any]] | None = None,
        experimental_capabilities: Mapping[str, Mapping[str, Any]] | None = None,
        extensions: Mapping[str, Mapping[str, Any]] | None = None,
        http_security: TransportSecuritySettings | None = None,
        subscription_bus: SubscriptionBus | None = None,
        state_keys: Sequence[bytes | str] = (),
        allow_dynamic_tools: bool = True,
        middleware: Sequence[Middleware] = (),
        request_middleware: Sequence[Middleware] = (),
        session_lifespan: EnterSession | None = None,
        on_ask: OnAsk | None = None,
    ) -> None:
        if not (http_security is None or hasattr(type(http_security), "allowed_hosts")):
            raise TypeError(f"http_security is TransportSecuritySettings(...), not {http_security!r:.80}")
        if on_ask is not None and (not callable(on_ask) or is_async(on_ask)):
            raise TypeError(f"on_ask is a plain function of an AskRecord, not {on_ask!r:.80}")
        super().__init__()
        self.allow_dynamic_tools = allow_dynamic_tools
        self.instructions = instructions
        self.http_security = http_security
        self.on_ask = on_ask
        self.middleware = Chain(middleware)
        self.request_middleware = Chain(request_middleware, changes_params=False)
        self.session_lifespan = None if session_lifespan is None else SessionLifespan(session_lifespan)
        self.sessions: PerLoop[dict[Session, None]] = PerLoop(dict)
        self.config = config_of(config)
        check_texts(name=name, version=version, title=title, website_url=website_url, instructions=instructions)
        self.info = Implementation(
            name=name, version=version or "0", title=title, websiteUrl=website_url, icons=icons_of(icons)
        )
        self.threads = Threads(self.config.worker_threads)
        self.bus: SubscriptionBus = subscription_bus or MemoryBus()
        self.tools = Tools(self)
        self.prompts = Prompts(name, self.threads, self.bus)
        self.resources = Resources(name, self.threads, self.bus, self.config.max_resource_stream)
        self.watching = Watching(self.resources)
        self.listeners = Listeners(self.config.notice_delay, self.watching)
        self.bus.subscribe(self.hear)
        self.completions = Completions(self.prompts, self.resources, self.threads, self.config.completion_limit)
        self.sampling_bounds = SamplingBoundsByPeer(self.config.sampling)
        self.parkings = Parkings(self.config.parking, name)
        self.seal_under(state_keys)
        self._extensions = extensions_of(extensions)
        self._experimental = {key: dict(value) for key, value in (experimental_capabilities or {}).items()} or None
        self._lifespan = Lifespan(entering(lifespan, self))

    @property
    def name(self) -> str:
        """Its name."""
        return self.info.name

    @property
    def tool_names(self) -> list[str]:
        """The names of the registered tools, sorted."""
        return self.tools.names

    @property
    def prompt_names(self) -> list[str]:
        """The names of the registered prompts, sorted."""
        return self.prompts.names

    @property
    def resource_uris(self) -> list[str]:
        """The URIs of the registered resources, sorted."""
        return self.resources.uris

    @property
    def lifespan_value(self) -> Any:
        """What the lifespan gave; None while nothing is served."""
        return self._lifespan.value

    @property
    def capabilities(self) -> ServerCapabilities:
        """What is there, and no more."""
        return ServerCapabilities(
            logging=LoggingCapability(),
            tools=ToolsCapability(listChanged=True) if self.tools.catalogue.offered else None,
            prompts=PromptsCapability(listChanged=True) if self.prompts.catalogue.offered else None,
            resources=ResourcesCapability(subscribe=True, listChanged=True) if self.resources.offered else None,
            completions=CompletionsCapability() if self.completions.offered else None,
            experimental=self._experimental,
            extensions=self._extensions,
        )

    def offers(self, method: str) -> bool:
        """Whether the capability behind a method is there (DISC-05)."""
        match method.partition("/")[0]:
            case "tools":
                return self.tools.catalogue.offered
            case "prompts":
                return self.prompts.catalogue.offered
            case "resources":
                return self.resources.offered
            case "completion":
                return self.completions.offered
            case "subscriptions":
                return self.tools.catalogue.offered or self.prompts.catalogue.offered or self.resources.offered
            case _:
                return True

    # Registering.

    def collect(self, *functions: Callable[..., Any]) -> None:
        """Register decorated functions.

        Raises:
            ValueError: One of them is not decorated; those before it are registered.
            TypeError: The signature of one cannot be published, or is not what its kind needs; or a class
                that it asks for by `ctx.elicit` makes no form.
        """
        for function in functions:
            spec = extract_spec(function)
            if spec is not None:
                check_forms(function)
            if isinstance(spec, ToolSpec):
                self.tools.add(function, spec)
            elif isinstance(spec, PromptSpec):
                self.prompts.add(function, spec)
            elif isinstance(spec, ResourceSpec):
                self.resources.add(function, spec)
            elif isinstance(spec, ResourceTemplateSpec):
                self.resources.add_template(function, spec)
            elif isinstance(spec, CompletionSpec):
                self.completions.add(function, spec)
            else:
                raise ValueError(undecorated(function))

    def collect_from(self, *modules: ModuleType) -> None:
        """Register every public decorated function of these modules."""
        for module in modules:
            for name, value in vars(module).items():
                if not name.startswith("_") and callable(value) and extract_spec(value) is not None:
                    self.collect(value)

    def allow_tools(self, names: Iterable[str] | None) -> None:
        """Let only tools of these names be there, also later; None for all: ``allow_tools(tools.tagged("read"))``.

        What is not allowed is as unknown as what was never registered.

        Raises:
            TypeError: `names` is one string.
        """
        self.tools.allow(names)

    @contextmanager
    def binding(self) -> Generator[MCPServer]:
        """Register what is decorated inside, at once."""
        token = binding.set(self)
        try:
            yield self
        finally:
            binding.reset(token)

    # In process.

    async def invoke_tool(self, name: str, /, **arguments: Any) -> CallToolResult:
        """Call a tool as `tools/call` does, but with no client: there is no context.

        Raises:
            McpError: -32602, there is no such tool; or the tool raised it.
            LookupError: The tool needs a context.
            Exception: What the tool raised, but for `ToolError`: here nobody has to be kept from it.
        """
        return await self.tools.call(name, arguments, raised_in_process)

    async def invoke_prompt(self, name: str, *, arguments: Mapping[str, Any] | None = None) -> GetPromptResult:
        """Render a prompt as `prompts/get` does.

        Raises:
            McpError: -32602, there is no such prompt, or a required argument is missing.
            TypeError: The renderer returned what no messages can be made of.
        """
        return await self.prompts.get(name, arguments)

    async def invoke_resource(self, uri: str) -> ReadResourceResult:
        """Read a resource as `resources/read` does, but with no client: there is no context.

        Raises:
            ResourceNotFound: There is no such resource.
            McpError: -32602, a value in the URI does not fit its parameter; or the function raised it.
            LookupError: The function needs a context.
            ValueError: It returned what no contents can be made of.
            Exception: What the function raised: here nobody has to be kept from it.
        """
        return await self.resources.read(uri)

    async def invoke_completion(
        self, ref: CompletionReference, argument: CompletionArgument, context: CompletionContext | None = None
    ) -> Completion:
        """Suggest values for an argument as `completion/complete` does.

        Raises:
            McpError: -32602, there is no such prompt, resource template or argument.
            TypeError: The completer returned what no suggestions can be made of.
            Exception: What the completer raised.
        """
        return await self.completions.complete(ref, argument, context)

    # For those who host a server themselves; `Serving` has the ready ways.

    def seal_under(self, keys: Sequence[bytes | str]) -> None:
        """Use other state keys, from the next event loop on that serves.

        Raises:
            ValueError: A key is too short.
            ImportError: The extra `seal` is not installed.
        """
        self.parkings.seal_under(keys)
        self.state_keys = keys

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Any]:
        """Hold the lifespan open, and those of included servers; every connection that is served does.

        Raises:
            ValueError: An included server has got middleware of requests since, which would be left out.
            Exception: What a lifespan raised.
        """
        async with AsyncExitStack() as stack:
            stack.enter_context(self.serving())
            for other in self.includes:
                other.check_lendable()
                await stack.enter_async_context(other.running())
            value = await stack.enter_async_context(self._lifespan.running())
            self.tools.fixed = not self.allow_dynamic_tools
            if self.session_lifespan is not None:  # the sessions' go first
                stack.push_async_callback(self.session_lifespan.left)
            yield value

    def check_lendable(self) -> None:
        """Refuse to be included with what is asked only where clients are connected, and may guard something.

        Raises:
            ValueError: There is a session lifespan, or middleware of requests.
        """
        if self.session_lifespan is not None or self.request_middleware:
            what = "request_middleware" if self.session_lifespan is None else "a session lifespan"
            raise ValueError(f"{self.name!r:.80} has {what}: give it to the server that clients connect to")

    def answering(self, session: ServerSession | None = None) -> Answering:
        """Return what answers one connection.

        Args:
            session: What was agreed on with the client already; nothing if None.
        """
        intercepted = self.middleware or self.request_middleware or self.session_lifespan
        return (Intercepting if intercepted else Answering)(self, session)
