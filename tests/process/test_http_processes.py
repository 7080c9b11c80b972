"""Legacy clients on real web servers: several processes without sessions, and HTTP+SSE."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from typing import Any

import anyio
import httpx
import pytest

from dedalus_mcp import MCPClient, types
from tests.interaction.raw import INFO
from tests.interaction.reach import PATIENCE, text_of
from tests.process.test_http_servers import Program, running
from tests.seeds.test_elicitation import OUTCOMES, User

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

BOTH = {"accept": "application/json, text/event-stream"}
ASKING = ["2025-06-18", "2025-11-25"]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Program, Program]]:
    """Two processes that share nothing but a key."""
    logs = tmp_path_factory.mktemp("stateless")
    with (
        running("uvicorn", "stateless", logs / "a") as first,
        running("uvicorn", "stateless", logs / "b") as second,
    ):
        yield first, second


@pytest.fixture(scope="module")
def sse(tmp_path_factory: pytest.TempPathFactory) -> Generator[Program]:
    with running("uvicorn", "by_sse", tmp_path_factory.mktemp("sse") / "log") as program:
        yield program


def url(program: Program, path: str = "/mcp") -> str:
    return f"http://127.0.0.1:{program.port}{path}"


def message(id: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def initialize(revision: str) -> dict[str, Any]:
    return message(0, "initialize", protocolVersion=revision, capabilities={}, clientInfo=INFO)


@pytest.mark.parametrize("revision", ["2025-03-26", *ASKING])
async def test_a_hundred_calls_go_to_two_processes_in_turn(two: tuple[Program, Program], revision: str) -> None:
    """B074."""
    async with httpx.AsyncClient(headers=BOTH, timeout=PATIENCE) as http:
        agreed = await http.post(url(two[0]), json=initialize(revision))
        session = {"mcp-session-id": agreed.headers["mcp-session-id"]}
        for n, program in zip(range(1, 101), itertools.cycle(two), strict=False):
            call = message(n, "tools/call", name="echo", arguments={"text": str(n)})
            reply = (await http.post(url(program), json=call, headers=session)).json()

            assert (reply["id"], reply["result"]["content"][0]["text"]) == (n, str(n))


@pytest.mark.parametrize("revision", ASKING)
async def test_the_document_on_elicitation_works_without_sessions(two: tuple[Program, Program], revision: str) -> None:
    user = User()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(url(two[1]), revision=revision, elicitation=user) as client:
            for name, arguments, answers, outcome in OUTCOMES:
                user.answers = list(answers)
                result = await client.call_tool(name, arguments)

                assert (text_of(result), result.isError or False) == (outcome, False)
                assert user.answers == []


@pytest.mark.parametrize("revision", ["2024-11-05", *ASKING])
async def test_a_client_finds_http_with_sse_and_is_served(sse: Program, revision: str) -> None:
    """HTTP-05, HTTP-76: over a real connection, below a prefix."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(url(sse, "/x/sse"), revision=revision) as client:
            results = [await client.call_tool("echo", {"text": str(n)}) for n in range(10)]

            assert [text_of(result) for result in results] == [str(n) for n in range(10)]


@pytest.mark.parametrize("revision", ASKING)
async def test_the_document_on_elicitation_works_over_http_with_sse(sse: Program, revision: str) -> None:
    async def yes(params: types.ElicitRequestParams) -> dict[str, Any]:
        return {"confirm": True}

    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(url(sse, "/x/sse"), revision=revision, elicitation=yes) as client:
            assert text_of(await client.call_tool("deploy", {"env": "prod"})) == "Deployed to prod"


async def test_a_stream_whose_client_leaves_ends_its_handlers(sse: Program) -> None:
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(url(sse, "/x/sse"), revision="2025-06-18") as other:
            async with (
                httpx.AsyncClient(headers=BOTH, timeout=PATIENCE) as http,
                http.stream("GET", url(sse, "/x/sse")) as stream,
            ):
                lines = stream.aiter_lines()
                endpoint = [await anext(lines), await anext(lines)][1].removeprefix("data: ")
                wait = message(1, "tools/call", name="wait_silently", arguments={"key": "left"})
                for post in (initialize("2024-11-05"), wait):
                    assert (await http.post(url(sse, endpoint), json=post)).status_code == 202
            assert text_of(await other.call_tool("until_over", {"key": "left"})) == "over"
