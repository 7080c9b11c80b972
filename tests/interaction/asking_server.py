"""A server whose tools ask in every way that there is.

python -m tests.interaction.asking_server          serves on stdio
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Annotated, Any, Literal

import anyio
import msgspec

from dedalus_mcp import AskFailed, Context, McpError, MCPServer, ServerConfig, form, prompt, resource, tool, types
from dedalus_mcp.server.audit import OnAsk

__all__ = ("Deploy", "Region", "make")


class Region(enum.Enum):
    EU = "eu"
    US = "us"

    @property
    def title(self) -> str:
        return {"EU": "Europe", "US": "America"}[self.name]


@form
@dataclasses.dataclass
class Deploy:
    region: Region
    replicas: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1
    note: str | None = None


@dataclasses.dataclass
class Deep:
    deploy: Deploy


@tool
async def deploy(ctx: Context) -> str:
    answer = await ctx.elicit("Deploy?", Deploy)
    return f"{answer.data}" if answer else answer.action


@tool
async def raw_form(ctx: Context, schema: dict[str, Any]) -> str:
    try:
        answer = await ctx.elicit("?", schema)
    except AskFailed as error:
        return f"{error.code} {error}"
    return f"{answer.data}" if answer else answer.action


@tool
async def deep(ctx: Context) -> str:
    chosen: type[Any] = Deep  # as late as this, nobody reads in the source what is asked
    try:
        await ctx.elicit("?", chosen)
    except AskFailed as error:
        return f"{error.code} {error}"
    return "no error"


@tool
async def confirm(ctx: Context) -> str:
    return f"{await ctx.confirm('Really?')}"


@tool
def confirm_in_a_thread(ctx: Context) -> str:
    return f"{ctx.wait(ctx.confirm('Really?'))}"


@tool
async def impatient(ctx: Context) -> str:
    try:
        return f"{await ctx.confirm('Really?', timeout=0.01)}"
    except AskFailed as error:
        return f"{error.code} {error}"


@tool
async def named(ctx: Context) -> str:
    return f"{await ctx.confirm('Really?', key='sure')}"


@tool(inline=True)
def confirm_inline(ctx: Context) -> str:
    try:
        return f"{ctx.wait(ctx.confirm('Really?'))}"
    except RuntimeError as error:
        return f"{error}"


@tool
async def choose(ctx: Context, how: Literal["list", "mapping", "enum", "none"]) -> str:
    if how == "list":
        return f"{await ctx.choose('Which?', ['a', 'b'])!r}"
    if how == "mapping":
        return f"{await ctx.choose('Which?', {1: 'One', 2: 'Two'})!r}"
    if how == "enum":
        return f"{await ctx.choose('Which?', Region)!r}"
    try:
        return f"{await ctx.choose('Which?', list[str]())!r}"
    except AskFailed as error:
        return f"{error.code} {error}"


@tool
async def choose_many(ctx: Context, minimum: int | None = None, maximum: int | None = None) -> str:
    try:
        return f"{await ctx.choose_many('Which?', Region, minimum=minimum, maximum=maximum)!r}"
    except AskFailed as error:
        return f"{error.code} {error}"


@tool
async def text(ctx: Context) -> str:
    return f"{await ctx.text('Who?', min_length=1, max_length=9, format='email')!r}"


@tool
async def number(ctx: Context) -> str:
    return f"{await ctx.number('How much?', minimum=0, maximum=2)!r}"


@tool
async def integer(ctx: Context) -> str:
    return f"{await ctx.integer('How many?', minimum=0, default=3)!r}"


@tool
async def visit(ctx: Context, url: str = "https://example.com/pay") -> str:
    visit = await ctx.elicit_url("Pay", url)
    await visit.complete()
    return f"{visit.action} {bool(visit)}"


@tool
async def must_visit(ctx: Context) -> str:
    page = types.ElicitRequestURLParams(message="Pay", url="https://example.com/pay", elicitationId="e7")
    raise McpError(-32042, "Pay first", {"elicitations": [page]})


@tool
async def sample(ctx: Context, with_tools: bool = False, include_context: bool = False) -> str:
    found = types.Tool(name="look", inputSchema={"type": "object"})
    reply = await ctx.sample(
        ["Hello", types.SamplingMessage(role="assistant", content=types.TextContent(text="Yes?"))],
        max_tokens=7,
        system_prompt="Be short.",
        temperature=0.5,
        stop_sequences=["."],
        metadata={"m": 1},
        model_preferences=types.ModelPreferences(hints=[types.ModelHint(name="small")], costPriority=1),
        include_context="thisServer" if include_context else None,
        tools=[found] if with_tools else None,
        tool_choice="required" if with_tools else None,
    )
    return f"{reply.model} {reply.stopReason} {reply.content}"


@tool
async def roots(ctx: Context) -> str:
    return f"{[root.uri for root in await ctx.list_roots()]}"


@tool
async def inside(ctx: Context, path: str) -> str:
    return f"{await ctx.require_within_roots(path)}"


@tool
async def all_at_once(ctx: Context) -> list[str]:
    """Every kind of question, in one task group."""
    found: dict[str, str] = {}

    async def one(name: str) -> None:
        if name == "form":
            found[name] = f"{await ctx.confirm('Really?', key='sure')}"
        elif name == "sample":
            found[name] = f"{(await ctx.sample('Hello')).model}"
        else:
            found[name] = f"{len(await ctx.list_roots())}"

    async with anyio.create_task_group() as group:
        for name in ("form", "sample", "roots"):
            group.start_soon(one, name)
    return [found[name] for name in ("form", "sample", "roots")]


@prompt("ask")
async def ask_in_a_prompt(ctx: Context) -> list[tuple[str, str]]:
    """Ask in a prompt."""
    return [("user", f"{await ctx.confirm('Really?')}")]


@resource("ask://it")
async def ask_in_a_resource(ctx: Context) -> str:
    return f"{await ctx.confirm('Really?')}"


PLAIN = (
    impatient, named,
    deploy, raw_form, deep, confirm, confirm_in_a_thread, confirm_inline, choose, choose_many, text, number, integer,
    visit, must_visit, sample, roots, inside, all_at_once, ask_in_a_prompt, ask_in_a_resource,
)  # fmt: skip


def make(on_ask: OnAsk | None = None, config: ServerConfig | None = None) -> MCPServer:
    """A new server."""
    server = MCPServer("asking", version="1", config=config, on_ask=on_ask)
    server.collect(*PLAIN)
    return server


if __name__ == "__main__":
    make().run()
