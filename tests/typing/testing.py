"""What type checkers must see of `dedalus_mcp.testing`; never run."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

from dedalus_mcp import Accepted, Context, Declined, MCPClient, MCPServer, StdioServer
from dedalus_mcp.testing import (
    MockContext,
    RawPeer,
    Recorder,
    check_conversation,
    mock_context,
    raw_client,
    replayed_server,
    scripted_server,
)
from dedalus_mcp.testing.conversation import Conversation


def contexts() -> None:
    with mock_context(answers=[True, {"a": 1}, Accepted("x"), Declined()], roots=[Path("/work")]) as ctx:
        assert_type(ctx, MockContext)
        as_any: Context = ctx
        del as_any
        assert_type(ctx.captured_logs, list[tuple[str, str, Any]])
    mock_context(answers=lambda params: params["message"])
    mock_context(answers=True)  # type: ignore[arg-type]
    mock_context(session=1)  # type: ignore[call-arg]


async def script(raw: RawPeer) -> None:
    assert_type(await raw.call(1, "ping"), dict[str, Any])


async def peers(server: MCPServer) -> None:
    async with raw_client(server, patience=None) as raw:
        assert_type(raw, RawPeer)
    async with scripted_server(script, script) as target:
        MCPClient.connect(target)
    scripted_server(peers)  # type: ignore[arg-type]


async def conversations(server: MCPServer) -> None:
    recorder = Recorder(StdioServer("python"))
    MCPClient.connect(recorder)
    recorder.conversation.write(Path("a.txt"))
    assert_type(await check_conversation("a.txt", server, update=True), Conversation)
    async with replayed_server("a.txt") as target:
        MCPClient.connect(target)
    Recorder(7)  # type: ignore[arg-type]
    await check_conversation("a.txt", server, True)  # type: ignore[call-arg]
