"""`Renderer`: the mapping of arguments, or parameters read from their strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pytest

from dedalus_mcp import Context, MCPClient, McpError, MCPServer, get_context, prompt
from dedalus_mcp.server.renderers import Renderer
from dedalus_mcp.threads import Threads
from dedalus_mcp.types import PromptArgument, TextContent

LEGACY_AND_MODERN = ["2024-11-05", "2025-11-25", "2026-07-28"]


def typed(n: int, on: bool, tags: list[str], mode: str = "fast") -> list[tuple[str, str]]:
    """Show what came.

    Args:
        n: How many.
        on: Whether.
    """
    return [("user", repr((n, on, tags, mode)))]


async def rendered(server: MCPServer, revision: str, arguments: Mapping[str, Any]) -> str:
    async with MCPClient.connect(server, revision=revision) as client:
        (message,) = (await client.get_prompt("typed", arguments)).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


def offering(function: Any) -> MCPServer:
    server = MCPServer("test")
    server.collect(prompt()(function))
    return server


@pytest.mark.parametrize("revision", LEGACY_AND_MODERN)
async def test_strings_are_read_as_the_annotations_say(revision: str) -> None:
    """B026: the client sends strings, the function gets values."""
    arguments = {"n": "5", "on": "true", "tags": '["a"]'}
    assert await rendered(offering(typed), revision, arguments) == "(5, True, ['a'], 'fast')"
    assert await rendered(offering(typed), revision, {"n": 5, "on": False, "tags": []}) == "(5, False, [], 'fast')"


@pytest.mark.parametrize("revision", LEGACY_AND_MODERN)
async def test_what_does_not_fit_is_named(revision: str) -> None:
    """B026, B028, PROMPT-05."""
    server = offering(typed)
    with pytest.raises(McpError, match="n: expected an integer") as raised:
        await rendered(server, revision, {"n": "abc", "on": "true", "tags": "[]"})
    assert raised.value.code == -32602
    with pytest.raises(McpError, match="Missing required arguments: n, on, tags") as missing:
        await rendered(server, revision, {})
    assert missing.value.code == -32602
    with pytest.raises(McpError, match="colour"):
        await rendered(server, revision, {"n": "1", "on": "true", "tags": "[]", "colour": "red"})


async def test_a_string_stays_the_string_that_it_is() -> None:
    """B109: whatever it looks like."""
    seen: list[Any] = []

    def keep(text: str, maybe: str | None = None) -> None:
        seen.append((text, maybe))

    renderer = Renderer(keep, None)
    for text in ("123", "null", "true", "[1]", '{"a": 1}'):
        await renderer.run({"text": text, "maybe": text}, Threads(1))
    assert seen == [(text, text) for text in ("123", "null", "true", "[1]", '{"a": 1}')]


def test_parameters_are_published() -> None:
    (definition,) = offering(typed).prompts.definitions

    assert definition.name == "typed"
    assert definition.description == "Show what came."
    assert definition.arguments == [
        PromptArgument(name="n", description="How many.", required=True),
        PromptArgument(name="on", description="Whether.", required=True),
        PromptArgument(name="tags", required=True),
        PromptArgument(name="mode", required=False),
    ]


def test_declared_arguments_are_published_as_they_are() -> None:
    declared = [PromptArgument(name="n", description="Mine")]

    assert Renderer(untold, declared).published == declared


def with_optional(arguments: dict[str, str] | None) -> Any:
    return arguments


def with_other_name(given: Mapping[str, str]) -> Any:
    return given


def untold(anything: Any) -> Any:
    return anything


@pytest.mark.parametrize("function", [with_optional, with_other_name, untold])
async def test_one_parameter_for_the_mapping_gets_it(function: Any) -> None:
    renderer = Renderer(function, None)

    assert renderer.published is None
    assert await renderer.run({"a": "1"}, Threads(1)) == {"a": "1"}


async def test_one_parameter_that_is_declared_is_that_argument() -> None:
    def by_name(language: Any) -> Any:
        return language

    renderer = Renderer(by_name, [PromptArgument(name="language")])

    assert await renderer.run({"language": "rust"}, Threads(1)) == "rust"


async def test_a_function_without_parameters_takes_no_arguments() -> None:
    renderer = Renderer(lambda: "hi", None)

    assert renderer.published is None
    assert await renderer.run({}, Threads(1)) == "hi"


@pytest.mark.parametrize("revision", LEGACY_AND_MODERN)
async def test_a_context_is_given_and_never_published(revision: str) -> None:
    @prompt
    async def typed(n: int, maybe: Annotated[Context | None, "hidden"] = None) -> list[tuple[str, str]]:
        ctx = get_context()
        return [("user", f"{n} {ctx.revision} {maybe is ctx}")]

    server = MCPServer("test")
    server.collect(typed)

    assert await rendered(server, revision, {"n": "1"}) == f"1 {revision} True"
    assert [argument.name for argument in server.prompts.definitions[0].arguments or ()] == ["n"]


async def test_a_context_is_missing_in_process() -> None:
    @prompt
    def typed(n: int, ctx: Context) -> None: ...

    server = MCPServer("test")
    server.collect(typed)

    with pytest.raises(LookupError, match="No active context"):
        await server.invoke_prompt("typed", arguments={"n": "1"})


async def test_the_mapping_and_a_context_may_come_together_in_any_order() -> None:
    @prompt("mapping")
    def behind(arguments: dict[str, str], ctx: Context) -> list[tuple[str, str]]:
        return [("user", f"{arguments} {ctx.revision}")]

    @prompt("before")
    def before(ctx: Context, arguments: dict[str, str], /) -> list[tuple[str, str]]:
        return behind(arguments, ctx)

    server = MCPServer("test")
    server.collect(behind, before)
    async with MCPClient.connect(server, revision="2025-11-25") as client:
        for name in ("mapping", "before"):
            (message,) = (await client.get_prompt(name, {"a": "b"})).messages
            assert message.content == TextContent(text="{'a': 'b'} 2025-11-25")
