"""One server process, every revision, no switch: each message is classified by itself."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, StdioServer
from dedalus_mcp.server.answering import MAX_HANDSHAKE
from dedalus_mcp.types.revisions import LEGACY, MODERN, REVISIONS
from tests.interaction.raw import INFO, Raw, envelope, serving
from tests.interaction.reach import PATIENCE, script, ways
from tests.interaction.server import make

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def target(transport: str) -> MCPServer | StdioServer:
    return make() if transport == "memory" else script("tests.interaction.server")


@ways
@pytest.mark.parametrize("revision", LEGACY)
async def test_a_legacy_client_gets_the_revision_that_it_asks_for(revision: str, transport: str) -> None:
    """LIFE-03, LIFE-04, LIFE-11, B077, B103: ping works before, between and after; notices take no params."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            assert (await raw.call("p", "ping"))["result"] == {}
            result = (await raw.initialize(revision))["result"]
            assert result["protocolVersion"] == revision
            assert result["serverInfo"]["name"] == "interaction"
            assert result["instructions"] == "Use it."
            assert set(result["capabilities"]) == {"logging", "tools", "prompts"}
            assert (await raw.call("p", "ping"))["result"] == {}
            await raw.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
            assert (await raw.call("p", "ping"))["result"] == {}
            assert (await raw.tool(1, "echo", text="hi"))["result"]["content"] == [{"type": "text", "text": "hi"}]


@pytest.mark.parametrize("asked", ["2024-10-07", "2026-07-28", "2099-01-01", "", "DRAFT"])
async def test_an_unknown_revision_is_answered_with_the_newest_legacy_one(asked: str) -> None:
    """LIFE-03."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            assert (await raw.initialize(asked))["result"]["protocolVersion"] == "2025-11-25"
            assert "result" in await raw.call(1, "tools/list")


@ways
async def test_a_second_initialize_is_refused_and_changes_nothing(transport: str) -> None:
    """B106."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open("2025-03-26")
            assert (await raw.initialize("2025-11-25", {"elicitation": {}}, id=2))["error"]["code"] == -32600
            listed = (await raw.call(3, "tools/list"))["result"]["tools"]
            assert all("outputSchema" not in tool for tool in listed)  # still the revision of the first
            assert (await raw.tool(4, "code", message="?"))["result"]["content"][0]["text"].startswith("-32601")


@ways
@pytest.mark.parametrize("revision", LEGACY)
async def test_requests_may_follow_the_handshake_without_waiting(revision: str, transport: str) -> None:
    """LIFE-03, B077: pipelined, they are answered in the terms that were agreed on."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": INFO}
            await raw.say(
                {"id": 1, "method": "initialize", "params": params},
                {"id": 2, "method": "tools/list"},
                {"method": "notifications/initialized"},
                {"id": 3, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "hi"}}},
            )
            assert (await raw.hear())["result"]["protocolVersion"] == revision
            listed = await raw.hear()
            assert listed["id"] == 2
            assert any("outputSchema" in tool for tool in listed["result"]["tools"]) == (revision >= "2025-06-18")
            assert (await raw.reply(3))["result"]["content"][0]["text"] == "hi"


@pytest.mark.parametrize("method", ["tools/list", "tools/call", "prompts/get", "logging/setLevel"])
async def test_without_a_session_a_bare_request_is_refused_at_once(method: str) -> None:
    """B077: neither silence nor an exit; a probing client learns from the answer, and a handshake makes it good."""
    params = {"name": "echo", "arguments": {"text": "x"}, "level": "info"}
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            assert (await raw.call(1, method, params))["error"]["code"] in (-32600, -32602)
            await raw.open("2025-06-18")
            assert "result" in await raw.call(2, "tools/list")


@ways
async def test_modern_requests_stand_alone_beside_a_legacy_session(transport: str) -> None:
    """META-05, META-07, VER-03, DISC-01: before it, during its calls, after it; nothing passes between the two."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            assert "2026-07-28" in (await _modern(raw, 1, "server/discover"))["result"]["supportedVersions"]
            await raw.open("2025-11-25", {"elicitation": {}})
            await raw.begin("held", "tools/call", name="hold", arguments={"key": "k"})
            await raw.tool(2, "until", what="k began")

            assert (await _modern(raw, 3, "tools/list"))["result"]["resultType"] == "complete"
            code = await _modern(raw, 4, "tools/call", name="code", arguments={"message": "?"})
            assert code["result"]["content"][0]["text"].startswith("-32601")  # what the session declared is not its own
            assert "error" in await _modern(raw, 5, "ping")
            await _modern(raw, 6, "tools/call", name="logs", arguments={})
            assert [m for m in raw.heard if m.get("method") == "notifications/message"] == []

            await raw.tool(7, "release", key="k")
            assert (await raw.reply("held"))["result"]["content"][0]["text"] == "k"
            assert "resultType" not in (await raw.call(8, "tools/list"))["result"]


