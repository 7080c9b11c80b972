"""Clients that poll, ours and other people's: the server ends the stream of a call, and they come again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient
from tests.interaction.reach import PATIENCE, text_of
from tests.interop.listening import ours
from tests.interop.peers import official_client, typescript_client

POLLED = "2025-11-25"
PROGRAM = "from tests.conformance.server import make; make().run('streamable-http', port=0, retry_milliseconds=100)"
WORKED = "Reconnection test completed successfully"


@pytest.fixture(scope="module")
def polled() -> Iterator[str]:
    with ours(PROGRAM) as url:
        yield url


@pytest.mark.parametrize("client", [official_client, typescript_client])
def test_other_peoples_clients_come_again(client: Callable[..., dict[str, Any]], polled: str) -> None:
    """HTTP-37."""
    heard = client(POLLED, [["call_tool", "test_reconnection", {}]], (polled,))

    assert [block["text"] for block in heard["outcomes"][0]["content"]] == [WORKED]


async def test_our_client_comes_again(polled: str) -> None:
    """HTTP-37."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(polled, revision=POLLED) as client:
            assert text_of(await client.call_tool("test_reconnection")) == WORKED
