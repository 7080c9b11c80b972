"""Our client with other people's servers, over stdio and HTTP: the official package's, and the reference server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import anyio
import pytest

from dedalus_mcp import MCPClient, McpError
from dedalus_mcp.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestURLParams,
    ElicitResult,
    ProgressNotificationParams,
    TextContent,
)
from tests.interop.listening import everything as reference
from tests.interop.listening import theirs
from tests.interop.meeting import ASKING, LEGACY, MODERN, Person, accept, over, server, text
from tests.interop.peers import EVERYTHING, OFFICIAL_SERVER, SECONDS

PERSON = Person(ElicitResult(action="cancel"))


@pytest.fixture(scope="module")
def official_url() -> Iterator[str]:
    with theirs() as url:
        yield url


@pytest.fixture(scope="module")
def everything_url() -> Iterator[str]:
    with reference("streamableHttp") as url:
        yield url


@pytest.fixture(scope="module", params=over([*LEGACY, MODERN]), ids=" ".join)
async def official(request: pytest.FixtureRequest, official_url: str, anyio_backend: str) -> AsyncIterator[MCPClient]:
    transport, revision = request.param
    target = official_url if transport == "http" else server(OFFICIAL_SERVER)
    async with MCPClient.connect(target, revision=revision, elicitation=PERSON) as client:
        assert client.revision == revision
        yield client


@pytest.fixture(scope="module", params=over(LEGACY), ids=" ".join)
async def everything(
    request: pytest.FixtureRequest, everything_url: str, anyio_backend: str
) -> AsyncIterator[MCPClient]:
    transport, revision = request.param
    target = everything_url if transport == "http" else server(EVERYTHING)
    async with MCPClient.connect(target, revision=revision) as client:
        assert client.revision == revision
        yield client


async def test_the_official_server_is_read_at_every_revision(official: MCPClient) -> None:
    with anyio.fail_after(SECONDS):
        tools = await official.list_tools()
        prompts = await official.list_prompts()
        await official.ping()

    assert official.server_info is not None
    assert (official.server_info.name, official.server_info.version) == ("official", "1.2.3")
    assert official.instructions == "For tests."
    assert {"echo", "add", "confirm"} <= {tool.name for tool in tools.tools}
    assert [prompt.name for prompt in prompts.prompts] == ["greet"]


async def test_the_official_server_does_what_it_is_asked_to(official: MCPClient) -> None:
    with anyio.fail_after(SECONDS):
        added = await official.call_tool("add", {"a": 1, "b": 2})
        failed = await official.call_tool("fail")
        greeting = await official.get_prompt("greet", {"name": "Bo"})

    assert (text(added), added.isError, failed.isError) == ("3", False, True)
    assert greeting.messages[0].content == TextContent(text="Write a warm greeting to Bo.")


async def test_the_newest_revision_in_common_is_found(official_url: str, everything_url: str) -> None:
    with anyio.fail_after(SECONDS):
        for target in (server(OFFICIAL_SERVER), official_url):
            async with MCPClient.connect(target) as official:
                assert official.revision == MODERN
        for target in (server(EVERYTHING), everything_url):
            async with MCPClient.connect(target) as everything:
                assert everything.revision == "2025-11-25"


async def test_the_reference_server_is_reached_the_oldest_way_too() -> None:
    """HTTP+SSE of 2024-11-05, found behind its URL."""
    with reference("sse") as url, anyio.fail_after(SECONDS):
        async with MCPClient.connect(url) as client:
            assert "ça va?" in text(await client.call_tool("echo", {"message": "ça va?"}))


@pytest.mark.parametrize("official", over([*ASKING, MODERN]), ids=" ".join, indirect=True)
async def test_the_official_server_gets_our_answers(official: MCPClient) -> None:
    PERSON.answers = [accept(approve=True), accept(approve=False, reason="late"), ElicitResult(action="decline")]
    PERSON.asked = []

    with anyio.fail_after(SECONDS):
        said = [text(await official.call_tool("confirm", {"env": "prod"})) for _ in range(3)]

    assert said == ["prod: approve=True reason=", "prod: approve=False reason=late", "decline"]
    assert [asked.message for asked in PERSON.asked] == ["Deploy to prod?"] * 3


async def test_progress_of_the_official_server_is_heard_in_order(official: MCPClient) -> None:
    heard: list[float] = []

    async def hear(progress: ProgressNotificationParams) -> None:
        heard.append(progress.progress)

    with anyio.fail_after(SECONDS):
        assert text(await official.call_tool("count", {"to": 3}, progress=hear)) == "counted"

    assert heard == [1, 2, 3]


async def test_an_error_of_the_official_server_is_an_mcp_error(official: MCPClient) -> None:
    with anyio.fail_after(SECONDS):
        with pytest.raises(McpError):
            await official.get_prompt("no such prompt")
        assert text(await official.call_tool("echo", {"text": "still here"})) == "still here"


async def test_the_reference_server_is_read_at_every_revision_that_it_speaks(everything: MCPClient) -> None:
    with anyio.fail_after(SECONDS):
        tools = {tool.name for tool in (await everything.list_tools()).tools}
        echoed = await everything.call_tool("echo", {"message": "ça va?\u2028"})
        prompts = await everything.list_prompts()
        await everything.ping()

    assert "echo" in tools
    assert "trigger-elicitation-request" not in tools  # offered to clients that can be asked
    assert "ça va?\u2028" in text(echoed)
    assert "args-prompt" in {prompt.name for prompt in prompts.prompts}


async def test_progress_of_the_reference_server_is_heard(everything: MCPClient) -> None:
    heard: list[tuple[float, float | None]] = []

    def hear(progress: ProgressNotificationParams) -> None:
        heard.append((progress.progress, progress.total))

    with anyio.fail_after(SECONDS):
        work = {"duration": 0.1, "steps": 2}
        assert "completed" in text(await everything.call_tool("trigger-long-running-operation", work, progress=hear))

    assert heard == [(1, 2), (2, 2)]


async def test_an_error_of_the_reference_server_is_an_mcp_error(everything: MCPClient) -> None:
    with anyio.fail_after(SECONDS):
        with pytest.raises(McpError) as caught:
            await everything.get_prompt("no such prompt")

    assert caught.value.code == -32602


@pytest.mark.parametrize(("transport", "revision"), over(ASKING))
async def test_the_reference_server_gets_an_answer_of_every_kind(
    transport: str, revision: str, everything_url: str
) -> None:
    answer = {
        "name": "Ada",
        "check": True,
        "email": "ada@example.com",
        "homepage": "https://example.com/ada",
        "birthdate": "1815-12-10",
        "integer": 7,
        "number": 2.5,
        "untitledSingleSelectEnum": "Joey",
        "untitledMultipleSelectEnum": ["Piano", "Bass"],
        "titledSingleSelectEnum": "hero-2",
        "titledMultipleSelectEnum": ["fish-3"],
        "legacyTitledEnum": "pet-2",
    }
    person = Person(accept(**answer))
    target = everything_url if transport == "http" else server(EVERYTHING)
    with anyio.fail_after(SECONDS):
        async with MCPClient.connect(target, revision=revision, elicitation=person) as client:
            said = text(await client.call_tool("trigger-elicitation-request"))

    (asked,) = person.asked
    received = json.loads(said.partition("Raw result:")[2])
    assert set(answer) <= set(asked.requestedSchema["properties"])
    assert received["action"] == "accept"
    assert received["content"] == {**answer, "firstLine": "It was a dark and stormy night."}  # its default


async def test_the_reference_server_is_told_of_a_refusal() -> None:
    person = Person(ElicitResult(action="decline"), ElicitResult(action="cancel"))
    with anyio.fail_after(SECONDS):
        async with MCPClient.connect(server(EVERYTHING), elicitation=person) as client:
            said = [text(await client.call_tool("trigger-elicitation-request")) for _ in range(2)]

    assert [json.loads(each.partition("Raw result:")[2]) for each in said] == [
        {"action": "decline"},
        {"action": "cancel"},
    ]


async def test_the_reference_server_samples_looks_at_roots_and_sends_to_a_page() -> None:
    """SAMP-01, ROOT-01, ELIC-33: with an error of its own (-32042) too, which comes through as it is."""
    visited: list[str] = []

    def visit(params: ElicitRequestURLParams) -> ElicitResult:
        visited.append(params.url)
        return ElicitResult(action="accept")

    def sample(params: CreateMessageRequestParams) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(text=f"{params.maxTokens} at most"), model="m")

    page = "https://example.com/consent"
    with anyio.fail_after(SECONDS):
        async with MCPClient.connect(
            server(EVERYTHING), elicitation_url=visit, sampling=sample, roots=["file:///srv/data"]
        ) as client:
            sampled = text(await client.call_tool("trigger-sampling-request", {"prompt": "hi", "maxTokens": 10}))
            roots = text(await client.call_tool("get-roots-list"))
            sent = await client.call_tool("trigger-url-elicitation", {"url": page, "message": "Sign in"})
            with pytest.raises(McpError) as required:
                await client.call_tool(
                    "trigger-url-elicitation", {"url": page, "message": "Sign in", "errorPath": True}
                )

    assert "10 at most" in sampled
    assert "file:///srv/data" in roots
    assert "completed" in sent.text
    assert visited == [page]
    assert required.value.code == -32042
    assert required.value.data["elicitations"][0]["mode"] == "url"
