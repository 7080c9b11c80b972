"""A server that changes when it is told to.

python -m tests.interaction.changing_server          serves on stdio
"""

from __future__ import annotations

from typing import Any

from dedalus_mcp import MCPServer, prompt, resource, tool

__all__ = ("make",)


@resource("a://watched")
def watched() -> str:
    return "w"


@resource("a://other")
def other() -> str:
    return "o"


@prompt("there")
def there(arguments: dict[str, str] | None) -> Any:
    return []


def make() -> MCPServer:
    """A server with a tool that adds a tool, a prompt or a resource, or says that one has changed."""
    server = MCPServer("changing")
    server.collect(watched, other, there)

    async def added(arguments: dict[str, str] | None = None) -> str:
        return "new"

    @tool
    async def change(what: str) -> None:
        match what:
            case "tool":
                server.collect(tool("added")(added))
            case "prompt":
                server.prompts.remove("there")
            case "resource":
                server.resources.remove("a://other")
            case _:
                await server.notify_resource_updated(f"a://{what}")

    server.collect(change)
    return server


if __name__ == "__main__":
    make().run()
