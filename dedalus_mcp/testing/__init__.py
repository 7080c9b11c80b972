"""What tests of servers, clients and transports need.

    with mock_context(answers=[True]) as ctx:                   a handler, called as the function it is
    async with raw_client(server) as raw:                       a conversation, frame by frame
    async with scripted_server(script) as target:               the same, for a client
    await check_conversation("deploy.txt", server)              a recorded conversation, played again
    await check_transport(make_pair)                            the rules of a transport

A whole client needs nothing of this: ``MCPClient.connect(server, revision=...)``, for each of `REVISIONS`.

Layer: L6.
"""

from __future__ import annotations

from dedalus_mcp.testing.duplex_rules import check_transport
from dedalus_mcp.testing.mock import MockContext, mock_context
from dedalus_mcp.testing.raw import RawPeer, raw_client, scripted_server
from dedalus_mcp.testing.recording import Recorder
from dedalus_mcp.testing.replay import check_conversation, replayed_server
from dedalus_mcp.types.revisions import REVISIONS

__all__ = (
    "REVISIONS",
    "MockContext",
    "RawPeer",
    "Recorder",
    "check_conversation",
    "check_transport",
    "mock_context",
    "raw_client",
    "replayed_server",
    "scripted_server",
)
