"""Many servers as one: their tools, prompts and resources in one list each, and every call to whom it concerns.

    async with MCPClientGroup("mcp.json") as group:
        tools = (await group.list_tools()).tools             files__read, search__query, ...
        await group.call_tool("files__read", {"path": "a"})

A server that cannot be reached, or goes away, is in `errors` and keeps nobody from the others.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import anyio
import msgspec

from dedalus_mcp.client.any_request import ProgressHandler
from dedalus_mcp.client.client import MCPClient
from dedalus_mcp.client.member import MAX_URIS, Member
from dedalus_mcp.client.members import Members
from dedalus_mcp.client.naming import in_group, parted
from dedalus_mcp.client.timeouts import DEFAULT, Default, TimeoutLike
from dedalus_mcp.errors import METHOD_NOT_FOUND, DedalusError, McpError
from dedalus_mcp.types import (
    BaseMetadata,
    CallToolResult,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedResult,
    ReadResourceResult,
    ServerCapabilities,
)

__all__ = ("MCPClientGroup",)

# A server that takes longer to say what it has keeps the others' lists from nobody.
LIST_SECONDS = 10.0

PageT = TypeVar("PageT", bound=PaginatedResult)
ListedT = TypeVar("ListedT", bound=BaseMetadata)


class MCPClientGroup(Members):
    """A group of clients, each of one server.  Usable and closable from any task of its event loop.

    Args:
        servers: What `MCPClient.connect` takes, or an entry of a configuration, by name; or a configuration
            as desktop hosts have it (``{"mcpServers": {...}}``), or the path of its file.  A name is
            changed where models would not take it: see `names`.
        settings_of: Returns the settings of one server, by its name, where they differ from `settings`.
        open_timeout: How long connecting to one server may take, in seconds.
        patience: How long entering the group waits for servers that are slow, in seconds; they join when
            they are ready.
        max_opening: How many are being connected to at once.
        settings: The settings of every server's client: see `ClientSettings`.

    Raises:
        OSError: The file cannot be read.
        ValueError: The configuration is not legal, or two names would be the same; the text says where.
        TypeError: There is no such setting, or it is for one server alone: `headers`, `auth`.
    """

    async def list_tools(self, *, timeout: TimeoutLike = LIST_SECONDS) -> ListToolsResult:
        """Return the tools of all servers; who does not answer in time is in `errors`."""
        found = await self._listed("tools", lambda client: client.list_tools(timeout=timeout))
        return ListToolsResult(tools=[_renamed(name, tool) for name, page in found for tool in page.tools])

    async def list_prompts(self, *, timeout: TimeoutLike = LIST_SECONDS) -> ListPromptsResult:
        """Return the prompts of all servers; who does not answer in time is in `errors`."""
        found = await self._listed("prompts", lambda client: client.list_prompts(timeout=timeout))
        return ListPromptsResult(prompts=[_renamed(name, prompt) for name, page in found for prompt in page.prompts])

    async def list_resources(self, *, timeout: TimeoutLike = LIST_SECONDS) -> ListResourcesResult:
        """Return the resources of all servers, whose URIs stay as they are: see `read_resource`."""
        found = await self._listed("resources", lambda client: client.list_resources(timeout=timeout))
        for name, page in found:
            if name in self._members:
                self._members[name].uris = {each.uri for each in page.resources[:MAX_URIS]}
        return ListResourcesResult(resources=[_renamed(name, each) for name, page in found for each in page.resources])

    async def list_resource_templates(self, *, timeout: TimeoutLike = LIST_SECONDS) -> ListResourceTemplatesResult:
        """Return the resource templates of all servers, whose URIs stay as they are: see `read_resource`."""
        found = await self._listed("resources", lambda client: client.list_resource_templates(timeout=timeout))
        return ListResourceTemplatesResult(
            resourceTemplates=[_renamed(name, each) for name, page in found for each in page.resourceTemplates]
        )

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
        """Call a tool by its name in the group.

        Args:
            name: Which one: the server's name in the group, two underscores, the tool's own.
            arguments: See `MCPClient.call_tool`, as for all that follows.
            timeout: See there.
            progress: See there.
            meta: See there.
            raise_on_error: See there.

        Raises:
            LookupError: There is no such server in the group.
            ConnectionLost: It is not connected; the text says why.
            Exception: What `MCPClient.call_tool` raises.
        """
        client, own = await self._whose(name)
        return await client.call_tool(
            own, arguments, timeout=timeout, progress=progress, meta=meta, raise_on_error=raise_on_error
        )

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: TimeoutLike | Default = DEFAULT,
        progress: ProgressHandler | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> GetPromptResult:
        """Render a prompt by its name in the group.

        Args:
            name: Which one: the server's name in the group, two underscores, the prompt's own.
            arguments: See `MCPClient.get_prompt`, as for all that follows.
            timeout: See there.
            progress: See there.
            meta: See there.

        Raises:
            LookupError: There is no such server in the group.
            ConnectionLost: It is not connected; the text says why.
            Exception: What `MCPClient.get_prompt` raises.
        """
        client, own = await self._whose(name)
        return await client.get_prompt(own, arguments, timeout=timeout, progress=progress, meta=meta)

    async def read_resource(
        self,
        uri: str,
        *,
        server: str | None = None,
        timeout: TimeoutLike | Default = DEFAULT,
        progress: ProgressHandler | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ReadResourceResult:
        """Read a resource.

        Args:
            uri: Which one.
            server: Whose; None for the one server that has listed it.
            timeout: See `MCPClient.read_resource`, as for all that follows.
            progress: See there.
            meta: See there.

        Raises:
            LookupError: No server has listed it, or several have: then `server` says which is meant.
            ConnectionLost: The server is not connected; the text says why.
            Exception: What `MCPClient.read_resource` raises.
        """
        self._opened()
        member = self._member(server) if server is not None else await self._owner(uri)
        await member.settled()
        return await member.connected().read_resource(uri, timeout=timeout, progress=progress, meta=meta)

    async def _whose(self, name: str) -> tuple[MCPClient, str]:
        self._opened()
        server, own = parted(name)
        member = self._member(server)
        await member.settled()
        return member.connected(), own

    async def _owner(self, uri: str) -> Member:
        """The one server that has listed a resource; all are asked where nobody has."""
        if not any(uri in member.uris for member in self._members.values()):
            await self.list_resources()
        owners = [member for member in self._members.values() if uri in member.uris]
        if len(owners) != 1:
            who = ", ".join(member.name for member in owners) or "no server of this group"
            raise LookupError(f"{who} listed {uri!r:.160}: say server=, one of {', '.join(self._members)}")
        return owners[0]

    async def _listed(self, capability: str, ask: Callable[[MCPClient], Awaitable[PageT]]) -> list[tuple[str, PageT]]:
        """Ask all that are connected at once, and return who answered, in the group's order."""
        self._opened()
        found: dict[str, PageT] = {}

        async def one(member: Member, client: MCPClient) -> None:
            try:
                found[member.name] = await ask(client)
                member.fault = None
            except (DedalusError, OSError) as error:
                if not (isinstance(error, McpError) and error.code == METHOD_NOT_FOUND):
                    member.fault = error

        async with anyio.create_task_group() as group:
            for member in self._members.values():
                if (client := member.client) is not None and _has(client.server_capabilities, capability):
                    group.start_soon(one, member, client)
        return [(name, found[name]) for name in self._members if name in found]


def _has(capabilities: ServerCapabilities, capability: str) -> bool:
    """Whether a server has that; one that said nothing of itself may."""
    return getattr(capabilities, capability) is not None or capabilities == ServerCapabilities()


def _renamed(server: str, listed: ListedT) -> ListedT:
    return msgspec.structs.replace(listed, name=in_group(server, listed.name))