@pytest.mark.parametrize("missing", [VERSION, CAPABILITIES])
@pytest.mark.parametrize("wrong", [None, 5, "absent"])
async def test_an_incomplete_envelope_is_refused_naming_the_key(missing: str, wrong: Any) -> None:
    """META-01, META-03, META-04: two keys are required, `clientInfo` is not."""
    meta = envelope()
    if wrong == "absent":
        del meta[missing]
    else:
        meta[missing] = wrong
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            error = (await raw.call(1, "server/discover", _meta=meta))["error"]
            assert error["code"] == -32602
            assert missing in error["message"]
            assert "result" in await _modern(raw, 2, "tools/list")


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "tools/call"])
@pytest.mark.parametrize("version", ["2099-01-01", "2025-11-25", "2024-11-05", ""])
async def test_a_version_that_is_not_modern_is_refused_with_those_that_are(version: str, method: str) -> None:
    """VER-01."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            params = {"_meta": envelope(version), "name": "echo", "arguments": {"text": "x"}}
            error = (await raw.call(1, method, params))["error"]
            assert error["code"] == -32022
            assert error["data"] == {"supported": list(MODERN), "requested": version}


@ways
async def test_a_client_that_says_too_much_of_itself_gets_no_session_and_may_try_again(transport: str) -> None:
    """A session keeps it for as long as it lives."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            able: dict[str, Any] = {"experimental": {"x": {"y": "z" * MAX_HANDSHAKE}}}
            for capabilities, name in ((able, "raw"), ({}, "x" * MAX_HANDSHAKE)):
                params = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
                params |= {"clientInfo": {"name": name, "version": "1"}}
                error = (await raw.call(1, "initialize", params))["error"]
                assert (error["code"], "65536 bytes" in error["message"]) == (-32602, True)
            assert "result" in await raw.initialize("2025-11-25", {"experimental": {"x": {"y": "z" * 60_000}}})


async def test_initialize_in_a_modern_envelope_is_no_method() -> None:
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            reply = await _modern(raw, 1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=INFO)
            assert reply["error"]["code"] == -32601
            await raw.open("2025-11-25")  # and no session was agreed on by it


@ways
@pytest.mark.parametrize("revision", REVISIONS)
async def test_each_revision_has_its_own_methods(revision: str, transport: str) -> None:
    """RPC-26, RPC-27, TASK-45, B104: unknown methods (whatever their params), tools and prompts, each with its code."""
    modern = revision in MODERN
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            for method in (
                "no/such",
                "tools",
                "",
                "initialized",
                "resources/list",
                "completion/complete",
                "tasks/list",
            ):
                assert (await raw.call(1, method))["error"]["code"] == -32601, method
            assert (await raw.call(1, "server/discover")).get("error", {}).get("code") == (None if modern else -32601)
            for method in ("ping", "logging/setLevel"):
                reply = await raw.call(1, method, level="info")
                assert reply.get("error", {}).get("code") == (-32601 if modern else None)
            for method, item in (("tools/call", "nope"), ("prompts/get", "nope")):
                error = (await raw.call(1, method, name=item))["error"]
                assert error["code"] == -32602
                assert item in error["message"]


