"""Resources, from one end to the other: listed, read, watched, in the words of every revision."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient, McpError, MCPServer, StdioServer, tool
from dedalus_mcp.types import BlobResourceContents, TextResourceContents
from dedalus_mcp.types.revisions import LEGACY, REVISIONS, V2025_06_18, V2025_11_25
from tests.interaction.raw import serving
from tests.interaction.reach import PATIENCE, Heard, script, ways
from tests.interaction.resource_server import make

every = pytest.mark.parametrize("revision", REVISIONS)


def target(transport: str) -> MCPServer | StdioServer:
    return make() if transport == "memory" else script("tests.interaction.resource_server")


@ways
@every
async def test_what_is_listed_is_read(revision: str, transport: str) -> None:
    """RES-01, RES-02, RES-03, RES-04, RES-05, RES-16, B151."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target(transport), revision=revision) as client:
            assert client.server_capabilities.resources is not None
            listed = (await client.list_resources()).resources
            assert [each.uri for each in listed] == ["demo://text", "demo://bytes", "demo://json", "demo://parts"]
            found = [(await client.read_resource(each.uri)).contents for each in listed]
            meta = {"m": 1} if revision >= V2025_06_18 else None
            assert found == [
                [TextResourceContents(uri="demo://text", text="text é", mimeType="text/plain")],
                [BlobResourceContents(uri="demo://bytes", blob="//79+w==", mimeType="image/png")],
                [TextResourceContents(uri="demo://json", text='{"a":[1,null]}', mimeType="application/json")],
                [
                    TextResourceContents(uri="demo://parts/1", text="one", meta=meta),
                    BlobResourceContents(uri="demo://parts", blob="Mg==", mimeType="application/octet-stream"),
                ],
            ]


@ways
@every
async def test_templates_are_listed_and_read(revision: str, transport: str) -> None:
    """RES-03, RES-17, RES-18, B149."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target(transport), revision=revision) as client:
            (item, files) = (await client.list_resource_templates()).resourceTemplates
            assert item.uriTemplate == "demo://items/{number}{?lang}"
            assert files.mimeType == "text/x-path"
            assert (item.title is not None) == (revision >= V2025_06_18)
            assert (item.icons is not None) == (revision >= V2025_11_25)
            for uri, text in [
                ("demo://items/5", '[5,"en"]'),
                ("demo://items/5?lang=a%20b", '[5,"a b"]'),
                ("demo://files/a/b%2Fc.txt", "a/b/c.txt"),
            ]:
                (contents,) = (await client.read_resource(uri)).contents
                assert isinstance(contents, TextResourceContents)
                assert (contents.uri, contents.text) == (uri, text)
            for uri in ("demo://items/five", "demo://items/1.5"):
                with pytest.raises(McpError, match=r"\bnumber: expected an integer") as raised:
                    await client.read_resource(uri)
                assert (raised.value.code, raised.value.data) == (-32602, {"uri": uri})


@ways
@every
async def test_an_unknown_resource_has_the_code_of_the_revision(revision: str, transport: str) -> None:
    """RES-06, RES-07, RES-09, RES-18, B104: its own function may say so, and no way out of a directory is one."""
    unknown = [
        "demo://nope", "demo://TEXT", "demo://text/", "", "demo://items/404", "demo://files/../secret",
        "demo://files/a/%2e%2E/secret", "demo://files//etc/passwd", "demo://items/x\n",
    ]  # fmt: skip
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            for number, uri in enumerate(unknown):
                error = (await raw.call(number, "resources/read", uri=uri))["error"]
                assert error["code"] == (-32002 if revision in LEGACY else -32602)
                assert error["data"] == {"uri": uri}
            for method in ("resources/subscribe", "resources/unsubscribe"):
                error = (await raw.call(method, method, uri="demo://nope"))["error"]
                assert error["code"] == (-32002 if revision in LEGACY else -32601)
            assert (await raw.call("bad", "resources/read"))["error"]["code"] == -32602


@ways
@every
async def test_a_failure_tells_nothing_and_results_are_whole(revision: str, transport: str) -> None:
    """RES-06, CACHE-01, CACHE-02, CACHE-11: hints are there on 2026-07-28 alone, the same on every page."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            reply = await raw.call(1, "resources/read", uri="demo://files/broken")
            assert reply["error"] == {"code": -32603, "message": "Internal error"}
            results = [
                (await raw.call(2, "resources/list"))["result"],
                (await raw.call(3, "resources/list", cursor="2"))["result"],
                (await raw.call(4, "resources/templates/list"))["result"],
                (await raw.call(5, "resources/read", uri="demo://text"))["result"],
            ]
            for result in results:
                hints = {key: result[key] for key in ("resultType", "ttlMs", "cacheScope") if key in result}
                whole = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
                assert hints == ({} if revision in LEGACY else whole)


@ways
@pytest.mark.parametrize("revision", LEGACY)
async def test_who_subscribed_hears_of_changes(revision: str, transport: str) -> None:
    """RES-11: of an item of a template too."""
    heard: Heard[Any] = Heard()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target(transport), revision=revision, resource_updated=heard) as client:
            assert client.server_capabilities.resources is not None
            assert client.server_capabilities.resources.subscribe is True
            await client.subscribe_resource("demo://text")
            await client.subscribe_resource("demo://items/7")
            for uri in ("demo://json", "demo://text", "demo://items/7", "demo://items/8"):
                await client.call_tool("touch", {"uri": uri})
            await heard.wait(2)
            await client.unsubscribe_resource("demo://text")
            for uri in ("demo://text", "demo://items/7"):
                await client.call_tool("touch", {"uri": uri})
            assert [each.uri for each in await heard.wait(3)] == ["demo://text", "demo://items/7", "demo://items/7"]


@every
async def test_a_server_without_resources_has_no_such_methods(revision: str) -> None:
    """RES-01, DISC-05; templates count."""

    @tool
    async def other() -> None: ...

    server = MCPServer("none")
    server.collect(other)
    methods = ["list", "templates/list", "read", "subscribe", "unsubscribe"]
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(revision)
            for method in methods:
                reply = await raw.call(1, f"resources/{method}", uri="a://b")
                assert reply["error"]["code"] == -32601
        async with MCPClient.connect(server, revision=revision) as client:
            assert client.server_capabilities.resources is None
        async with MCPClient.connect(make(), revision=revision) as client:
            assert client.server_capabilities.resources is not None
            assert client.server_capabilities.resources.subscribe is True
