"""The server that the official conformance suite examines: every revision, in one process.

Tools, prompts and resources have the names, arguments and texts that its scenarios look for.

    python -m tests.conformance.server --port 3100      serves http://127.0.0.1:3100/mcp
"""

from __future__ import annotations

import argparse
from base64 import b64decode
from typing import Annotated, Any

import anyio
import msgspec

from dedalus_mcp import (
    Context,
    HttpServer,
    HttpSettings,
    McpError,
    MCPServer,
    ToolError,
    completion,
    prompt,
    resource,
    resource_template,
    tool,
    types,
)
from tests.conformance.asking import QUESTIONS, live_questions

__all__ = ("make",)

# One transparent pixel, and a sound of no samples.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
# Before it resumes a stream, a client waits so long: short, since the suite waits with it.
RETRY_MILLISECONDS = 100


def make() -> MCPServer:
    """A server with every fixture."""
    server = MCPServer("dedalus-mcp-conformance", version="1", title="Conformance")
    server.collect(*_CONTENT, *_NOTICES, *_RULES, *_PROMPTS, *_RESOURCES, *QUESTIONS)
    with server.binding():
        live_questions(server)
        changes(server)
    return server


# What tools return.


def _resource(uri: str, text: str, mime: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mimeType=mime, text=text))


@tool
async def test_simple_text() -> types.TextContent:
    """Return a text."""
    return types.TextContent(text="This is a simple text response for testing.")


@tool
async def test_image_content() -> types.ImageContent:
    """Return a picture."""
    return types.ImageContent(data=PNG, mimeType="image/png")


@tool
async def test_audio_content() -> types.AudioContent:
    """Return a sound."""
    return types.AudioContent(data=WAV, mimeType="audio/wav")


@tool
async def test_embedded_resource() -> types.EmbeddedResource:
    """Return a resource in place."""
    return _resource("test://embedded-resource", "This is an embedded resource content.")


@tool
async def test_multiple_content_types() -> list[types.ContentBlock]:
    """Return a text, a picture and a resource."""
    return [
        types.TextContent(text="Multiple content types test:"),
        types.ImageContent(data=PNG, mimeType="image/png"),
        _resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ]


@tool
async def test_error_handling() -> str:
    """Fail, always."""
    raise ToolError("This tool intentionally returns an error for testing")


_CONTENT = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
)


# What they say meanwhile.


@tool
async def test_tool_with_logging(context: Context) -> str:
    """Log three messages."""
    await context.info("Tool execution started")
    await context.info("Tool processing data")
    await context.info("Tool execution completed")
    return "Tool with logging executed successfully"


@tool
async def test_tool_with_progress(context: Context) -> str:
    """Report progress three times."""
    for progress in (0, 50, 100):
        await context.report_progress(progress, total=100)
    return "Tool with progress executed successfully"


@tool
async def test_logging_tool(context: Context) -> str:
    """Log a message to whoever wants to hear it."""
    await context.info("This is heard where a level was asked for")
    return "Logged"


@tool
async def test_reconnection(context: Context) -> str:
    """End the stream, and answer a client that comes again."""
    await context.close_sse_stream(retry=0.1)
    await anyio.sleep(0.2)
    return "Reconnection test completed successfully"


_NOTICES = (test_tool_with_logging, test_tool_with_progress, test_logging_tool, test_reconnection)


# What they demand.


@tool
async def test_missing_capability(context: Context) -> str:
    """Need a client that can sample."""
    if context.client_capabilities.sampling is None:
        raise McpError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "This tool needs a client with the sampling capability",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return "The client can sample"


@tool("test_x_mcp_header")
async def take_mirrored(
    region: Annotated[str, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})] = "",
) -> str:
    """Take an argument that a header repeats."""
    return f"Region: {region}"


_ADDRESS_BOOK: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@tool(input_schema=_ADDRESS_BOOK)
async def json_schema_2020_12_tool(contact: dict[str, Any]) -> str:
    """Take what no signature can say."""
    return f"Contact with {', '.join(contact)}"


