"""Hints on how long results may be kept: where they are said, and who reads them."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from dedalus_mcp import MCPServer, ServerConfig, get_context, prompt, resource, resource_template, tool, types
from dedalus_mcp.server.hints import CACHEABLE, CacheHint, hint_of
from dedalus_mcp.types.revisions import LEGACY, MODERN
from tests.interaction.raw import serving


@tool
async def one() -> None: ...


@tool
async def two() -> None: ...


@prompt("p")
def p(arguments: dict[str, str]) -> list[tuple[str, str]]:
    return []


@resource("a://plain", inline=True)
def plain() -> str:
    return ""


@resource("a://kept", inline=True, ttl=1.5, cache_scope="public")
def kept() -> str:
    return ""


@resource("a://stale", inline=True, ttl=0)
def stale() -> str:
    return ""


@resource("a://own", inline=True, ttl=1.5, cache_scope="private")
def own() -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri="a://own", text="")], ttlMs=7)


@resource_template("a://t/{x}", cache_scope="public")
async def t(x: str) -> str:
    return x


@resource_template("a://asking/{x}", ttl=60.0)
async def asking(x: str) -> str:
    await get_context().server.request_elicitation(
        types.ElicitRequestParams(
            message="?", requestedSchema={"type": "object", "properties": {"ok": {"type": "boolean"}}}
        )
    )
    return x


def offering(**hints: CacheHint) -> MCPServer:
    by_method = {name.replace("_", "/"): hint for name, hint in hints.items()}
    server = MCPServer("test", config=ServerConfig(pagination_limit=1, cache_hints=by_method))
    server.collect(one, two, p, plain, kept, stale, own, t, asking)
    return server


def hints_of(reply: dict[str, Any]) -> tuple[Any, Any]:
    return reply["result"].get("ttlMs"), reply["result"].get("cacheScope")


async def test_what_is_said_of_a_method_is_on_every_page_of_its_results() -> None:
    """CACHE-01, CACHE-02, CACHE-11, DISC-07."""
    hint = CacheHint(ttl=2.5, scope="public")
    async with serving(offering(**{method.replace("/", "_"): hint for method in CACHEABLE})) as raw:
        await raw.open("2026-07-28")
        for method in CACHEABLE[:-1]:
            assert hints_of(await raw.call(1, method)) == (2500, "public")
        assert hints_of(await raw.call(1, "tools/list", cursor="1")) == (2500, "public")
        assert hints_of(await raw.call(1, "resources/read", uri="a://plain")) == (2500, "public")
        assert hints_of(await raw.tool(1, "one")) == (None, None)


async def test_a_list_of_which_nothing_is_said_is_not_to_be_kept() -> None:
    """CACHE-01."""
    async with serving(offering(tools_list=CacheHint(ttl=60))) as raw:
        await raw.open("2026-07-28")
        assert hints_of(await raw.call(1, "tools/list")) == (60_000, "private")
        for method in ("server/discover", "prompts/list", "resources/list", "resources/templates/list"):
            assert hints_of(await raw.call(1, method)) == (0, "private")


@pytest.mark.parametrize(
    ("uri", "hints"),
    [
        ("a://plain", (9000, "public")),
        ("a://kept", (1500, "public")),
        ("a://stale", (0, "private")),
        ("a://own", (7, "private")),
        ("a://t/1", (0, "public")),
    ],
)
async def test_a_resource_says_for_itself_how_long_it_may_be_kept(uri: str, hints: tuple[int, str]) -> None:
    """CACHE-01, CACHE-02: what its function returns counts most, what is configured least."""
    async with serving(offering(resources_read=CacheHint(ttl=9, scope="public"))) as raw:
        await raw.open("2026-07-28")
        assert hints_of(await raw.call(1, "resources/read", uri=uri)) == hints


async def test_a_question_that_comes_before_the_result_carries_no_hint() -> None:
    """CACHE-03."""
    async with serving(offering(resources_read=CacheHint(ttl=9))) as raw:
        await raw.open("2026-07-28", {"elicitation": {}})
        asked = await raw.call(1, "resources/read", uri="a://asking/1")
        assert asked["result"]["resultType"] == "input_required"
        assert hints_of(asked) == (None, None)

        (key,) = asked["result"]["inputRequests"]
        answers = {key: {"action": "decline"}}
        again = {"inputResponses": answers, "requestState": asked["result"]["requestState"]}
        assert hints_of(await raw.call(2, "resources/read", uri="a://asking/1", **again)) == (60_000, "private")


@pytest.mark.parametrize("revision", LEGACY)
async def test_legacy_readers_never_see_a_hint(revision: str) -> None:
    hint = CacheHint(ttl=5, scope="public")
    async with serving(offering(tools_list=hint, resources_read=hint)) as raw:
        await raw.open(revision)
        assert hints_of(await raw.call(1, "tools/list")) == (None, None)
        for uri in ("a://plain", "a://kept", "a://own"):
            assert hints_of(await raw.call(1, "resources/read", uri=uri)) == (None, None)
    assert revision not in MODERN


@pytest.mark.parametrize("ttl", [-1, float("nan"), float("inf"), 1e12])
def test_a_time_that_is_none_is_refused(ttl: float) -> None:
    with pytest.raises(ValueError, match="a ttl is from 0 to"):
        CacheHint(ttl=ttl)
    with pytest.raises(ValueError, match="a ttl is from 0 to"):
        resource("a://b", ttl=ttl)


def test_a_scope_that_is_none_is_refused() -> None:
    wrong: Any = "shared"

    with pytest.raises(ValueError, match="'public' or 'private', not 'shared'"):
        resource_template("a://{x}", cache_scope=wrong)


def test_a_method_whose_results_are_never_kept_has_no_hint() -> None:
    with pytest.raises(ValueError, match="no results of tools/call are kept; legal: server/discover"):
        ServerConfig(cache_hints={"tools/call": CacheHint()})


@pytest.mark.parametrize(
    ("ttl", "scope", "hint"),
    [
        (None, None, None),
        (0, None, CacheHint()),
        (1, None, CacheHint(ttl=1)),
        (None, "public", CacheHint(scope="public")),
    ],
)
def test_a_hint_is_what_a_decorator_was_given(
    ttl: float | None, scope: Literal["public"] | None, hint: CacheHint | None
) -> None:
    assert hint_of(ttl, scope) == hint
