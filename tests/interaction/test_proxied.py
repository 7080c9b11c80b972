"""Through a proxy everything is as it is without: every revision before it, every revision behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient, McpError
from dedalus_mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    LoggingMessageNotificationParams,
    ProgressNotificationParams,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    UnknownContent,
)
from dedalus_mcp.types.methods import TOOLS_CALL
from dedalus_mcp.types.revisions import REVISIONS, shape
from tests.interaction import proxied_server, proxy_server
from tests.interaction.proxied_server import SCHEMA
from tests.interaction.raw import serving as serving_raw
from tests.interaction.reach import PATIENCE, Heard, script, text_of
from tests.interaction.test_replay import KEY
from tests.interaction.test_rounds import ABLE, MODERN, Talk
from tests.transports.test_http_client import serving

ASKING = ("2025-06-18", "2025-11-25", "2026-07-28")
ERAS = ("2025-11-25", "2026-07-28")

any_revisions = pytest.mark.parametrize("inside", REVISIONS)
BOTH = [(one, other) for one in ERAS for other in ERAS]
eras = pytest.mark.parametrize(("outside", "inside"), BOTH)
asking = pytest.mark.parametrize(("outside", "inside"), [(one, other) for one in ASKING for other in ASKING])
everywhere = pytest.mark.parametrize(
    ("anyio_backend", "transport"), [("asyncio", "memory"), ("trio", "memory"), ("asyncio", "http")]
)
with_children = pytest.mark.parametrize(
    ("anyio_backend", "transport", "outside", "inside"),
    [("asyncio", "stdio", "2025-11-25", "2026-07-28"), ("asyncio", "stdio", "2026-07-28", "2025-11-25")]
    + [(*way, *both) for way in (("asyncio", "memory"), ("trio", "memory"), ("asyncio", "http")) for both in BOTH],
)


@asynccontextmanager
async def through(transport: str, outside: str, inside: str, **settings: Any) -> AsyncGenerator[MCPClient]:
    """A client of a proxy of `proxied_server`; both ways go over the transport."""
    async with AsyncExitStack() as stack:
        stack.enter_context(anyio.fail_after(PATIENCE))
        target: Any = script("tests.interaction.proxy_server", [inside])
        if transport != "stdio":
            upstream: Any = proxied_server.make()
            if transport == "http":
                upstream = await stack.enter_async_context(serving(upstream))
            target = proxy_server.make(upstream, inside)
            if transport == "http":
                target = await stack.enter_async_context(serving(target))
        yield await stack.enter_async_context(MCPClient.connect(target, revision=outside, cache=None, **settings))


class Someone:
    """The user of that number, to whom nobody else's questions may come."""

    def __init__(self, number: int = 1) -> None:
        self.number = number
        self.asked: list[str] = []

    @property
    def able(self) -> dict[str, Any]:
        return {"elicitation": self.elicit, "sampling": self.sample, "roots": [f"file:///home/{self.number}"]}

    async def elicit(self, params: ElicitRequestParams) -> dict[str, Any]:
        assert params.message.startswith(f"{self.number}: ")
        self.asked.append(params.message)
        (field,) = params.requestedSchema["properties"]
        return {field: f"u{self.number}" if field == "text" else self.number % 2 == 0}

    async def sample(self, params: CreateMessageRequestParams) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(text=f"m{self.number}"), model="m")

    @property
    def told(self) -> str:
        return f"u{self.number} {self.number % 2 == 0} m{self.number} ['file:///home/{self.number}']"


@with_children
async def test_results_schemas_and_metadata_arrive_as_they_were_given(
    transport: str, outside: str, inside: str
) -> None:
    """B121, B031."""
    async with through(transport, outside, inside) as client:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        result = await client.call_tool("exact", {"size": "s"})
        wrong = await client.call_tool("broken")
        said = await client.get_prompt("greet", {"who": "Ada"})
        (found,) = (await client.list_resources()).resources
        (template,) = (await client.list_resource_templates()).resourceTemplates
        (listed,) = (await client.list_prompts()).prompts
        read = [(await client.read_resource(uri)).contents[0] for uri in ("a://r", "a://t/y")]

    assert tools["exact"].inputSchema == SCHEMA
    assert (tools["exact"].meta, tools["exact"].title) == ({"m": [1, None]}, "Exact")
    assert tools["exact"].annotations is not None
    assert result.content[0] == UnknownContent(type="hologram", x=1)
    assert result.content[1] == TextContent(text="a", meta={"k": "v"})
    assert getattr(result.content[2], "uri", None) == "a://r"
    assert result.structuredContent == {"given": {"size": "s"}}
    assert (result.meta or {})["trace"] == {"id": 7}
    assert (wrong.isError, wrong.structuredContent, text_of(wrong)) == (True, {"why": 1}, "no")
    assert [each.content.type for each in said.messages] == ["image", "resource", "text"]
    assert (listed.title, listed.meta) == ("Greet", {"m": 1})
    assert (found.uri, found.mimeType, found.size) == ("a://r", "text/x", 1)
    assert template.uriTemplate == "a://t/{x}"
    assert (getattr(read[0], "text", None), getattr(read[1], "blob", None)) == ("r", "eQ==")


