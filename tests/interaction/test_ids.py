"""Which reply belongs to which request: ids of every kind, duplicates, and ids that differ only in type."""

from __future__ import annotations

import json
import logging
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient, McpError, MCPServer, StdioServer
from tests.interaction.raw import Raw, Scripted, serving
from tests.interaction.reach import PATIENCE, script, text_of, ways
from tests.interaction.scripts import opened, text
from tests.interaction.server import make

pytestmark = pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])

IDS: list[Any] = ["1", 1, "0", 0, "007", "a", -5, 2**53, "", 'é\u2028"\\']


def target(transport: str) -> MCPServer | StdioServer:
    return make() if transport == "memory" else script("tests.interaction.server")


@ways
async def test_a_reply_has_the_id_of_its_request_in_value_and_type(revision: str, transport: str) -> None:
    """RPC-06, RPC-08, RPC-10, B001, B005, B007: results, protocol errors and errors of handlers alike."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            for id in IDS:
                assert (await raw.tool(id, "echo", text="hi"))["result"]["content"][0]["text"] == "hi"
                assert (await raw.call(id, "no/such"))["error"]["code"] == -32601
                error = (await raw.tool(id, "fail", how="protocol"))["error"]
                assert error == {"code": -32050, "message": "of its own", "data": {"why": [1]}}
            answers = [frame for frame in raw.frames if b'"error"' in frame or b'"result"' in frame]
            assert all(json.loads(frame)["jsonrpc"] == "2.0" for frame in answers)


@ways
async def test_an_id_in_use_is_refused_and_its_call_goes_on(revision: str, transport: str) -> None:
    """RPC-05, B004: the second is refused, whatever it is; then the id is free again."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            await raw.begin(7, "tools/call", name="hold", arguments={"key": "first"})
            await raw.tool(8, "until", what="first began")

            for method, params in [("tools/call", {"name": "echo", "arguments": {"text": "x"}}), ("tools/list", {})]:
                refused = await raw.call(7, method, params)
                assert refused["error"]["code"] == -32600
            await raw.tool(8, "release", key="first")
            assert (await raw.reply(7))["result"]["content"][0]["text"] == "first"
            assert (await raw.tool(7, "echo", text="again"))["result"]["content"][0]["text"] == "again"
            assert await raw.barrier() == []


@ways
async def test_an_id_is_free_once_its_call_is_cancelled(revision: str, transport: str) -> None:
    """B004: also while the cancelled call still cleans up."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            await raw.begin(7, "tools/call", name="hold", arguments={"key": "first"})
            await raw.tool(8, "until", what="first began")
            await raw.notify("notifications/cancelled", requestId=7)

            assert (await raw.tool(7, "echo", text="again"))["result"]["content"][0]["text"] == "again"


@ways
async def test_a_number_and_the_same_number_as_text_are_two_ids(revision: str, transport: str) -> None:
    """RPC-06, B008: both run, each gets its own answer, and a cancellation hits the one it names."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(revision)
            for id in (1, "1", 0, ""):
                await raw.begin(id, "tools/call", name="hold", arguments={"key": repr(id)})
                await raw.tool(8, "until", what=f"{id!r} began")
            await raw.notify("notifications/cancelled", requestId="1")
            await raw.tool(8, "until", what="'1' cancelled")
            await raw.notify("notifications/cancelled", requestId=0)
            await raw.tool(8, "until", what="0 cancelled")

            await raw.tool(8, "release", key="1")
            assert (await raw.reply(1))["result"]["content"][0]["text"] == "1"
            await raw.tool(8, "release", key="''")
            assert (await raw.reply(""))["result"]["content"][0]["text"] == "''"
            assert await raw.barrier() == []


@pytest.mark.parametrize("failing", [False, True], ids=["result", "error"])
async def test_a_client_takes_its_id_back_as_text_and_no_other(
    revision: str, failing: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """B002: a reply to nothing is dropped with one warning, and the call goes on."""
    caplog.set_level(logging.WARNING, "dedalus_mcp")

    async def server(raw: Raw) -> None:
        await opened(raw, revision)
        call = await raw.hear_method("tools/call")
        answer = {"error": {"code": -1, "message": "no"}} if failing else {"result": text(revision, "yes")}
        await raw.say({"id": "xyz", **answer}, {"id": str(call["id"]), **answer})
        await raw.hear()

    with anyio.fail_after(PATIENCE):
        async with (
            anyio.create_task_group() as group,
            MCPClient.connect(Scripted(group, server), revision=revision) as client,
        ):
            if failing:
                with pytest.raises(McpError, match="no"):
                    await client.call_tool("a")
            else:
                assert text_of(await client.call_tool("a")) == "yes"
    assert [record.getMessage() for record in caplog.records] == [
        "dropped the reply to call 'xyz': no such call was ever made"
    ]
