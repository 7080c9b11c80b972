"""The tools of a server: registered, listed, called.

Layer: L4.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dedalus_mcp.errors import INVALID_PARAMS, AskFailed, CapabilityMissing, InvalidArguments, McpError, ToolError
from dedalus_mcp.jsonrpc.failures import only_mcp_error
from dedalus_mcp.schema.arguments import summary
from dedalus_mcp.schema.given import GivenReturns
from dedalus_mcp.schema.returns import Returns
from dedalus_mcp.server import changes
from dedalus_mcp.server.catalogue import Catalogue
from dedalus_mcp.server.context import active_context
from dedalus_mcp.server.enabling import Enabling, enabling
from dedalus_mcp.server.functions import Function
from dedalus_mcp.server.pace import OutOfTime, Pace
from dedalus_mcp.server.results import described, failed, result_of
from dedalus_mcp.server.specs import ToolSpec
from dedalus_mcp.types import CallToolResult, Tool
from dedalus_mcp.types.content import Block, ResourceLink, UnknownContent
from dedalus_mcp.types.wire import Wire

if TYPE_CHECKING:
    from dedalus_mcp.server.server import MCPServer

__all__ = ("LentTool", "OnFailure", "ToolCall", "Tools", "arguments_in", "raised_in_process")

logger = logging.getLogger("dedalus_mcp")

TAGS_KEY = "dedalus-mcp/tags"
"""The member of a tool's `_meta` that has its tags."""

_NAME = r"[A-Za-z0-9_.-]{1,128}"  # TOOL-04


class ToolCall(Wire, frozen=True, kw_only=True):
    """The params of `tools/call`: see `CallToolRequestParams`.

    The arguments are left as they came, for the tool's own decoder; and so is the `_meta`, which a client
    nearly always repeats.
    """

    name: str
    arguments: Raw = Raw(b"{}")
    meta: Raw | UnsetType = msgspec.field(default=UNSET, name="_meta")
    inputResponses: dict[str, Any] | None = None
    requestState: str | None = None


OnFailure: TypeAlias = Callable[[Exception, Callable[[Exception], CallToolResult]], CallToolResult]
"""Takes what a tool raised, and what would tell the model of it; returns the result, or raises."""


class LentTool(Protocol):
    """A tool of another server, under a name of ours."""

    @property
    def definition(self) -> Tool:
        """The tool as clients see it here."""
        ...

    @property
    def tags(self) -> frozenset[str]:
        """The tags that it has there."""
        ...

    @property
    def there(self) -> bool:
        """Whether that server has it for anybody."""
        ...

    async def enabled(self) -> bool:
        """Whether that server has it for the present call."""
        ...

    async def call(self, arguments: Raw | dict[str, Any] | None, on_failure: OnFailure | None) -> CallToolResult:
        """Call it: see `Tools.call`."""
        ...


class _Registered:
    """One tool, ready to be called."""

    __slots__ = ("definition", "enabled", "function", "pace", "returns", "tags")

    def __init__(self, fn: Callable[..., Any], spec: ToolSpec) -> None:
        self.tags = spec.tags
        self.enabled = enabling(spec.enabled)
        self.pace = Pace.of(spec)
        self.function = Function(fn, inline=spec.inline, input_schema=spec.input_schema)
        self.returns = (
            Returns.of(fn, opaque=_opaque) if spec.output_schema is None else GivenReturns(spec.output_schema)
        )
        self.definition = Tool(
            name=_name_of(fn, spec),
            title=spec.title,
            description=spec.description if spec.description is not None else summary(fn) or None,
            inputSchema=self.function.arguments.schema,
            outputSchema=self.returns.schema,
            annotations=spec.annotations,
            icons=spec.icons,
            meta={TAGS_KEY: sorted(spec.tags), **(spec.meta or {})} if spec.tags else spec.meta,
        )