@everywhere
@eras
async def test_errors_keep_code_message_and_data(transport: str, outside: str, inside: str) -> None:
    """RPC-27, RES-06."""
    async with through(transport, outside, inside) as client:
        with pytest.raises(McpError) as raised:
            await client.call_tool("refuse")
        with pytest.raises(McpError) as missing:
            await client.read_resource("a://t/none")
        with pytest.raises(McpError) as unknown:
            await client.read_resource("b://nowhere")

    error = raised.value
    assert (error.code, error.message, error.data) == (-31999, "not today", {"until": [1]})
    not_found = -32602 if outside == "2026-07-28" else -32002
    assert (missing.value.code, missing.value.message) == (not_found, "no such t")
    assert missing.value.data == {"uri": "a://t/none", "why": "none"}
    assert (unknown.value.code, unknown.value.data) == (not_found, {"uri": "b://nowhere"})


@pytest.mark.parametrize("outside", REVISIONS)
@any_revisions
async def test_every_revision_is_served_from_every_revision(outside: str, inside: str) -> None:
    async with through("memory", outside, inside) as client:
        assert client.server_info is not None
        assert client.server_info.name == "front"
        assert client.instructions == "Use it well."
        assert len((await client.list_tools()).tools) == 14
        assert "a" in (await client.call_tool("exact")).text
        assert (await client.get_prompt("greet", {"who": "x"})).messages
        assert (await client.read_resource("a://r")).contents[0].uri == "a://r"
        completed = await client.complete(PromptReference(name="greet"), "who", "Ad")
        letters = await client.complete(ResourceTemplateReference(uri="a://t/{x}"), "x", "a")
    assert completed.completion.values == ["Ada"]
    assert (completed.completion.total, completed.completion.hasMore) == (7, True)
    assert letters.completion.values == ["ab"]