async def test_what_a_server_does_not_have_it_neither_declares_nor_answers() -> None:
    """TOOL-01, TOOL-02, PROMPT-01, PROMPT-02, LOG-01."""
    with anyio.fail_after(PATIENCE):
        async with serving(MCPServer("empty")) as raw:
            found = (await _modern(raw, 1, "server/discover"))["result"]["capabilities"]
            assert found == {"logging": {}}
            for method in ("tools/list", "prompts/list", "resources/list"):
                assert (await _modern(raw, 2, method))["error"]["code"] == -32601


async def test_every_modern_result_is_complete() -> None:
    """RPC-20, DISC-07, CACHE-01: empty acknowledgements and errors told to the model included."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open("2026-07-28")
            calls: list[tuple[str, dict[str, Any]]] = [
                ("server/discover", {}),
                ("tools/list", {}),
                ("prompts/list", {}),
                ("tools/call", _echo("x")),
                ("tools/call", {"name": "release", "arguments": {"key": "x"}}),
                ("tools/call", {"name": "fail", "arguments": {"how": "tool"}}),
                ("prompts/get", {"name": "greet"}),
            ]
            for method, params in calls:
                result = (await raw.call(1, method, params))["result"]
                assert result["resultType"] == "complete"
                assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "interaction"
                if method.endswith(("list", "discover")):
                    assert isinstance(result["ttlMs"], int)
                    assert result["cacheScope"] in ("public", "private")


@ways
async def test_a_batch_is_answered_where_its_revision_was_agreed_on(transport: str) -> None:
    """RPC-14, STDIO-19: one array, whatever is in it; of notices alone, nothing."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open("2025-03-26")
            await raw.say(
                [
                    {"jsonrpc": "2.0", "id": 1, "method": "ping"},
                    {"jsonrpc": "2.0", "method": "notifications/initialized"},
                    {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": _echo("hi")},
                    {"jsonrpc": "2.0", "id": 3, "method": "no/such"},
                    {"jsonrpc": "2.0", "id": 99, "result": {}},
                    {"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": _initialize()},
                    5,
                ]
            )
            replies = await raw.hear()
            found = {reply["id"]: reply.get("error", {}).get("code") for reply in replies}
            assert found == {1: None, "b": None, 3: -32601, 4: -32600, None: -32600}

            await raw.say([{"jsonrpc": "2.0", "method": "notifications/initialized"}])
            assert await raw.barrier() == []
            await raw.say([])
            assert (await raw.hear())["error"]["code"] == -32600


@pytest.mark.parametrize("revision", [None, "2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])
async def test_elsewhere_a_batch_is_no_message(revision: str | None) -> None:
    """RPC-16: also before the handshake, whose request stands alone."""
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            if revision is not None:
                await raw.open(revision)
            await raw.say([{"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": _initialize()}])
            refused = await raw.hear()
            assert (refused["error"]["code"], refused.get("id")) == (-32600, None)
            if revision is None:
                await raw.open("2025-03-26")


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_what_only_the_client_has_is_left_aside(revision: str) -> None:
    """VER-18, TASK-03: extensions, tasks and capabilities of its own; the request is served as any other."""
    capabilities: dict[str, Any] = {
        "extensions": {"com.example/x": {}},
        "tasks": {"list": {}},
        "experimental": {"y": {}},
    }
    with anyio.fail_after(PATIENCE):
        async with serving(make()) as raw:
            await raw.open(revision, {**capabilities, "unknown": {"z": 1}})
            reply = await raw.call(1, "tools/call", **_echo("x"), task={"ttl": 1000})
            assert reply["result"]["content"] == [{"type": "text", "text": "x"}]


def _initialize() -> dict[str, Any]:
    return {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": INFO}


def _echo(text: str) -> dict[str, Any]:
    return {"name": "echo", "arguments": {"text": text}}


async def _modern(raw: Raw, id: Any, method: str, **params: Any) -> dict[str, Any]:
    return await raw.call(id, method, **params, _meta=envelope())
