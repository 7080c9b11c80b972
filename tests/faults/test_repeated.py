"""What a client sends again by itself can never do anything twice that must not be done twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
import httpx
import pytest

from dedalus_mcp import Context, HttpServer, MCPClient, MCPConnectionError, McpError, MCPServer, prompt, tool
from dedalus_mcp.errors import HEADER_MISMATCH, INVALID_PARAMS
from dedalus_mcp.run import Hosted
from dedalus_mcp_transports.http_sockets import listening
from tests.faults.conversation import Person
from tests.faults.line import Direction, Line
from tests.faults.proxy import through
from tests.faults.scenes import until
from tests.interaction.reach import PATIENCE

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


class Counted:
    """A server that counts what it does.

    Attributes:
        effects: What it has done, and how often.
        sessions: The sessions of the calls that ran.
        entered: Set when a call holds.
    """

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()
        self.sessions: list[str] = []
        self.entered = anyio.Event()

    def server(self) -> MCPServer:
        server = MCPServer("counted")

        @tool
        async def hold(ctx: Context) -> str:
            self.effects["hold"] += 1
            self.sessions.append(ctx.session_id or "")
            self.entered.set()
            await anyio.sleep_forever()
            return "never"

        @tool
        async def fail(code: int) -> str:
            self.effects[f"fail {code}"] += 1
            raise McpError(code, "as another server said")

        @prompt
        async def greeting(ctx: Context) -> list[dict[str, str]]:
            self.effects["greeting"] += 1
            await ctx.step("note", self.note)
            return [{"role": "user", "content": f"hello {await ctx.confirm('Sure?')}"}]

        server.collect(hold, fail, greeting)
        return server

    async def note(self) -> None:
        self.effects["note"] += 1


@asynccontextmanager
async def served(counted: Counted) -> AsyncGenerator[int]:
    """Serve on loopback, and return the port."""
    host = HttpServer(port=0, drain_seconds=0).serving(Hosted(counted.server()))
    with listening("127.0.0.1", 0) as sockets, anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(host.serve, sockets)
            await until(lambda: host.started)
            yield int(sockets[0].getsockname()[1])
            host.should_exit = True


async def test_a_call_that_ran_when_its_session_was_ended_by_somebody_else_is_not_made_again() -> None:
    """HTTP-44: 404 says that there is no such session, so that the call has not run; this one has."""
    counted = Counted()
    async with served(counted) as port, MCPClient.connect(url(port), revision="2025-11-25") as client:

        async def end() -> None:
            await counted.entered.wait()
            headers = {"mcp-session-id": counted.sessions[0], "mcp-protocol-version": "2025-11-25"}
            async with httpx.AsyncClient(trust_env=False) as http:
                assert (await http.delete(url(port), headers=headers)).status_code == 204

        async with anyio.create_task_group() as group:
            group.start_soon(end)
            with pytest.raises(MCPConnectionError, match="410"):
                await client.call_tool("hold")
        assert (await client.list_tools()).tools

    assert counted.effects["hold"] == 1


@pytest.mark.parametrize("code", [HEADER_MISMATCH, INVALID_PARAMS])
@pytest.mark.parametrize("target", ["memory", "http"])
async def test_a_tool_that_failed_in_the_words_of_the_transport_is_called_once(target: str, code: int) -> None:
    """HTTP-67: only a call that the transport refused, before it ran, is made again."""
    counted = Counted()
    if target == "memory":
        async with MCPClient.connect(counted.server(), revision="2026-07-28") as client:
            with pytest.raises(McpError):
                await client.call_tool("fail", {"code": code})
    else:
        async with served(counted) as port, MCPClient.connect(url(port), revision="2026-07-28") as client:
            with pytest.raises(McpError):
                await client.call_tool("fail", {"code": code})

    assert counted.effects == {f"fail {code}": 1}


class CutAt(Line):
    """Cuts the connection on which the server answers with this, before it arrives; once."""

    def __init__(self, says: Callable[[bytes], bool]) -> None:
        super().__init__()
        self._says = says

    def carry(self, direction: Direction, data: bytes) -> tuple[list[bytes], bool]:
        """See `Line`."""
        if direction == "down" and not self.is_cut and self._says(data):
            self.is_cut = True
            return [], True
        return [data], False


async def test_a_round_that_is_answered_twice_runs_nothing_twice() -> None:
    """MRTR-22: what only reads is made again when its reply is lost, with the state that it had."""
    counted, person = Counted(), Person()
    line = CutAt(lambda data: b"hello" in data)
    async with (
        served(counted) as port,
        through(port, line) as proxy,
        MCPClient.connect(url(proxy.port), revision="2026-07-28", elicitation=person) as client,
    ):
        got = await client.get_prompt("greeting")

    assert line.is_cut
    assert "hello True" in str(got.messages[0])
    assert counted.effects == {"greeting": 1, "note": 1}
    assert person.asked == {"Sure?": 1}


def url(port: int) -> str:
    return f"http://127.0.0.1:{port}/mcp"
