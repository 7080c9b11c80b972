"""What type checkers must see of the decorators, the server and the client; never run."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, assert_type

from dedalus_mcp import (
    Context,
    MCPClient,
    MCPClientGroup,
    MCPServer,
    ProgressTelemetry,
    StdioServer,
    StreamableHttp,
    SyncMCPClient,
    Timeout,
    TransportSecuritySettings,
    completion,
    get_context,
    prompt,
    resource,
    resource_template,
    tool,
)
from dedalus_mcp.transport import Duplex, Target
from dedalus_mcp.types import (
    CallToolResult,
    CompletionArgument,
    CompletionContext,
    ElicitRequestParams,
    ElicitResult,
    GetPromptResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceResult,
    ResourceUpdatedNotificationParams,
)
from dedalus_mcp.types.methods import TOOLS_LIST


@tool
def bare(a: int) -> str:
    return str(a)


@tool("named", title="Named")
async def called(a: int, *, b: bool = False) -> list[int]:
    return [a, b]


@prompt("say", arguments=[{"name": "what"}])
def say(arguments: dict[str, str]) -> list[tuple[str, str]]:
    return [("user", arguments["what"])]


@resource("a://b", annotations={"priority": 1})
async def page() -> bytes:
    return b""


@resource_template("item", uri_template="a://{number}")
def item(number: int) -> dict[str, int]:
    return {"number": number}


@completion(prompt="say", argument="what")
async def suggest(argument: CompletionArgument, context: CompletionContext) -> list[str]:
    return [argument.value]


@completion(resource="a://{number}")
def suggest_number(argument: CompletionArgument) -> tuple[str, ...]:
    return (argument.value,)


class Desk:
    @tool
    def method(self, a: int) -> float:
        return a / 2

    @staticmethod
    @tool
    def static(a: int) -> bytes:
        return bytes(a)

    @classmethod
    @tool(title="Made")
    async def made(cls, a: int) -> Desk:
        return cls()

    @prompt("draw")
    def drawn(self, arguments: dict[str, str]) -> None: ...

    @resource("desk://top")
    def top(self) -> str:
        return ""

    @completion(prompt="draw")
    async def suggest(self, argument: CompletionArgument) -> str | None:
        return None

    def __call__(self, a: int) -> complex:
        return a


def decorated_functions_are_what_they_were(desk: Desk) -> None:
    assert_type(bare(1), str)
    coroutine: Coroutine[Any, Any, list[int]] = called(1, b=True)
    coroutine.close()
    assert_type(say({}), list[tuple[str, str]])
    assert_type(item(1), dict[str, int])
    contents: Coroutine[Any, Any, bytes] = page()
    contents.close()
    assert_type(desk.method(1), float)
    assert_type(Desk.static(1), bytes)
    assert_type(suggest_number(CompletionArgument(name="a", value="b")), tuple[str, ...])
    made: Coroutine[Any, Any, Desk] = Desk.made(1)
    made.close()
    assert_type(desk.drawn({}), None)
    assert_type(desk.top(), str)
    suggested: Coroutine[Any, Any, str | None] = desk.suggest(CompletionArgument(name="a", value="b"))
    suggested.close()
    function: Callable[[int], str] = bare
    function(1)
    suggest_number("a")  # type: ignore[arg-type]
    desk.top(1)  # type: ignore[call-arg]


def what_is_no_function_keeps_its_type_too(desk: Desk) -> None:
    assert_type(tool(desk), Desk)
    assert_type(tool("named")(desk)(1), complex)
    assert_type(tool(partial(bare, 1)), partial[str])
    assert_type(tool(partial(bare, a=1))(), str)
    assert_type(tool(desk.method)(1), float)
    contents = resource("a://b")(partial(page))()
    contents.close()


def their_own_arguments_are_checked(desk: Desk) -> None:
    bare("1")  # type: ignore[arg-type]
    desk.method()  # type: ignore[call-arg]


def wrong_values_are_refused(desk: Desk) -> None:
    tool(desk)("1")  # type: ignore[arg-type]
    tool(name="a", titel="A")  # type: ignore[call-overload]
    tool("a", "b")  # type: ignore[call-overload]
    tool(tags=7)  # type: ignore[call-overload]
    tool(timeout="soon")  # type: ignore[call-overload]
    tool(enabled="yes")  # type: ignore[call-overload]
    resource(page)  # type: ignore[arg-type]
    resource_template(item)  # type: ignore[arg-type]
    prompt(arguments=[7])  # type: ignore[list-item]
    completion(suggest)  # type: ignore[call-overload]
    completion()  # type: ignore[call-overload]
    completion(prompt="a", resource="b")  # type: ignore[call-overload]
    MCPServer("m", http_security={"allowed_hosts": ["a"]})  # type: ignore[arg-type]
    MCPServer("m", http_security=TransportSecuritySettings(allowed_hosts=["a"]))
    tool(7)  # type: ignore[call-overload]
    tool(annotations=7)  # type: ignore[call-overload]
    prompt(7)  # type: ignore[call-overload]
    resource()  # type: ignore[call-arg]
    resource("a://b", size="big")  # type: ignore[arg-type]
    resource_template("t", "a://{x}")  # type: ignore[call-arg]
    item("1")  # type: ignore[arg-type]
    MCPServer()  # type: ignore[call-arg]


async def servers(server: MCPServer) -> None:
    assert_type(await server.invoke_tool("a", b=1), CallToolResult)
    assert_type(await server.invoke_prompt("a", arguments={"b": "c"}), GetPromptResult)
    assert_type(await server.invoke_resource("a://b"), ReadResourceResult)
    params = ElicitRequestParams(message="m", requestedSchema={})
    assert_type(await server.request_elicitation(params, timeout=None), ElicitResult)
    with server.binding() as bound:
        assert_type(bound, MCPServer)


class Database: ...


@tool
async def typed(sql: str, plain: Context, ctx: Context[Database], both: Context[Database, int] | None = None) -> str:
    assert_type(ctx.lifespan, Database)
    assert_type(ctx.session_lifespan, Any)
    assert_type(plain.lifespan, Any)
    if both is not None:
        assert_type(both.session_lifespan, int)
        ctx = both
    wrong: Context[int] = ctx  # type: ignore[assignment]
    with ctx.on_cancel(print):
        assert_type(wrong.cancel_reason, str | None)
    return sql


async def contexts() -> None:
    context = get_context()
    assert_type(context, Context)
    assert_type(context.request_id, str)
    assert_type(context.progress_token, int | str | None)
    await context.log("loud", "m")  # type: ignore[arg-type]


async def clients(server: MCPServer) -> None:
    async with MCPClient.connect(server, timeout=Timeout(5, total=60)) as client:
        assert_type(client, MCPClient)
        assert_type(await client.list_tools(timeout=None), ListToolsResult)
        assert_type(await client.call_tool("a", {"b": 1}, timeout=5), CallToolResult)
        assert_type(await client.list_resources(timeout=5), ListResourcesResult)
        assert_type(await client.list_resource_templates(), ListResourceTemplatesResult)
        assert_type(await client.read_resource("a://b", timeout=None), ReadResourceResult)
    assert_type(await MCPClient.connect(server, resource_updated=changed), MCPClient)
    MCPClient.connect(server, resource_updated=page)  # type: ignore[arg-type]
    MCPClient.connect(server, resource_updatde=changed)  # type: ignore[call-arg]


async def changed(params: ResourceUpdatedNotificationParams) -> None:
    assert_type(params.uri, str)


async def raw(client: MCPClient) -> None:
    assert_type(await client.request("acme/make", {"a": 1}), dict[str, Any])
    assert_type(await client.request(TOOLS_LIST, PaginatedRequestParams()), ListToolsResult)
    pending = client.start(client.call_tool, "a", {"b": 1}, timeout=5)
    assert_type(await pending, CallToolResult)
    client.start(client.call_tool, "a", timeuot=5)  # type: ignore[call-arg]
    await client.notify("acme/happened", {"a": 1})


def what_can_be_connected_to(server: MCPServer, duplex: Duplex, target: Target) -> None:
    MCPClient.connect("https://example.com/mcp")
    MCPClient.connect(StdioServer("python", ["server.py"]))
    MCPClient.connect(StreamableHttp("https://example.com/mcp"))
    MCPClient.connect(server)
    MCPClient.connect(duplex)
    MCPClient.connect(target)
    MCPClient.connect(Path("server.py"))  # type: ignore[arg-type]
    MCPClient.connect(["python", "server.py"])  # type: ignore[arg-type]
    MCPClient.connect({"command": "python"})  # type: ignore[arg-type]
    MCPClient.connect(None)  # type: ignore[arg-type]
    MCPClient.connect(MCPServer)  # type: ignore[arg-type]
    MCPClient.connect(StdioServer)  # type: ignore[arg-type]


def waited(server: MCPServer) -> None:
    with SyncMCPClient.connect(server, timeout=5) as client:
        assert_type(client, SyncMCPClient)
        assert_type(client.list_tools(), ListToolsResult)
        assert_type(client.call_tool("a", {"b": 1}, timeout=5), CallToolResult)
        assert_type(client.request("acme/make", {"a": 1}), dict[str, Any])
        assert_type(client.request(TOOLS_LIST, PaginatedRequestParams()), ListToolsResult)
        assert_type(client.start(client.call_tool, "a").result(), CallToolResult)
        client.call_tool(7)  # type: ignore[arg-type]
        client.call_tool("a", timeuot=5)  # type: ignore[call-arg]
    SyncMCPClient.connect(server, timeuot=5)  # type: ignore[call-arg]


async def grouped(server: MCPServer) -> None:
    async with MCPClientGroup({"a": server}, patience=1, timeout=5) as group:
        assert_type(group, MCPClientGroup)
        assert_type(await group.list_tools(), ListToolsResult)
        assert_type(await group.call_tool("a__b", {"c": 1}), CallToolResult)
        assert_type(group["a"], MCPClient)
        await group.add("b", server, timeuot=5)  # type: ignore[call-arg]
    MCPClientGroup({"a": server}, patiance=1)  # type: ignore[call-arg]


async def measured(context: Context) -> None:
    seen: list[float] = []
    hooks = ProgressTelemetry(on_emit=lambda event: seen.append(event.progress))
    async with context.progress(9, telemetry=hooks) as bar:
        assert_type(await bar.advance(), float)
    ProgressTelemetry(on_start=len)  # type: ignore[arg-type]
