"""A server of each document, made of its blocks; run as a script, it serves one on stdio.

The name that the document on elicitation imports from elsewhere comes first, as it does there.
"""

import importlib
import sys
from typing import Any

McpError: Any = importlib.import_module("mcp.shared.exceptions").McpError

from dedalus_mcp import (  # noqa: E402 - see above
    ElicitationConfig,
    MCPServer,
    ServerConfig,
    get_context,
    prompt,
    tool,
    types,
)
from tests.seeds.blocks import body, module  # noqa: E402

__all__ = ("PROMPTS", "elicitation", "prompts")

PROMPTS = ("code_review", "translate", "summarize", "status", "db_summary", "analyze", "generate_report")

_FORM = types.ElicitRequestParams(
    message="Who?",
    requestedSchema={
        "type": "object",
        "properties": {"name": {"type": "string"}, "replicas": {"type": "integer"}, "dry_run": {"type": "boolean"}},
        "required": ["name"],
    },
)


def elicitation(timeout: float | None = None, *, document: str = "elicitation.hi") -> MCPServer:
    """The document on elicitation; its pieces of functions are tools named after them."""
    server = MCPServer("seeds", config=ServerConfig(elicitation=ElicitationConfig(timeout=timeout)))
    server.collect(module(document, "deploy")["deploy"], module(document, "create_project")["create_project"])
    ask = body(document, "params", "ctx")
    actions = body(document, "actions", "ctx", "params")
    careful = body(document, "error_handling", "ctx", "params")

    with server.binding():

        @tool
        async def params() -> str:
            result = await ask(get_context())
            return f"{result.action}: {result.content}"

        @tool(name="actions")
        async def act() -> str:
            return str(await actions(get_context(), _FORM))

        @tool
        async def error_handling() -> str:
            return str(await careful(get_context(), _FORM))

        @tool
        async def code_of_the_error() -> str:
            try:
                await ask(get_context())
            except McpError as error:
                return f"{error.error.code} {error.error.message} {error.error.data}"
            return "no error"

    assert server.tool_names == sorted(
        ("deploy", "create_project", "params", "actions", "error_handling", "code_of_the_error")
    )
    return server


def prompts(document: str = "prompts.hi") -> MCPServer:
    """The document on prompts: its seven prompts, and what it says in words on what a renderer returns."""
    server = MCPServer("assistant")
    for name in PROMPTS:
        server.collect(module(document, name)[name])
    for name, returned in RETURNED.items():
        server.collect(prompt(name, description=name)(_returning(returned)))
    return server


def _returning(returned: Any) -> Any:
    def render(arguments: dict[str, str] | None) -> Any:
        return returned

    return render


_IMAGE = types.ImageContent(data="aGk=", mimeType="image/png")
_AUDIO = types.AudioContent(data="aGk=", mimeType="audio/wav")
_EMBEDDED = types.EmbeddedResource(
    resource=types.TextResourceContents(uri="file:///a.txt", mimeType="text/plain", text="a")
)
_HI = types.TextContent(type="text", text="hi")

RETURNED: dict[str, Any] = {
    "tuples": [("user", "hi")],
    "mappings": [{"role": "user", "content": "hi"}],
    "messages": [types.PromptMessage(role="user", content=_HI)],
    "mixed": (("user", "hi"), {"role": "assistant", "content": "ho"}, types.PromptMessage(role="user", content=_HI)),
    "mapping": {"messages": [("user", "hi")]},
    "mapping-described": {"messages": [("user", "hi")], "description": "its own"},
    "result": types.GetPromptResult(messages=[types.PromptMessage(role="user", content=_HI)]),
    "nothing": None,
    "no-messages": [],
    "string-content": [("user", "hi")],
    "mapping-content": [("user", {"type": "text", "text": "hi"})],
    "block-content": [("user", _HI)],
    "blocks": [("user", _IMAGE), ("assistant", _EMBEDDED)],
    "audio": [("user", _AUDIO)],
    "link": [("user", types.ResourceLink(name="a", uri="file:///a.txt"))],
    "raw-string": "hi",
}
"""What the document lets a renderer return, by the name of the prompt that returns it."""


if __name__ == "__main__":
    (elicitation() if sys.argv[1] == "elicitation" else prompts()).run()
