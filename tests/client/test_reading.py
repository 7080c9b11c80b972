"""`ResourceRequests`: what a client asks about resources, as it goes over the wire."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient, McpError, RequestTimeout
from dedalus_mcp.errors import RemoteProtocolError
from dedalus_mcp.types import BlobResourceContents, TextResourceContents
from tests.interaction.raw import Raw, Scripted
from tests.interaction.reach import Heard
from tests.interaction.scripts import opened


def result(request: dict[str, Any], members: dict[str, Any]) -> dict[str, Any]:
    return {"id": request["id"], "result": members}


BOTH = pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])


@BOTH
async def test_lists_are_drained_or_had_by_the_page(revision: str) -> None:
    """PAGE-04."""
    cursors: list[Any] = []

    async def script(raw: Raw) -> None:
        await opened(raw, revision)
        for _ in range(6):
            request = await raw.hear()
            cursor = request["params"].get("cursor") if "params" in request else None
            cursors.append((request["method"], cursor))
            kind = "resourceTemplates" if "templates" in request["method"] else "resources"
            item = {"name": str(cursor), "uri" if kind == "resources" else "uriTemplate": f"a://{cursor}"}
            more = {"nextCursor": ""} if cursor is None else {}
            await raw.say(result(request, {kind: [item], **more}))

    async with anyio.create_task_group() as group:
        with anyio.fail_after(20):
            async with MCPClient.connect(Scripted(group, script), revision=revision) as client:
                assert [each.uri for each in (await client.list_resources()).resources] == ["a://None", "a://"]
                templates = (await client.list_resource_templates()).resourceTemplates
                assert [each.uriTemplate for each in templates] == ["a://None", "a://"]
                assert (await client.list_resources_page()).nextCursor == ""
                assert (await client.list_resource_templates_page("")).nextCursor is None

    assert cursors == [
        ("resources/list", None), ("resources/list", ""),
        ("resources/templates/list", None), ("resources/templates/list", ""),
        ("resources/list", None), ("resources/templates/list", ""),
    ]  # fmt: skip


@BOTH
async def test_contents_are_typed_and_errors_are_the_servers_own(revision: str) -> None:
    """RES-08: -32002 is understood of any server."""

    async def script(raw: Raw) -> None:
        await opened(raw, revision)
        request = await raw.hear()
        assert (request["method"], request["params"]["uri"]) == ("resources/read", "a://b c")
        contents = [{"uri": "a://1", "text": "é"}, {"uri": "a://2", "blob": "eA==", "_meta": {"m": 1}}]
        await raw.say(result(request, {"contents": contents}))
        request = await raw.hear()
        error = {"code": -32002, "message": "gone", "data": {"uri": "a://b"}}
        await raw.say({"id": request["id"], "error": error})
        await raw.say(result(await raw.hear(), {"contents": [{"uri": "a://1"}]}))
        await raw.hear_method("notifications/cancelled")

    async with anyio.create_task_group() as group:
        with anyio.fail_after(20):
            async with MCPClient.connect(Scripted(group, script), revision=revision) as client:
                assert (await client.read_resource("a://b c")).contents == [
                    TextResourceContents(uri="a://1", text="é"),
                    BlobResourceContents(uri="a://2", blob="eA==", meta={"m": 1}),
                ]
                with pytest.raises(McpError, match="gone") as raised:
                    await client.read_resource("a://b")
                assert (raised.value.code, raised.value.data) == (-32002, {"uri": "a://b"})
                with pytest.raises(RemoteProtocolError, match="text"):
                    await client.read_resource("a://b")
                with pytest.raises(RequestTimeout):
                    await client.read_resource("a://b", timeout=0.01)


async def test_updates_are_heard_in_order_between_subscribing_and_unsubscribing() -> None:
    """RES-11."""
    heard: Heard[Any] = Heard()

    async def script(raw: Raw) -> None:
        await opened(raw, "2025-06-18")
        for method in ("resources/subscribe", "resources/unsubscribe"):
            request = await raw.hear()
            assert (request["method"], request["params"]) == (method, {"uri": "a://b"})
            await raw.say(result(request, {}))
            for number in range(20):
                await raw.notify("notifications/resources/updated", uri=f"a://{number}")
            await raw.notify("notifications/resources/updated")  # no legal one
        await raw.notify("notifications/resources/updated", uri="a://last")
        await raw.hear()

    async with anyio.create_task_group() as group:
        with anyio.fail_after(20):
            target = Scripted(group, script)
            async with MCPClient.connect(target, revision="2025-06-18", resource_updated=heard) as client:
                await client.subscribe_resource("a://b")
                await client.unsubscribe_resource("a://b")
                await heard.wait(41)

    assert [each.uri for each in heard.values] == [
        *(f"a://{number}" for _ in range(2) for number in range(20)),
        "a://last",
    ]


async def test_a_handler_that_is_none_is_refused_at_once() -> None:
    wrong: Any = "no function"
    with pytest.raises(TypeError, match="a handler is a function"):
        MCPClient.connect(wrong, resource_updated=wrong)


@pytest.mark.parametrize("role", ["tools_list_changed", "resource_updated", "logging", "elicitation", "sampling"])
def test_a_handler_that_could_never_be_called_is_refused_at_once(role: str) -> None:
    def hear() -> None:
        raise AssertionError

    handlers: dict[str, Any] = {role: hear}
    with pytest.raises(TypeError, match=r"takes one argument, the params .*hear\(\).* does not"):
        MCPClient.connect("http://127.0.0.1/mcp", **handlers)


def test_a_handler_whose_signature_cannot_be_read_is_taken() -> None:
    unreadable: Any = type
    heard: list[Any] = []
    assert MCPClient.connect("http://127.0.0.1/mcp", logging=heard.append, resource_updated=unreadable)


async def test_what_is_only_about_to_be_a_client_says_what_to_do() -> None:
    client: Any = MCPClient.connect("http://127.0.0.1/mcp")
    with pytest.raises(AttributeError, match=r"no 'call_tool' before the connection is made: `async with"):
        await client.call_tool("any")