class Tools:
    """The tools of a server.  Which of them are there is decided here, for lists and calls alike.

    Args:
        server: Whose they are: its threads run plain `def` tools, its bus hears of every change of the list.

    Attributes:
        catalogue: All of them, by name.
        included: Those of the servers that it includes.
        fixed: Whether they may not change any more: the server has begun to serve.
    """

    def __init__(self, server: MCPServer) -> None:
        self.catalogue: Catalogue[_Registered, LentTool] = Catalogue(
            "tool", "name", server.name, self._check_open, self._shown
        )
        self.included: list[Tools] = []
        self.fixed = False
        self._server = server
        self._conditional = False
        self._by_name = self.catalogue.own
        self._allowed: frozenset[str] | None = None

    def __len__(self) -> int:
        return len(self.catalogue)

    @property
    def conditional(self) -> bool:
        """Whether a function decides on any of them."""
        return self._conditional or any(tools.conditional for tools in self.included)

    @property
    def definitions(self) -> list[Tool]:
        """The tools that are there, as clients see them, in the order of registration.

        One on which a function decides is among them, whatever that says.
        """
        return list(self.catalogue.listed.items)

    @property
    def names(self) -> list[str]:
        """Their names, sorted."""
        return sorted(name for name, _ in self._there())

    def tagged(self, *tags: str) -> list[str]:
        """Return the names of all registered tools that have one of these tags, sorted."""
        return sorted(name for name, tool in self.catalogue.items() if not tool.tags.isdisjoint(tags))

    async def enabled_page(self, cursor: str | None, limit: int) -> tuple[list[Tool], str | None]:
        """Return one page of the tools that are there for the present call, functions asked: see `Places.page`."""
        places, listed = self.catalogue.places, self.catalogue.listed
        found: list[Tool] = []
        last = 0
        for tool in listed.items[places.start(listed, cursor) :]:
            place = places.of(tool)
            if await self.is_enabled(tool.name) and places.of(tool):  # it may be removed meanwhile
                if len(found) == limit:
                    return found, str(last)
                found.append(tool)
                last = place
        return found, None

    def definition(self, name: str) -> Tool | None:
        """Return a registered tool as clients see it; None if there is none of that name."""
        tool = self.catalogue.get(name)
        return None if tool is None else tool.definition

    def allow(self, names: Iterable[str] | None) -> None:
        """Let only tools of these names be there, now and later registered ones; None lets all of them.

        Raises:
            TypeError: `names` is one string.
            RuntimeError: They are fixed.
        """
        self.catalogue.check_open()
        if isinstance(names, str):
            raise TypeError(f"allow_tools takes several names, or None; not {names!r:.80}")
        before = self.names
        self._allowed = None if names is None else frozenset(names)
        self.catalogue.changed()
        if self.names != before:
            self._server.bus.publish(changes.TOOLS)

    def add(self, fn: Callable[..., Any], spec: ToolSpec) -> None:
        """Register a tool; one of the same name is replaced.

        Raises:
            TypeError: Its signature cannot be published, or it has no name.
            ImportError, ValueError: A schema that it is given cannot be enforced; or the tool of an included
                server has that name, here or in a server that includes this one.
            RuntimeError: They are fixed.
        """
        self.catalogue.check_open()
        tool = _Registered(fn, spec)
        if self.catalogue.add(tool.definition.name, tool):
            logger.warning("tool %r is registered twice: the last one counts", tool.definition.name)
        self._conditional = self._conditional or isinstance(tool.enabled, Enabling)
        self._server.bus.publish(changes.TOOLS)

    def remove(self, name: str) -> None:
        """Remove a tool; calls of it that run go on.

        Raises:
            KeyError: The server has none of that name itself.
            RuntimeError: They are fixed.
        """
        self.catalogue.check_open()
        self.catalogue.remove(name)
        self._server.bus.publish(changes.TOOLS)

    def call(
        self, name: str, arguments: Raw | dict[str, Any] | None, on_failure: OnFailure | None = None
    ) -> Coroutine[Any, Any, CallToolResult]:
        """Call a tool.  Whatever it does wrong is told to the model, as an `isError` result.

        Args:
            name: Which one.
            arguments: What it takes.
            on_failure: Takes what the tool raised; None to tell the model of it.

        Raises:
            McpError: -32602, there is no such tool, or `arguments` is no object; or the tool
                itself raised it, to end the request with a protocol error.
            LookupError: The tool takes a context, and there is none.
        """
        allowed = self.allows(name)
        tool = self._by_name.get(name) if allowed else None
        if tool is None:
            if allowed and (lent := self.catalogue.lent.get(name)) is not None:
                return lent.call(arguments, on_failure)
            raise McpError(INVALID_PARAMS, f"Unknown tool: {name:.128}")
        return self._call(tool, arguments, on_failure)

    def _check_open(self) -> None:
        if self.fixed:
            raise RuntimeError(
                "Tool mutation attempted after server startup. "
                "Enable allow_dynamic_tools=True to permit runtime changes."
            )

    def allows(self, name: str) -> bool:
        """Whether a tool of that name may be there: see `allow`."""
        return self._allowed is None or name in self._allowed

    def there(self, name: str) -> bool:
        """Whether there is a tool of that name for anybody."""
        tool = self.catalogue.get(name)
        return tool is not None and self._shown(name, tool)

    async def is_enabled(self, name: str) -> bool:
        """Whether there is a tool of that name for the present call, functions asked."""
        tool = self.catalogue.get(name)
        return tool is not None and self._shown(name, tool) and await self._is_enabled(name, tool)

    def _there(self) -> Iterator[tuple[str, _Registered | LentTool]]:
        return ((name, tool) for name, tool in self.catalogue.items() if self._shown(name, tool))

    def _shown(self, name: str, tool: _Registered | LentTool) -> bool:
        there = tool.enabled is not False if isinstance(tool, _Registered) else tool.there
        return there and self.allows(name)

    async def _is_enabled(self, name: str, tool: _Registered | LentTool) -> bool:
        if not isinstance(tool, _Registered):
            return await tool.enabled()
        return tool.enabled if isinstance(tool.enabled, bool) else await tool.enabled.ask(self._server, name)

    async def _call(
        self, tool: _Registered, arguments: Raw | dict[str, Any] | None, on_failure: OnFailure | None
    ) -> CallToolResult:
        name = tool.definition.name
        if tool.enabled is not True and not await self._is_enabled(name, tool):
            return failed(f'Tool "{name}" is temporarily unavailable')
        given = arguments_in(arguments) if isinstance(arguments, Raw) else arguments
        try:
            values = tool.function.arguments.decode(given)
        except InvalidArguments as error:
            return failed(f"Invalid arguments for tool {name!r}: {error}")
        try:
            if tool.pace is None:
                value = await tool.function.run(values, self._server.threads)
            else:
                value = await tool.pace.run(partial(tool.function.run, values, self._server.threads))
        except OutOfTime as end:
            return failed(f"Tool {name!r} {end}")
        except Exception as error:  # noqa: BLE001 - the boundary: it becomes the result, and one log entry
            tell = partial(self.failure, name)
            return tell(error) if on_failure is None else on_failure(error, tell)
        return self._result(tool, value)

    def _result(self, tool: _Registered, value: Any) -> CallToolResult:
        name = tool.definition.name
        try:
            return result_of(value, tool.returns)
        except ValueError as error:
            return failed(f"Tool {name!r} returned what it must not: {error}")
        except Exception as error:  # noqa: BLE001 - what a value does when it is looked at is the tool's doing, too
            return self.failure(name, error)

    def failure(self, name: str, error: Exception) -> CallToolResult:
        """Return what the model is told of an exception.

        Raises:
            McpError: It is a protocol error of the author's own.
        """
        found = only_mcp_error(error)
        context = active_context()
        to_be_declared = isinstance(found, CapabilityMissing) and context is not None and context.modern
        if isinstance(found, AskFailed) and not to_be_declared:
            return failed(found.message)
        if found is not None:
            raise found from error
        if isinstance(error, ToolError):
            return failed(str(error))
        logger.error("tool %r failed", name, exc_info=error)
        what = "with an internal error" if self._server.config.mask_errors else f"with {described(error)}"
        return failed(f"Tool {name!r} failed {what}")


