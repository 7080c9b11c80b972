"""Completion, from one end to the other, in the words of every revision."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient, McpError, MCPServer, StdioServer, completion, get_context, prompt, resource_template
from dedalus_mcp.types import CompletionArgument, CompletionContext, PromptReference, ResourceTemplateReference
from dedalus_mcp.types.revisions import REVISIONS, V2024_11_05, V2025_06_18
from tests.interaction.raw import serving
from tests.interaction.reach import PATIENCE, script, ways

__all__ = ("make",)

every = pytest.mark.parametrize("revision", REVISIONS)
REVIEW = PromptReference(name="review")
ITEMS = ResourceTemplateReference(uri="demo://items/{number}")
FRAMEWORKS = {"python": ["django", "flask"], "ruby": ["rails"]}


@prompt
def review(language: str, framework: str = "") -> list[tuple[str, str]]:
    return [("user", f"{language} {framework}")]


@resource_template("item", uri_template=ITEMS.uri)
def item(number: int) -> int:
    return number


@completion(prompt="review", argument="language")
async def languages(argument: CompletionArgument) -> list[str]:
    return [each for each in FRAMEWORKS if each.startswith(argument.value)]


@completion(prompt="review")
def frameworks(argument: CompletionArgument, context: CompletionContext) -> list[str]:
    assert get_context().server.name == "completing"
    chosen = (context.arguments or {}).get("language")
    return FRAMEWORKS[chosen] if chosen else [each for all in FRAMEWORKS.values() for each in all]


@completion(resource=ITEMS.uri)
def numbers(argument: CompletionArgument) -> range:
    if argument.value == "broken":
        raise ValueError("secret internals")
    return range(250)


def make() -> MCPServer:
    server = MCPServer("completing")
    server.collect(review, item, languages, frameworks, numbers)
    return server


def target(transport: str) -> MCPServer | StdioServer:
    return make() if transport == "memory" else script("tests.interaction.test_completion")


@ways
@every
async def test_suggestions_reach_the_client(revision: str, transport: str) -> None:
    """COMP-01, COMP-02, COMP-03, COMP-04: what is chosen is told since 2025-06-18."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target(transport), revision=revision) as client:
            assert (client.server_capabilities.completions is not None) == (revision != V2024_11_05)
            assert (await client.complete(REVIEW, "language", "p")).completion.values == ["python"]
            chosen = (await client.complete(REVIEW, "framework", "", chosen={"language": "ruby"})).completion
            assert chosen.values == (["rails"] if revision >= V2025_06_18 else ["django", "flask", "rails"])
            many = (await client.complete(ITEMS, "number", "")).completion
            assert (many.values, many.total, many.hasMore) == ([str(each) for each in range(100)], 250, True)


@ways
@every
async def test_what_cannot_be_completed_is_an_error(revision: str, transport: str) -> None:
    """COMP-05, COMP-08."""
    review = {"type": "ref/prompt", "name": "review"}
    typed = {"name": "language", "value": ""}
    wrong: list[tuple[Any, Any, Any]] = [
        ({"type": "ref/prompt", "name": "nope"}, typed, None),
        ({"type": "ref/resource", "uri": "demo://nope/{x}"}, typed, None),
        ({"type": "ref/tool", "name": "review"}, typed, None),
        ({"name": "review"}, typed, None),
        (review, {"name": "nope", "value": ""}, None),
        (review, {"name": "language"}, None),
        (review, {"name": "language", "value": 7}, None),
        (review, typed, {"arguments": {"framework": 7}}),
        (None, typed, None),
    ]
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            for number, (ref, argument, context) in enumerate(wrong):
                reply = await raw.call(number, "completion/complete", ref=ref, argument=argument, context=context)
                assert reply["error"]["code"] == -32602, reply
            ref = {"type": "ref/resource", "uri": ITEMS.uri}
            reply = await raw.call(99, "completion/complete", ref=ref, argument={"name": "number", "value": "broken"})
            assert reply["error"] == {"code": -32603, "message": "Internal error"}


@every
async def test_a_server_without_completers_has_no_completion(revision: str) -> None:
    """COMP-01, COMP-05, DISC-05."""
    server = MCPServer("none")
    server.collect(review)
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, revision=revision) as client:
            assert client.server_capabilities.completions is None
            with pytest.raises(McpError) as raised:
                await client.complete(REVIEW, "language", "")
            assert raised.value.code == -32601


if __name__ == "__main__":
    make().run()
