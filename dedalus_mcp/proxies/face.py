"""What the upstream server offers, as it was listed last, in the catalogues of the server that hands it on.

Layer: L6.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Raw

from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.errors import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    AskFailed,
    CapabilityMissing,
    McpError,
)
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.server.catalogue import Catalogue, Showing
from dedalus_mcp.server.changes import PROMPTS, RESOURCES, TOOLS, Change
from dedalus_mcp.server.results import failed
from dedalus_mcp.server.tools import OnFailure
from dedalus_mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
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
    ServerCapabilities,
    Tool,
)
from dedalus_mcp.types.methods import COMPLETION_COMPLETE, PROMPTS_GET, RESOURCES_READ, TOOLS_CALL
from dedalus_mcp.types.revisions import MODERN, V2024_11_05

if TYPE_CHECKING:
    from dedalus_mcp.proxies.proxy import Proxy

__all__ = ("Face",)

logger = logging.getLogger("dedalus_mcp")

LentT = TypeVar("LentT")

MAX_ITEMS = 10_000
"""Items of one kind that are handed on: more than any model is shown, and all of them are kept."""


class _Kind:
    """The items of one kind.

    Args:
        showing: Shows them.
        key: The attribute of a definition that tells them apart.
        change: What is told when they are others.
    """

    def __init__(self, showing: Showing[Any], key: str, change: Change) -> None:
        self.change = change
        self._showing = showing
        self._key = key
        self._shown: dict[str, Any] = {}
        self._left_out: set[str] = set()  # said once, though it may be listed again and again

    def show(self, listed: Sequence[Any]) -> bool:
        """Show what was listed, and nothing else; return whether anything is different now."""
        found = {getattr(each, self._key): each for each in listed[:MAX_ITEMS]}
        before = dict(self._shown)
        if found == before:
            return False
        try:
            self._showing.borrower.check_open()
        except RuntimeError as fixed:  # nobody called who could be told
            logger.warning("what the upstream server offers now is not shown: %s", excerpt(fixed))
            return False
        self._left_out &= found.keys()
        for key in before.keys() - found.keys():
            self._showing.take(key)
            del self._shown[key]
        for key, definition in found.items():
            if before.get(key) != definition:
                self._put(key, definition)
        return self._shown != before

    def _put(self, key: str, definition: Any) -> None:
        try:
            self._showing.check(key)
        except ValueError as refused:
            if key not in self._left_out:
                logger.warning("what the upstream server offers is left out: %s", excerpt(refused))
            self._left_out.add(key)
            return
        self._left_out.discard(key)
        self._showing.put(key, definition)
        self._shown[key] = definition


class Face:
    """What is handed on.

    Args:
        proxy: The server that does.

    Attributes:
        capabilities: What the upstream server says that it can do; None before it has, and if it does not.
    """

    def __init__(self, proxy: Proxy) -> None:
        self.capabilities: ServerCapabilities | None = None
        self._proxy = proxy
        self._reader = _Resources(proxy)

        def kind(
            catalogue: Catalogue[Any, LentT], key: str, change: Change, lend: Callable[[Proxy, Any], LentT]
        ) -> _Kind:
            showing: Showing[LentT] = Showing(
                catalogue, "its upstream server", str, lambda _, definition: lend(proxy, definition)
            )
            return _Kind(showing, key, change)

        self._tools = kind(proxy.tools.catalogue, "name", TOOLS, _Tool)
        self._prompts = kind(proxy.prompts.catalogue, "name", PROMPTS, _Prompt)
        self._resources = kind(proxy.resources.catalogue, "uri", RESOURCES, _Resource)
        self._templates = kind(proxy.resources.templates, "uriTemplate", RESOURCES, _Template)

    async def read(self, client: MCPClient) -> None:
        """List everything that the upstream server has, and show it.

        Raises:
            Exception: What listing raised: see `MCPClient.list_tools`.
        """
        theirs = client.server_capabilities
        unknown = client.revision in MODERN and theirs == ServerCapabilities()  # it did not say: then the lists do
        self.capabilities = None if unknown else theirs
        proxy = self._proxy
        cannot_say = client.revision == V2024_11_05  # which has completion, and no capability for it
        proxy.completions.elsewhere = theirs.completions is not None or unknown or cannot_say
        if theirs.tools is not None or unknown:
            await self.read_tools(client)
        if theirs.prompts is not None or unknown:
            await self.read_prompts(client)
        if theirs.resources is not None or unknown:
            await self.read_resources(client)

    def promise(self) -> None:
        """Offer everything, though nothing is known yet: clients that are told so ask again."""
        proxy = self._proxy
        proxy.completions.elsewhere = True
        proxy.tools.catalogue.offer()
        proxy.prompts.catalogue.offer()
        self._offer_resources()

    async def read_tools(self, client: MCPClient) -> None:
        """List the tools: see `read`."""
        listed = await _listed(client.list_tools)
        if listed is not None:
            self._proxy.tools.catalogue.offer()
            self._show(self._tools, [msgspec.structs.replace(tool, execution=None) for tool in listed.tools])

    async def read_prompts(self, client: MCPClient) -> None:
        """List the prompts: see `read`."""
        listed = await _listed(client.list_prompts)
        if listed is not None:
            self._proxy.prompts.catalogue.offer()
            self._show(self._prompts, listed.prompts)

    async def read_resources(self, client: MCPClient) -> None:
        """List the resources and templates: see `read`."""
        resources, templates = await _listed(client.list_resources), await _listed(client.list_resource_templates)
        if resources is None and templates is None:
            return
        self._offer_resources()
        self._show(self._resources, [] if resources is None else resources.resources)
        self._show(self._templates, [] if templates is None else templates.resourceTemplates)

    def _offer_resources(self) -> None:
        resources = self._proxy.resources
        resources.catalogue.offer()
        if self._reader not in resources.unlisted:
            resources.add_unlisted(self._reader)

    def _show(self, kind: _Kind, listed: Sequence[Any]) -> None:
        if len(listed) > MAX_ITEMS:
            logger.warning(
                "%r: the upstream server lists %d items; %d are handed on", self._proxy.name, len(listed), MAX_ITEMS
            )
        if kind.show(listed):
            self._proxy.hear(kind.change)


async def _listed(list_all: Callable[[], Awaitable[Any]]) -> Any:
    """Return a whole list; None where the server has none of the kind."""
    try:
        return await list_all()
    except McpError as error:
        if error.code != METHOD_NOT_FOUND:
            raise
        return None


class _Tool:
    """A tool of the upstream server: a `LentTool`."""

    __slots__ = ("_proxy", "definition")

    tags: frozenset[str] = frozenset()
    there = True

    def __init__(self, proxy: Proxy, definition: Tool) -> None:
        self._proxy = proxy
        self.definition = definition

    async def enabled(self) -> bool:
        return True

    async def call(self, arguments: Raw | dict[str, Any] | None, on_failure: OnFailure | None) -> CallToolResult:
        params = CallToolRequestParams(name=self.definition.name, arguments=_object(arguments))
        try:
            return await self._proxy.forward(TOOLS_CALL, params)
        except CapabilityMissing:
            raise
        except AskFailed as error:  # as in a tool of our own that asks
            return _told(error) if on_failure is None else on_failure(error, _told)


class _Prompt:
    """A prompt of the upstream server: a `LentPrompt`."""

    __slots__ = ("_proxy", "definition")

    def __init__(self, proxy: Proxy, definition: Prompt) -> None:
        self._proxy = proxy
        self.definition = definition

    async def get(self, arguments: Mapping[str, Any] | None) -> GetPromptResult:
        given = None if arguments is None else dict(arguments)
        return await self._proxy.forward(
            PROMPTS_GET, GetPromptRequestParams(name=self.definition.name, arguments=given)
        )

    async def complete(self, argument: CompletionArgument, context: CompletionContext | None) -> Completion:
        return await _completed(self._proxy, PromptReference(name=self.definition.name), argument, context)


class _Resources:
    """The resources of the upstream server, listed or not: a `Reader`."""

    __slots__ = ("_proxy",)

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def read(self, uri: str) -> ReadResourceResult:
        try:
            return await self._proxy.forward(RESOURCES_READ, ReadResourceRequestParams(uri=uri))
        except McpError as error:
            if error.code == INVALID_PARAMS and _names_uri(error.data):  # what 2026-07-28 says for not found
                raise McpError(RESOURCE_NOT_FOUND, error.message, error.data) from error
            raise

    def watched(self, uri: str) -> AbstractAsyncContextManager[None]:
        return self._proxy.watched(uri)


class _Resource(_Resources):
    """One of them: a `LentResource`."""

    __slots__ = ("definition",)

    def __init__(self, proxy: Proxy, definition: Resource) -> None:
        super().__init__(proxy)
        self.definition = definition


class _Template(_Resources):
    """A resource template of the upstream server: a `LentTemplate`, of which only the server knows what it matches."""

    __slots__ = ("definition",)

    variables: tuple[str, ...] = ()

    def __init__(self, proxy: Proxy, definition: ResourceTemplate) -> None:
        super().__init__(proxy)
        self.definition = definition

    def match(self, uri: str) -> dict[str, str] | None:
        return None

    async def complete(self, argument: CompletionArgument, context: CompletionContext | None) -> Completion:
        return await _completed(
            self._proxy, ResourceTemplateReference(uri=self.definition.uriTemplate), argument, context
        )


async def _completed(
    proxy: Proxy, ref: CompletionReference, argument: CompletionArgument, context: CompletionContext | None
) -> Completion:
    params = CompleteRequestParams(ref=ref, argument=argument, context=context)
    return (await proxy.forward(COMPLETION_COMPLETE, params)).completion


def _told(error: Exception) -> CallToolResult:
    return failed(error.message if isinstance(error, McpError) else str(error))


def _names_uri(data: object) -> bool:
    return isinstance(data, dict) and "uri" in data


def _object(arguments: Raw | dict[str, Any] | None) -> dict[str, Any] | None:
    if not isinstance(arguments, Raw):
        return arguments
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any] | None)
    except (msgspec.DecodeError, RecursionError) as error:
        raise McpError(INVALID_PARAMS, f"Invalid params: `arguments` is an object: {excerpt(error)}") from None
