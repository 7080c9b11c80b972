"""A server with one of everything, to be seen through a proxy.

python -m tests.interaction.proxied_server          serves on stdio
"""

from __future__ import annotations

import os
import sys
from typing import Any
from weakref import WeakKeyDictionary

import anyio

from dedalus_mcp import (
    Context,
    McpError,
    MCPServer,
    ResourceNotFound,
    ToolError,
    completion,
    get_context,
    prompt,
    resource,
    resource_template,
    tool,
    types,
)

__all__ = ("SCHEMA", "make")

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"], "x-foo": {"y": 1}}},
    "x-bar": [1, {"z": None}],
}


@tool(input_schema=SCHEMA, meta={"m": [1, None]}, title="Exact", annotations={"readOnlyHint": True})
async def exact(given: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult(
        content=[
            types.UnknownContent(type="hologram", x=1),
            types.TextContent(text="a", meta={"k": "v"}),
            types.ResourceLink(uri="a://r", name="r"),
        ],
        structuredContent={"given": given},
        meta={"trace": {"id": 7}},
    )


@tool
async def broken() -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text="no")], isError=True, structuredContent={"why": 1})


@tool
async def refuse() -> None:
    raise McpError(-31999, "not today", {"until": [1]})


@tool
async def ask(user: int, ctx: Context) -> str:
    name = await ctx.text(f"{user}: name?")
    sure = await ctx.confirm(f"{user}: sure?")
    said = await ctx.sample(f"{user}: say", max_tokens=5)
    roots = await ctx.list_roots()
    return f"{name} {sure} {getattr(said.content, 'text', None)} {[root.uri for root in roots]}"


@tool
async def ask_at_once(ctx: Context) -> str:
    answers: dict[int, bool] = {}

    async def one(number: int) -> None:
        answers[number] = await ctx.confirm(f"{number}?")

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(one, number)
    return f"{[answers[number] for number in range(3)]}"


@tool
async def visit(ctx: Context) -> str:
    return (await ctx.elicit_url("Go there", "https://example.com/pay")).action


@tool
async def roots(ctx: Context) -> str:
    return f"{[root.uri for root in await ctx.list_roots()]}"


@tool
async def die() -> None:
    sys.stderr.write("no licence\n")
    sys.stderr.flush()
    os._exit(3)


@tool
async def declared(ctx: Context) -> str:
    able = ctx.client_capabilities
    return f"{able.elicitation is not None} {able.sampling is not None} {able.roots is not None}"


@tool
async def tell(ctx: Context) -> str:
    await ctx.debug("quiet")
    await ctx.warning("loud", logger="l", data={"a": 1})
    for step in range(1, 4):
        await ctx.report_progress(step, total=3, message=f"step {step}")
    return f"{ctx.meta.get('example.com/trace')}"


@tool
async def wait(ctx: Context) -> None:
    try:
        await ctx.report_progress(1)
        await anyio.sleep_forever()
    finally:
        ENDED.append("ended")


@tool
async def ended() -> int:
    return len(ENDED)


@tool
async def count() -> int:
    """How often it was called in this session: what a server keeps for one."""
    peer = get_context().peer
    COUNTS[peer] = COUNTS.get(peer, 0) + 1
    return COUNTS[peer]


@prompt("greet", title="Greet", arguments=[{"name": "who", "required": True}], meta={"m": 1})
async def greet(arguments: dict[str, str] | None) -> Any:
    return [
        types.PromptMessage(role="user", content=types.ImageContent(data="aGk=", mimeType="image/png")),
        types.PromptMessage(
            role="assistant",
            content=types.EmbeddedResource(resource=types.TextResourceContents(uri="a://r", text="hello")),
        ),
        types.PromptMessage(role="user", content=types.TextContent(text=f"Hello {(arguments or {}).get('who')}")),
    ]


@completion(prompt="greet", argument="who")
def people(argument: types.CompletionArgument) -> types.Completion:
    return types.Completion(values=[argument.value + "a"], total=7, hasMore=True)


@resource("a://r", name="r", mime_type="text/x", size=1)
async def r() -> str:
    return "r"


@resource_template("t", uri_template="a://t/{x}")
async def t(x: str) -> bytes:
    if x == "none":
        raise ResourceNotFound(-32002, "no such t", {"uri": "a://t/none", "why": "none"})
    return x.encode()


@completion(resource="a://t/{x}", argument="x")
def letters(argument: types.CompletionArgument) -> list[str]:
    return [argument.value + "b"]


ENDED: list[str] = []
COUNTS: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def make(**settings: Any) -> MCPServer:
    """A server whose tools also change it."""
    server = MCPServer("upstream", version="7", instructions="Use it well.", **settings)
    server.collect(exact, broken, refuse, ask, ask_at_once, visit, roots, die, declared, tell, wait, ended, count)
    server.collect(greet, people, r, t, letters)

    async def added() -> str:
        return "new"

    @tool
    async def change(what: str) -> None:
        match what:
            case "tool":
                server.collect(tool("added")(added))
            case "prompt":
                server.prompts.remove("greet")
            case "resource":
                server.resources.remove("a://r")
            case "fail":
                raise ToolError("no such change")
            case _:
                await server.notify_resource_updated(what)

    server.collect(change)
    return server


if __name__ == "__main__":
    make().run()
