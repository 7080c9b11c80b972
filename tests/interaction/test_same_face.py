"""A face is the same through `include` and through a proxy: a property of any server, in any revision.

Invariant: for each list and each item, what a client is told by a server, by one that includes it without a
prefix, and by a proxy of it, is equal, but for the name of the server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedalus_mcp import MCPClient, McpError, MCPServer, prompt, proxy, resource, resource_template, tool
from dedalus_mcp.types import CallToolResult, PromptArgument, TextContent
from dedalus_mcp.types.meta import SERVER_INFO_KEY
from tests.interaction.reach import PATIENCE


def _schema(properties: dict[str, Any], more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "x-more": more}


def _property(title: str, extra: Any) -> dict[str, Any]:
    return {"title": title, "x-extra": extra}


def _result(text: str, structured: dict[str, Any], is_error: bool, meta: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], structuredContent=structured, isError=is_error, meta=meta)


names: st.SearchStrategy[str] = st.text("abcdefgXYZ019_.-", min_size=1, max_size=12)
texts: st.SearchStrategy[str] = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=20)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
metas: st.SearchStrategy[Any] = st.none() | st.dictionaries(
    st.from_regex(r"[a-z]{1,8}", fullmatch=True), json_values, min_size=1, max_size=2
)
schemas: st.SearchStrategy[Any] = st.builds(
    _schema,
    st.dictionaries(
        names,
        st.builds(_property, texts, json_values),
        max_size=3,
    ),
    json_values,
)


results: st.SearchStrategy[CallToolResult] = st.builds(
    _result,
    texts,
    st.dictionaries(texts, json_values, max_size=2),
    st.booleans(),
    metas,
)
faces: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "tools": st.dictionaries(names, st.tuples(schemas, texts, metas, results), max_size=4),
        "prompts": st.dictionaries(names, st.tuples(st.lists(names, max_size=2, unique=True), texts), max_size=3),
        "resources": st.dictionaries(names, texts, max_size=3),
        "templates": st.sets(names, max_size=2),
    }
)


def serving(face: dict[str, Any]) -> MCPServer:
    server = MCPServer("same")
    with server.binding():
        for name, (schema, description, meta, result) in face["tools"].items():
            tool(name, input_schema=schema, description=description, meta=meta)(_returning(result))
        for name, (arguments, text) in face["prompts"].items():
            prompt(name, arguments=[PromptArgument(name=each) for each in arguments], description=text)(_saying(text))
        for name, text in face["resources"].items():
            resource(f"a://{name}", name=text)(_reading(text))
        for name in sorted(face["templates"]):
            resource_template(name, uri_template=f"b://{name}/{{x}}")(_echoing())
    return server


def _returning(result: CallToolResult) -> Any:
    async def fn(given: dict[str, Any]) -> CallToolResult:
        return result

    return fn


def _saying(text: str) -> Any:
    async def fn(arguments: dict[str, str] | None) -> Any:
        return [("user", f"{text} {sorted((arguments or {}).items())}")]

    return fn


def _reading(text: str) -> Any:
    async def fn() -> str:
        return text

    return fn


def _echoing() -> Any:
    async def fn(x: str) -> str:
        return x

    return fn


async def seen(server: MCPServer, revision: str, face: dict[str, Any]) -> list[Any]:
    """Everything that a client is told."""
    async with MCPClient.connect(server, revision=revision, cache=None) as client:
        uris = [*(f"a://{name}" for name in face["resources"]), *(f"b://{name}/y" for name in face["templates"])]
        requests: list[Callable[[], Awaitable[Any]]] = [
            client.list_tools,
            client.list_prompts,
            client.list_resources,
            client.list_resource_templates,
            *(partial(client.call_tool, name, {}) for name in (*face["tools"], "no-such")),
            *(
                partial(client.get_prompt, name, dict.fromkeys(arguments, "v"))
                for name, (arguments, _) in face["prompts"].items()
            ),
            *(partial(client.read_resource, uri) for uri in uris),
        ]
        return [client.server_capabilities, *[await _outcome(request()) for request in requests]]


async def _outcome(request: Awaitable[Any]) -> Any:
    """The members of a result, or those of an error; who the server is, is not compared."""
    try:
        members: dict[str, Any] = msgspec.to_builtins(await request)
    except McpError as error:
        return error.code, error.message
    meta: dict[str, Any] = dict(members.pop("_meta", None) or {})
    meta.pop(SERVER_INFO_KEY, None)
    return members, meta


@pytest.mark.parametrize("inside", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("outside", ["2025-06-18", "2025-11-25", "2026-07-28"])
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(face=faces)
def test_a_face_is_the_same_whichever_way_it_is_seen(outside: str, inside: str, face: dict[str, Any]) -> None:
    async def look() -> None:
        with anyio.fail_after(PATIENCE):
            straight = await seen(serving(face), outside, face)
            outer = MCPServer("outer")
            outer.include(serving(face))
            included = await seen(outer, outside, face)
            proxied = await seen(proxy(serving(face), revision=inside), outside, face)

        assert included == straight
        assert proxied == straight

    anyio.run(look)
