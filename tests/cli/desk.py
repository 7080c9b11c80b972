"""A server with one of everything that the command line shows."""

from __future__ import annotations

import base64
from typing import Any, Literal

from dedalus_mcp import Context, MCPServer, ToolError, completion, prompt, resource, resource_template, tool, types

__all__ = ("desk",)


@tool
async def add(a: int, b: float = 1.5) -> float:
    """Add two numbers."""
    return a + b


@tool
async def echo(
    text: str = "",
    count: int | None = None,
    flag: bool = False,
    kind: Literal["web", "api"] = "web",
    tags: list[str] | None = None,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what came."""
    return {"text": text, "count": count, "flag": flag, "kind": kind, "tags": tags, "options": options}


@tool
async def fail() -> str:
    """Fail."""
    raise ToolError("no \x1b[2Jluck")


@tool
async def work(ctx: Context) -> str:
    """Say how far it is."""
    await ctx.warning("half\nway")
    await ctx.report_progress(1, total=2, message="one")
    return "done"


@resource("desk://note", mime_type="text/plain")
def note() -> str:
    """The note on the desk."""
    return "a note\x1b]0;owned\x07"


@resource("desk://picture", mime_type="image/png")
def picture() -> bytes:
    return b"\x89PNG"


@resource_template("desk://notes/{name}")
def notes(name: str) -> str:
    """A note by its name."""
    return f"note {name}"


@prompt("greet", description="Greet somebody", arguments=[{"name": "who", "required": True}, {"name": "how"}])
def greet(arguments: dict[str, str] | None) -> list[tuple[str, str]]:
    return [("user", f"Greet {(arguments or {}).get('who')}")]


@completion(prompt="greet")
def complete_greet(argument: types.CompletionArgument, context: types.CompletionContext | None) -> list[str]:
    return [name for name in ("ann", "anton", "bob") if name.startswith(argument.value)]


@tool
async def picture_of() -> types.CallToolResult:
    """Return blocks of several kinds."""
    data = base64.b64encode(b"\x89PNG" * 300).decode()
    picture = types.ImageContent(data=data, mimeType="image/png")
    return types.CallToolResult(content=[picture, types.TextContent(text="below")])


def desk() -> MCPServer:
    """Make the server."""
    server = MCPServer("desk", title="A desk", version="1.2", instructions="Ask, then write.")
    server.collect(add, echo, fail, work, note, picture, notes, greet, complete_greet, picture_of)
    return server