def raised_in_process(error: Exception, tell: Callable[[Exception], CallToolResult]) -> CallToolResult:
    """Raise what a tool has raised, but for `ToolError`: an `OnFailure`.

    Raises:
        Exception: That.
    """
    if isinstance(error, ToolError):
        return tell(error)
    raise only_mcp_error(error) or error from None


def arguments_in(arguments: Raw) -> Raw | None:
    """Return the arguments of a call; None if they are null.

    That is told by the first byte, since they may be long: they are JSON, so `n` is that of null.

    Raises:
        McpError: -32602, they are no object.
    """
    match bytes(memoryview(arguments)[:1]):
        case b"{":
            return arguments
        case b"n":
            return None
        case _:
            raise McpError(INVALID_PARAMS, "Invalid params: `arguments` is an object")


def _opaque(annotation: Any) -> bool:
    kinds = (CallToolResult, Block, ResourceLink, UnknownContent)
    return isinstance(annotation, type) and issubclass(annotation, kinds)


def _name_of(fn: Any, spec: ToolSpec) -> str:
    name = spec.name if spec.name is not None else getattr(fn, "__name__", None)
    if not name or name == "<lambda>":
        raise TypeError(f"{fn!r} has no name: give it one, as in @tool('name')")
    if re.fullmatch(_NAME, name) is None:
        logger.warning("tool name %r: clients expect 1 to 128 of A-Z a-z 0-9 _ . -", name)
    return str(name)
