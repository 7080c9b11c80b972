"""Our clients with a server of the TypeScript SDK, over stdio and HTTP, at every revision; and with many servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import anyio
import pytest

from dedalus_mcp import MCPClient, MCPClientGroup, McpError, Round, StdioServer, SyncMCPClient
from dedalus_mcp.types import (
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitResult,
    LoggingMessageNotificationParams,
    ProgressNotificationParams,
    TextContent,
    TextResourceContents,
)
from dedalus_mcp.types.methods import TOOLS_CALL
from tests.interop.listening import everything as reference
from tests.interop.listening import theirs, typescript
from tests.interop.meeting import ASKING, LEGACY, MODERN, Person, accept, over, server, text
from tests.interop.peers import EVERYTHING, SECONDS, TYPESCRIPT_SERVER

PERSON = Person(ElicitResult(action="cancel"))
HEARD: list[LoggingMessageNotificationParams] = []
CAN_ASK = over([*ASKING, MODERN])


def sample(params: CreateMessageRequestParams) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text=f"{params.maxTokens} at most"), model="m")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with typescript() as url:
        yield url


def at(url: str, transport: str) -> str | StdioServer:
    return url if transport == "http" else server(TYPESCRIPT_SERVER)


@pytest.fixture(scope="module", params=over([*LEGACY, MODERN]), ids=" ".join)
async def client(request: pytest.FixtureRequest, url: str, anyio_backend: str) -> AsyncIterator[MCPClient]:
    transport, revision = request.param
    async with MCPClient.connect(
        at(url, transport),
        revision=revision,
        elicitation=PERSON,
        sampling=sample,
        roots=["file:///srv/data"],
        logging=HEARD.append,
    ) as client:
        assert client.revision == revision
        yield client


asking = pytest.mark.parametrize("client", CAN_ASK, ids=" ".join, indirect=True)


async def test_it_is_read_at_every_revision(client: MCPClient) -> None:
    with anyio.fail_after(SECONDS):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resourceTemplates
        prompts = (await client.list_prompts()).prompts
        await client.ping()

    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("typescript", "1.2.3")
    assert client.instructions == "For tests."
    assert (tools["add"].description, set(tools["add"].inputSchema["properties"])) == ("Add two numbers.", {"a", "b"})
    assert [resource.uri for resource in resources] == ["note://motto"]
    assert [template.uriTemplate for template in templates] == ["note://of/{name}"]
    assert [(prompt.name, [each.name for each in prompt.arguments or ()]) for prompt in prompts] == [
        ("greet", ["name"])
    ]


async def test_it_does_what_it_is_asked_to(client: MCPClient) -> None:
    with anyio.fail_after(SECONDS):
        added = await client.call_tool("add", {"a": 1, "b": 2})
        failed = await client.call_tool("fail")
        wrong = await client.call_tool("add", {"a": "one"})
        motto = await client.read_resource("note://motto")
        note = await client.read_resource("note://of/ada")
        greeting = await client.get_prompt("greet", {"name": "Bo"})

    assert (text(added), added.structuredContent, added.isError) == ("3", {"sum": 3}, False)
    assert (text(failed), failed.isError, wrong.isError) == ("it broke", True, True)
    assert motto.contents == ([TextResourceContents(uri="note://motto", mimeType="text/plain", text="ça va\u2028")])
    assert note.contents == [BlobResourceContents(uri="note://of/ada", blob="YWRh")]
    assert greeting.messages[0].content == TextContent(text="Write a warm greeting to Bo.")


async def test_its_errors_keep_code_message_and_data(client: MCPClient) -> None:
    with anyio.fail_after(SECONDS):
        with pytest.raises(McpError) as refused:
            await client.read_resource("note://of/nobody")
        with pytest.raises(McpError) as unknown:
            await client.call_tool("no such tool")
        with pytest.raises(McpError) as incomplete:
            await client.get_prompt("greet")

    error = refused.value
    assert (error.code, error.message, error.data) == (-32050, "nobody has no notes", {"name": "nobody"})
    assert (unknown.value.code, incomplete.value.code) == (-32602, -32602)


async def test_its_progress_is_heard_in_order_and_before_the_result(client: MCPClient) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    def hear(progress: ProgressNotificationParams) -> None:
        heard.append((progress.progress, progress.total, progress.message))

    with anyio.fail_after(SECONDS):
        assert text(await client.call_tool("count", {"to": 3}, progress=hear)) == "counted"

    assert heard == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


async def test_its_log_is_heard_from_the_level_on_that_was_asked_for(client: MCPClient) -> None:
    HEARD.clear()

    with anyio.fail_after(SECONDS):
        await client.set_logging_level("info")
        assert text(await client.call_tool("log")) == "logged"

    assert [(each.level, each.data, each.logger) for each in HEARD] == [("warning", {"disk": "full"}, "tests")]


@asking
async def test_it_gets_our_answers(client: MCPClient) -> None:
    PERSON.answers = [accept(approve=True), accept(approve=False, reason="late"), ElicitResult(action="decline")]
    PERSON.asked = []

    with anyio.fail_after(SECONDS):
        said = [text(await client.call_tool("confirm", {"env": "prod"})) for _ in range(3)]

    assert said == ["prod: approve=true reason=", "prod: approve=false reason=late", "decline"]
    assert [asked.message for asked in PERSON.asked] == ["Deploy to prod?"] * 3


@asking
async def test_it_asks_again_and_again_in_one_call(client: MCPClient) -> None:
    PERSON.answers = [accept(dish=dish) for dish in ("soup", "fish", "ice")]
    PERSON.asked = []

    with anyio.fail_after(SECONDS):
        assert text(await client.call_tool("order")) == "soup, fish, ice"

    assert [asked.message for asked in PERSON.asked] == ["Dish 1?", "Dish 2?", "Dish 3?"]


@asking
async def test_it_asks_a_person_a_model_and_for_roots_at_once(client: MCPClient) -> None:
    PERSON.answers = [accept(city="Rome")]

    with anyio.fail_after(SECONDS):
        assert text(await client.call_tool("consult")) == "Rome / 10 at most / file:///srv/data"


@pytest.mark.parametrize("client", over(["2024-11-05", "2025-03-26"]), ids=" ".join, indirect=True)
async def test_it_is_not_answered_where_the_revision_has_no_way_to_ask(client: MCPClient) -> None:
    PERSON.asked = []

    with anyio.fail_after(SECONDS):
        results = [await client.call_tool("confirm", {"env": "prod"}), await client.call_tool("order")]

    assert [result.isError for result in results] == [True, True]
    assert PERSON.asked == []


async def test_it_stops_working_on_a_call_that_is_left(client: MCPClient, request: pytest.FixtureRequest) -> None:
    name = {"name": request.node.name}

    with anyio.fail_after(SECONDS):
        with anyio.CancelScope() as scope:
            await client.call_tool("wait", name, progress=lambda begun: scope.cancel())
        assert scope.cancelled_caught
        assert text(await client.call_tool("until_stopped", name)) == "stopped"


@pytest.mark.parametrize(("transport", "revision"), over([*LEGACY, MODERN]))
async def test_it_is_heard_to_change(transport: str, revision: str, url: str) -> None:
    changed = anyio.Event()

    def hear(notice: object) -> None:
        changed.set()

    with anyio.fail_after(SECONDS):
        async with MCPClient.connect(at(url, transport), revision=revision, tools_list_changed=hear) as client:
            while not changed.is_set():  # a legacy server forgets what it says before anybody listens
                await client.call_tool("change")


async def test_the_newest_revision_in_common_is_found(url: str) -> None:
    with anyio.fail_after(SECONDS):
        for transport in ("stdio", "http"):
            async with MCPClient.connect(at(url, transport)) as client:
                assert client.revision == MODERN


async def test_its_rounds_go_on_over_another_connection(url: str) -> None:
    """MRTR-13, MRTR-17."""
    can = ClientCapabilities(elicitation=ElicitationCapability())
    order = CallToolRequestParams(name="order", arguments={})
    dishes = ["soup", "fish", "ice"]

    with anyio.fail_after(SECONDS):
        async with MCPClient.connect(url) as client:
            step = await client.request_round(TOOLS_CALL, order, capabilities=can)
        while isinstance(step, Round):
            stored = step.to_json()
            async with MCPClient.connect(url) as client:
                round = Round[CallToolResult].from_json(stored, TOOLS_CALL)
                step = await client.continue_round(round, {"next": accept(dish=dishes.pop(0))})

    assert text(step) == "soup, fish, ice"


async def test_a_group_is_of_servers_of_every_make(url: str) -> None:
    """Where they are, and what they speak, makes no difference: the reference server has no 2026-07-28."""
    person = Person(accept(approve=True))
    with theirs() as official, reference("streamableHttp") as everything, anyio.fail_after(SECONDS):
        servers = {
            "near": server(TYPESCRIPT_SERVER),
            "far": url,
            "official": official,
            "everything": server(EVERYTHING),
            "everywhere": everything,
        }
        async with MCPClientGroup(servers, elicitation=person) as group:
            names = {tool.name for tool in (await group.list_tools()).tools}
            added = [
                text(await group.call_tool(f"{name}__add", {"a": 1, "b": 2})) for name in ("near", "far", "official")
            ]
            echoed = await group.call_tool("everything__echo", {"message": "ça va?"})
            asked = await group.call_tool("far__confirm", {"env": "prod"})
            failures = dict(group.errors)

    assert failures == {}
    assert {"near__add", "far__add", "official__add", "everything__echo", "everywhere__echo"} <= names
    assert added == ["3"] * 3
    assert "ça va?" in text(echoed)
    assert text(asked) == "prod: approve=true reason="


@pytest.mark.parametrize(("transport", "revision"), CAN_ASK)
def test_a_program_without_an_event_loop_talks_to_it(transport: str, revision: str, url: str) -> None:
    heard: list[float] = []

    def approve(params: object) -> ElicitResult:
        return accept(approve=True)

    with SyncMCPClient.connect(at(url, transport), revision=revision, elicitation=approve) as client:
        added = client.call_tool("add", {"a": 1, "b": 2}, timeout=SECONDS)
        client.call_tool("count", {"to": 2}, progress=lambda told: heard.append(told.progress), timeout=SECONDS)
        asked = client.call_tool("confirm", {"env": "prod"}, timeout=SECONDS)

    assert text(added) == "3"
    assert heard == [1, 2]
    assert text(asked) == "prod: approve=true reason="