@everywhere
@asking
async def test_questions_reach_the_user_of_the_client_and_answers_the_upstream_server(
    transport: str, outside: str, inside: str
) -> None:
    """B022."""
    user = Someone(1)
    async with through(transport, outside, inside, **user.able) as client:
        assert text_of(await client.call_tool("ask", {"user": 1})) == user.told
    assert user.asked == ["1: name?", "1: sure?"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@eras
async def test_of_twenty_conversations_at_once_each_hears_its_own_questions_alone(outside: str, inside: str) -> None:
    """B022."""
    async with serving(proxied_server.make()) as far, serving(proxy_server.make(far, inside)) as near:

        async def use(number: int) -> None:
            user = Someone(number)
            async with MCPClient.connect(near, revision=outside, **user.able) as client:
                assert text_of(await client.call_tool("ask", {"user": number})) == user.told

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(use, number)


@everywhere
@eras
async def test_questions_at_once_are_all_answered(transport: str, outside: str, inside: str) -> None:
    def elicit(params: ElicitRequestParams) -> dict[str, Any]:
        return {"confirm": params.message != "1?"}

    async with through(transport, outside, inside, elicitation=elicit) as client:
        assert text_of(await client.call_tool("ask_at_once")) == "[True, False, True]"


@everywhere
@eras
async def test_a_page_is_visited(transport: str, outside: str, inside: str) -> None:
    seen: list[Any] = []

    async def visit(params: Any) -> ElicitResult:
        seen.append(params.url)
        return ElicitResult(action="accept")

    async with through(transport, outside, inside, elicitation_url=visit) as client:
        assert text_of(await client.call_tool("visit")) == "accept"
    assert seen == ["https://example.com/pay"]


@eras
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_no_is_handed_on(outside: str, inside: str, action: Any) -> None:
    async def elicit(params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action=action)

    async with through("memory", outside, inside, elicitation=elicit) as client:
        assert text_of(await client.call_tool("ask_at_once")) == "[False, False, False]"


@eras
async def test_an_error_that_the_client_answers_with_is_what_the_call_fails_with(outside: str, inside: str) -> None:
    async def elicit(params: ElicitRequestParams) -> ErrorData:
        return ErrorData(-31000, "the user is asleep")

    async with through("memory", outside, inside, elicitation=elicit) as client:
        call = partial(client.call_tool, "ask_at_once")
        if outside == "2026-07-28":  # whose clients answer no question with an error
            with pytest.raises(McpError, match="the user is asleep"):
                await call()
        else:
            result = await call()
            assert result.isError
            assert text_of(result) == "the user is asleep"


@eras
async def test_what_the_client_cannot_be_asked_the_upstream_server_is_told_it_cannot(outside: str, inside: str) -> None:
    """B021."""
    async with through("memory", outside, inside, roots=["file:///r"]) as client:
        assert text_of(await client.call_tool("declared")) == "False False True"
        try:
            failed: CallToolResult | McpError = await client.call_tool("ask_at_once")
        except McpError as error:
            failed = error
    said = failed.message if isinstance(failed, McpError) else text_of(failed)
    assert "elicitation" in said


@everywhere
@eras
async def test_progress_and_logs_come_in_order_and_before_the_result(transport: str, outside: str, inside: str) -> None:
    """PROG-03, LOG-04."""
    logged, steps = Heard[LoggingMessageNotificationParams](), Heard[ProgressNotificationParams]()
    async with through(transport, outside, inside, logging=logged) as client:
        await client.call_tool("tell", progress=steps)
        (message,) = await logged.wait(1)
        told = await steps.wait(3)

    assert message.data == {"msg": "loud", "a": 1}
    assert [(step.progress, step.total, step.message) for step in told] == [
        (number, 3, f"step {number}") for number in (1, 2, 3)
    ]


@eras
async def test_the_clients_log_level_holds_at_the_upstream_server(outside: str, inside: str) -> None:
    """LOG-02, LOG-03."""
    heard = Heard[Any]()
    async with through("memory", outside, inside, logging=heard) as client:
        await client.set_logging_level("debug")
        await client.call_tool("tell")
        assert [message.data["msg"] for message in await heard.wait(2)] == ["quiet", "loud"]
        await client.set_logging_level("error")
        await client.call_tool("tell")
        await client.set_logging_level("warning")
        await client.call_tool("tell")
        await heard.wait(3)

    assert [message.data["msg"] for message in heard.values] == ["quiet", "loud", "loud"]


@pytest.mark.parametrize("outside", ERAS)
async def test_of_clients_that_share_a_connection_only_who_wants_logs_has_them(outside: str) -> None:
    """LOG-05."""
    server = proxy_server.make(proxied_server.make(), "2026-07-28")
    one, other = Heard[Any](), Heard[Any]()
    with anyio.fail_after(PATIENCE):
        async with (
            MCPClient.connect(server, revision=outside, logging=one) as loud,
            MCPClient.connect(server, revision="2026-07-28", logging=other) as quiet,
        ):
            await quiet.set_logging_level("emergency")
            for client in (loud, quiet, loud):
                await client.call_tool("tell")
            await one.wait(2)

    assert other.values == []


@eras
async def test_roots_that_change_are_asked_for_again(outside: str, inside: str) -> None:
    """ROOT-03."""
    now = ["file:///one"]
    async with through("memory", outside, inside, roots=lambda: list(now)) as client:
        assert text_of(await client.call_tool("roots")) == "['file:///one']"
        now[:] = ["file:///two", "file:///three"]
        await client.notify_roots_list_changed()
        assert text_of(await client.call_tool("roots")) == "['file:///two', 'file:///three']"


@eras
async def test_roots_that_cannot_be_told_are_no_roots(outside: str, inside: str) -> None:
    async def fail() -> list[str]:
        raise McpError(-31000, "the disk is gone")

    async with through("memory", outside, inside, roots=fail) as client:
        try:
            said = text_of(await client.call_tool("roots"))
        except McpError as error:
            said = error.message
    assert "the disk is gone" in said


@eras
async def test_a_clients_own_metadata_reaches_the_upstream_server(outside: str, inside: str) -> None:
    async with through("memory", outside, inside) as client:
        assert text_of(await client.call_tool("tell", meta={"example.com/trace": "t1"})) == "t1"


@with_children
async def test_a_cancelled_call_ends_at_the_upstream_server(transport: str, outside: str, inside: str) -> None:
    """CANC-01, CANC-07."""
    began = Heard[ProgressNotificationParams]()
    async with through(transport, outside, inside) as client:
        before = int(text_of(await client.call_tool("ended")))
        async with anyio.create_task_group() as group:
            group.start_soon(partial(client.call_tool, "wait", progress=began))
            await began.wait(1)
            group.cancel_scope.cancel()
        while int(text_of(await client.call_tool("ended"))) == before:
            await anyio.lowlevel.checkpoint()


@with_children
async def test_changes_of_lists_are_told_and_seen(transport: str, outside: str, inside: str) -> None:
    """TOOL-20, PROMPT-11, RES-10."""
    tools, prompts, resources = Heard[Any](), Heard[Any](), Heard[Any]()
    hearers: dict[str, Callable[[Any], None]] = {
        "tools_list_changed": tools,
        "prompts_list_changed": prompts,
        "resources_list_changed": resources,
    }
    async with through(transport, outside, inside, **hearers) as client:
        for what, heard in (("tool", tools), ("prompt", prompts), ("resource", resources)):
            await client.call_tool("change", {"what": what})
            await heard.wait(1)
        names = [each.name for each in (await client.list_tools()).tools]
        assert names[-1] == "added"
        assert (await client.list_prompts()).prompts == []
        assert (await client.list_resources()).resources == []
        assert text_of(await client.call_tool("added")) == "new"


@with_children
async def test_who_subscribes_hears_of_the_upstream_servers_resources(
    transport: str, outside: str, inside: str
) -> None:
    updated = Heard[Any]()
    async with through(transport, outside, inside, resource_updated=updated) as client:
        await client.subscribe_resource("a://t/9")
        await client.call_tool("change", {"what": "a://t/8"})
        await client.call_tool("change", {"what": "a://t/9"})
        (told, *_) = await updated.wait(1)
        assert told.uri == "a://t/9"
        with pytest.raises(McpError):
            await client.subscribe_resource("b://nowhere")
        await client.unsubscribe_resource("a://t/9")


@pytest.mark.parametrize("inside", ERAS)
async def test_a_round_that_is_lost_is_told_again_and_nothing_runs_twice(inside: str) -> None:
    """The proxy parks like any server."""

    def elicit(params: ElicitRequestParams) -> dict[str, Any]:
        return {"confirm": True}

    async with through("memory", "2026-07-28", inside, elicitation=elicit) as client:
        params = CallToolRequestParams(name="ask_at_once", arguments={})
        first = await client.request_round(TOOLS_CALL, params)
        assert not isinstance(first, CallToolResult)
        assert len(first.questions) == 3
        answers = {key: ElicitResult(action="accept", content={"confirm": True}) for key in first.questions}
        ends = [await client.continue_round(first, answers) for _ in range(2)]
        texts = [text_of(shape(end, "2026-07-28")) for end in ends]

    assert texts == ["[True, True, True]"] * 2


@pytest.mark.parametrize("inside", ERAS)
async def test_a_call_that_asked_goes_on_in_another_process_and_begins_anew_upstream(inside: str) -> None:
    """Two proxies with the same keys stand for two processes; what was answered is not asked again."""
    upstream = proxied_server.make()
    with anyio.fail_after(PATIENCE):
        one, two = (proxy_server.make(upstream, inside, state_keys=[KEY]) for _ in range(2))
        async with serving_raw(one) as first, serving_raw(two) as second:
            for raw in (first, second):
                await raw.open(MODERN, {**ABLE, "sampling": {}, "roots": {}})
            asked = await Talk(first, "ask", user=1).call()
            for raw, answer in ((second, {"text": "Ada"}), (first, {"confirm": True})):
                (key,) = asked["result"]["inputRequests"]
                again = {key: {"action": "accept", "content": answer}}
                talk = Talk(raw, "ask", user=1)
                asked = await talk.call(inputResponses=again, requestState=asked["result"]["requestState"])
            (last,) = asked["result"]["inputRequests"].values()

    assert last["method"] == "sampling/createMessage"


@pytest.mark.parametrize("outside", ERAS)
async def test_what_a_legacy_server_keeps_for_a_session_is_kept_for_each_client(outside: str) -> None:
    """B022."""
    server = proxy_server.make(proxied_server.make(), "2025-11-25")
    with anyio.fail_after(PATIENCE):
        async with (
            MCPClient.connect(server, revision=outside) as one,
            MCPClient.connect(server, revision=outside) as two,
        ):
            counts = [text_of(await client.call_tool("count")) for client in (one, two, one, one, two)]

    assert counts == ["1", "1", "2", "3", "2"]
