"""The server of the resource tests.

python -m tests.interaction.resource_server          serves on stdio
"""

from __future__ import annotations

from typing import Any

from dedalus_mcp import (
    Context,
    MCPServer,
    ResourceNotFound,
    ServerConfig,
    resource,
    resource_template,
    tool,
    types,
)

__all__ = ("make",)


@resource("demo://text", title="Text", annotations={"audience": ["user"], "lastModified": "2025-01-01T00:00:00Z"})
def text() -> str:
    """Text that is text."""
    return "text é"


@resource("demo://bytes", mime_type="image/png")
async def data() -> bytes:
    return b"\xff\xfe\xfd\xfb"


@resource("demo://json")
def json() -> dict[str, Any]:
    return {"a": [1, None]}


@resource("demo://parts")
async def parts() -> list[Any]:
    return [types.TextResourceContents(uri="demo://parts/1", text="one", meta={"m": 1}), b"2"]


@resource_template(
    "item", uri_template="demo://items/{number}{?lang}", title="Item", icons=[{"src": "https://example.com/i.png"}]
)
async def item(number: int, ctx: Context, lang: str = "en") -> list[Any]:
    if number == 404:
        raise ResourceNotFound.of(f"demo://items/{number}")
    assert ctx.server.name == "resources"
    return [number, lang]


@resource_template("demo://files/{path*}", mime_type="text/x-path")
def file(path: str) -> str:
    if path == "broken":
        raise ValueError("secret internals")
    return path


@tool
async def touch(uri: str, ctx: Context) -> None:
    await ctx.server.notify_resource_updated(uri)


def make() -> MCPServer:
    """A server with pages of two."""
    server = MCPServer("resources", config=ServerConfig(pagination_limit=2))
    server.collect(text, data, json, parts, item, file, touch)
    return server


if __name__ == "__main__":
    make().run()