_RULES = (test_missing_capability, take_mirrored, json_schema_2020_12_tool)


# What they change.


def changes(server: MCPServer) -> None:
    """Tools that change a list, and change it back."""

    @tool
    async def test_trigger_tool_change() -> str:
        """Add a tool, and remove it."""
        server.collect(passing_tool)
        server.tools.remove("passing_tool")
        return "The list of tools has changed"

    @tool
    async def test_trigger_prompt_change() -> str:
        """Add a prompt, and remove it."""
        server.collect(passing_prompt)
        server.prompts.remove("passing_prompt")
        return "The list of prompts has changed"


@tool
async def passing_tool() -> None:
    """Here and gone."""


@prompt
def passing_prompt() -> None:
    """Here and gone."""


# Prompts.


@prompt("test_simple_prompt", description="A prompt without arguments")
def simple_prompt(arguments: dict[str, str]) -> Any:
    return [("user", "This is a simple prompt for testing.")]


@prompt(
    "test_prompt_with_arguments",
    description="A prompt with two arguments",
    arguments=[
        {"name": "arg1", "description": "First test argument", "required": True},
        {"name": "arg2", "description": "Second test argument", "required": True},
    ],
)
def prompt_with_arguments(arguments: dict[str, str]) -> Any:
    return [("user", "Prompt with arguments: arg1='{arg1}', arg2='{arg2}'".format_map(arguments))]


@prompt(
    "test_prompt_with_embedded_resource",
    description="A prompt with a resource in place",
    arguments=[{"name": "resourceUri", "description": "URI of the resource", "required": True}],
)
def prompt_with_embedded_resource(arguments: dict[str, str]) -> Any:
    return [
        ("user", _resource(arguments["resourceUri"], "Embedded resource content for testing.")),
        ("user", "Please process the embedded resource above."),
    ]


@prompt("test_prompt_with_image", description="A prompt with a picture")
def prompt_with_image(arguments: dict[str, str]) -> Any:
    return [
        ("user", types.ImageContent(data=PNG, mimeType="image/png")),
        ("user", "Please analyze the image above."),
    ]


@completion(prompt="test_prompt_with_arguments")
def complete_argument(argument: types.CompletionArgument) -> list[str]:
    words = ["paris", "park", "party", "test", "testValue1", "testValue2"]
    return [word for word in words if word.startswith(argument.value)]


_PROMPTS = (
    simple_prompt,
    prompt_with_arguments,
    prompt_with_embedded_resource,
    prompt_with_image,
    complete_argument,
)


# Resources.


@resource("test://static-text", name="static-text", title="Static text", mime_type="text/plain")
def static_text() -> str:
    """A text that stays as it is."""
    return "This is the content of the static text resource."


@resource("test://static-binary", name="static-binary", title="Static picture", mime_type="image/png")
def static_binary() -> bytes:
    """A picture that stays as it is."""
    return b64decode(PNG)


@resource("test://watched-resource", name="watched-resource", title="Watched", mime_type="text/plain")
def watched() -> str:
    """A resource to subscribe to."""
    return "This resource may change."


@resource_template("template", uri_template="test://template/{id}/data", mime_type="application/json")
def template(id: str) -> dict[str, Any]:
    """One of a family."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


_RESOURCES = (static_text, static_binary, watched, template)


def main() -> None:
    """Serve on the port that the command line names."""
    parser = argparse.ArgumentParser(description="Serves the fixtures of the official conformance suite.")
    parser.add_argument("--port", type=int, default=3100, help="0 for any that is free; stderr says which")
    parser.add_argument("--always-stream", action="store_true", help="answer every POST with an event stream")
    given = parser.parse_args()
    settings = HttpSettings(always_stream=given.always_stream, retry_milliseconds=RETRY_MILLISECONDS)
    make().run(HttpServer(port=given.port, settings=settings, log_level="info"))


if __name__ == "__main__":
    main()
