"""A server with something of everything, all of it in coroutines: so one input does the same each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from dedalus_mcp import (
    Context,
    McpError,
    MCPServer,
    ServerConfig,
    ToolError,
    completion,
    prompt,
    resource,
    resource_template,
    tool,
    types,
)

__all__ = ("make",)

MIRRORED = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
    },
}


@dataclass
class Deploy:
    """What is asked for."""

    confirm: bool
    region: Literal["eu", "us"] = "eu"
    replicas: int = 1


@tool
async def echo(text: str = "") -> str:
    """Say it again."""
    return text


@tool
async def add(a: int, b: float, rest: list[int] | None = None) -> dict[str, Any]:
    """Return something structured."""
    return {"sum": a + b + sum(rest or [])}


@tool
async def fail(how: str, context: Context) -> str:
    """Fail in several ways."""
    await context.info(f"fails by {how}")
    if how == "protocol":
        raise McpError(-32050, "of its own", {"how": how})
    raise ToolError("for the model")


@tool
async def work(steps: int, context: Context) -> str:
    """Report progress."""
    for step in range(min(max(steps, 0), 20)):
        await context.report_progress(step, total=steps, message=f"step {step}")
        await context.debug("one more")
    return "done"


@tool
async def ask(context: Context, key: str = "k") -> str:
    """Ask the user twice, and do something between."""
    first = await context.elicit("Deploy?", Deploy, key=key or None)
    token = await context.step("once", _once, key)
    second = await context.confirm(f"Sure about {token}?", timeout=60.0)
    return f"{first!r} {second}"


@tool
async def sample(context: Context, text: str = "?") -> str:
    """Ask the client's model, and for its roots."""
    message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    result = await context.sample([message], max_tokens=5)
    roots = await context.list_roots()
    return f"{result!r} {roots!r}"


@tool(input_schema=MIRRORED)
async def mirrored(given: dict[str, Any]) -> str:
    """Have arguments in headers."""
    return str(given)


@resource("file:///a")
async def a() -> str:
    """Have something to read."""
    return "a"


@resource_template("note:///{day}/{+rest}{?part}")
async def note(day: Annotated[str, "Which day"], rest: str, part: str = "") -> bytes:
    """Have something to read at many places."""
    return f"{day} {rest} {part}".encode()


@prompt("greet", arguments=[{"name": "name", "required": True}, {"name": "tone"}])
def greet(arguments: dict[str, str] | None) -> Any:
    """Have something to say."""
    return [("user", f"Hello {(arguments or {}).get('name')}")]


@completion(prompt="greet")
async def names(argument: types.CompletionArgument, context: Any) -> Any:
    """Have something to propose."""
    return [argument.value + "x", "y"]


async def _once(key: str) -> str:
    return f"token of {key!r:.20}"


def make(**settings: Any) -> MCPServer:
    """Make the server.

    Args:
        settings: More for `MCPServer`.
    """
    server = MCPServer("hostile", version="1", instructions="Try.", config=ServerConfig(pagination_limit=2), **settings)
    server.collect(echo, add, fail, work, ask, sample, mirrored, a, note, greet, names)
    return server
