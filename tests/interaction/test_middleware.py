"""Middleware: round every call and notice, with typed params and results and what was really raised."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import anyio
import msgspec
import pytest
from anyio import wait_all_tasks_blocked

from dedalus_mcp import (
    CallNext,
    Incoming,
    MCPClient,
    McpError,
    MCPServer,
    ServerConfig,
    ToolError,
    get_context,
    intercept,
    prompt,
    resource,
    tool,
    types,
)
from dedalus_mcp.types.methods import (
    INITIALIZED,
    ROOTS_LIST_CHANGED,
    TOOLS_CALL,
)
from dedalus_mcp.types.revisions import LEGACY, MODERN, REVISIONS
from tests.interaction.raw import Raw, envelope, serving
from tests.interaction.reach import PATIENCE

every = pytest.mark.parametrize("revision", REVISIONS)
both = pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])


def offering(*functions: Callable[..., Any], **settings: Any) -> MCPServer:
    server = MCPServer("test", **settings)
    server.collect(*functions)
    return server


@tool
async def echo(text: str) -> str:
    return text


@tool
async def fail(how: str) -> str:
    raise {"key": KeyError("internals"), "told": ToolError("for the model"), "mcp": McpError(-32000, "no")}[how]


@prompt
def hello(arguments: dict[str, str] | None) -> list[tuple[str, str]]:
    return [("user", "hello")]


@resource("a://b")
async def page() -> str:
    return "page"


class Log:
    """A middleware that writes down what has passed: the method, the type of its params, and what came of it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, type, Any]] = []
        self.changed = anyio.Event()

    async def __call__(self, incoming: Incoming, call_next: CallNext) -> Any:
        try:
            result = await call_next()
        except BaseException as error:
            self._see(incoming, error)
            raise
        self._see(incoming, type(result))
        return result

    def _see(self, incoming: Incoming, outcome: Any) -> None:
        params: object = incoming.params
        self.seen.append((incoming.method, type(params), outcome))
        self.changed.set()
        self.changed = anyio.Event()

    def calls(self) -> list[tuple[str, type, Any]]:
        """What has passed, but for notices: those overtake calls, and are overtaken."""
        return [each for each in self.seen if not each[0].startswith("notifications/")]

    async def noticed(self, method: str) -> tuple[str, type, Any]:
        """Return what came of a notice, once it has passed."""
        while not (found := [each for each in self.seen if each[0] == method]):
            await self.changed.wait()
        return found[0]


def text(reply: Any) -> str:
    return str(reply["result"]["content"][0]["text"])


@every
async def test_it_wraps_every_call_with_params_and_results_of_their_types(revision: str) -> None:
    """F06."""
    log = Log()
    server = offering(echo, hello, page, middleware=[log])
    methods = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]
    methods += ["server/discover"] if revision in MODERN else ["ping"]
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(revision)
            for method in methods:
                assert "result" in await raw.call(method, method)
            assert text(await raw.tool(1, "echo", text="hi")) == "hi"
            assert "result" in await raw.call(2, "prompts/get", name="hello")
            assert "result" in await raw.call(3, "resources/read", uri="a://b")

    listed = [
        types.ListToolsResult,
        types.ListPromptsResult,
        types.ListResourcesResult,
        types.ListResourceTemplatesResult,
    ]
    expected: list[tuple[str, type, Any]] = [
        *[(method, types.PaginatedRequestParams, result) for method, result in zip(methods[:4], listed, strict=True)],
        (methods[-1], types.RequestParams, types.DiscoverResult if revision in MODERN else types.Result),
        ("tools/call", types.CallToolRequestParams, types.CallToolResult),
        ("prompts/get", types.GetPromptRequestParams, types.GetPromptResult),
        ("resources/read", types.ReadResourceRequestParams, types.ReadResourceResult),
    ]
    if revision in LEGACY:
        expected.insert(0, ("initialize", types.InitializeRequestParams, types.InitializeResult))
    assert log.calls() == expected


async def test_it_wraps_notices() -> None:
    log = Log()
    with anyio.fail_after(PATIENCE):
        async with serving(offering(echo, middleware=[log])) as raw:
            await raw.open("2025-11-25")
            passed = await log.noticed("notifications/initialized")

    assert passed == ("notifications/initialized", types.NotificationParams, type(None))


async def test_the_first_is_the_outermost_and_what_is_added_later_is_the_innermost() -> None:
    order: list[str] = []

    def named(name: str) -> Any:
        async def middleware(incoming: Incoming, call_next: CallNext) -> Any:
            order.append(f"{name} in")
            try:
                return await call_next()
            finally:
                order.append(f"{name} out")

        return middleware

    server = offering(echo, middleware=[intercept(TOOLS_CALL)(named("a")), intercept(TOOLS_CALL)(named("b"))])

    @server.middleware.add
    @intercept(TOOLS_CALL)
    async def last(incoming: Incoming, call_next: CallNext) -> Any:
        return await named("c")(incoming, call_next)

    assert callable(last)
    async with MCPClient.connect(server) as client:
        await client.call_tool("echo", {"text": "x"})

    assert order == ["a in", "b in", "c in", "c out", "b out", "a out"]


@both
async def test_it_changes_params_and_results_and_the_tool_checks_the_arguments_again(revision: str) -> None:
    @intercept(TOOLS_CALL)
    async def loud(
        incoming: Incoming[types.CallToolRequestParams],
        call_next: CallNext[types.CallToolRequestParams, types.CallToolResult],
    ) -> types.CallToolResult:
        arguments = {"text": 7} if incoming.params.arguments == {"text": "bad"} else {"text": "other"}
        result = await call_next(msgspec.structs.replace(incoming.params, arguments=arguments))
        return msgspec.structs.replace(result, content=[*result.content, types.TextContent(text="!")])

    async with serving(offering(echo, middleware=[loud])) as raw:
        await raw.open(revision)
        reply = await raw.tool(1, "echo", text="hi")
        refused = await raw.tool(2, "echo", text="bad")

    assert [each["text"] for each in reply["result"]["content"]] == ["other", "!"]
    assert refused["result"]["isError"]
    assert "text" in text(refused)


@every
async def test_a_call_that_it_answers_or_refuses_itself_goes_no_further(revision: str) -> None:
    called: list[str] = []

    @tool
    async def never() -> str:
        called.append("never")
        return ""

    @intercept(TOOLS_CALL)
    async def gate(incoming: Incoming[types.CallToolRequestParams], call_next: Any) -> types.CallToolResult:
        if incoming.params.arguments:
            raise McpError(-32050, "Not today", {"retry": 1})
        return types.CallToolResult(content=[types.TextContent(text="cached")])

    async with serving(offering(never, middleware=[gate])) as raw:
        await raw.open(revision)
        assert text(await raw.tool(1, "never")) == "cached"
        assert (await raw.tool(2, "never", a=1))["error"] == {
            "code": -32050,
            "message": "Not today",
            "data": {"retry": 1},
        }

    assert called == []


@both
async def test_it_sees_what_a_tool_really_raised_and_the_model_what_it_is_told(revision: str) -> None:
    log = Log()
    server = offering(fail, middleware=[intercept(TOOLS_CALL)(log)])
    async with serving(server) as raw:
        await raw.open(revision)
        replies = [await raw.tool(how, "fail", how=how) for how in ("key", "told", "mcp")]

    assert [type(raised) for *_, raised in log.seen] == [KeyError, ToolError, McpError]
    assert text(replies[0]) == "Tool 'fail' failed with an internal error"
    assert text(replies[1]) == "for the model"
    assert replies[2]["error"] == {"code": -32000, "message": "no"}


async def test_an_exception_of_its_own_is_told_as_a_handlers_is(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(incoming: Incoming, call_next: CallNext) -> Any:
        if incoming.method in ("tools/call", "prompts/list"):
            raise KeyError("secret")
        return await call_next()

    async with serving(offering(echo, hello, middleware=[broken])) as raw:
        await raw.open("2025-11-25")
        reply = await raw.tool(1, "echo", text="x")
        listed = await raw.call(2, "prompts/list")

    assert reply["result"]["isError"]
    assert text(reply) == "Tool 'echo' failed with an internal error"
    assert listed["error"] == {"code": -32603, "message": "Internal error"}
    assert caplog.text.count("KeyError: 'secret'") == 2


async def test_a_tool_that_failed_can_be_saved_or_tried_again() -> None:
    tries: list[int] = []

    @tool
    async def flaky() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError("not yet")
        return "there"

    @intercept(TOOLS_CALL)
    async def retry(incoming: Any, call_next: CallNext[Any, types.CallToolResult]) -> types.CallToolResult:
        for _ in range(5):
            try:
                return await call_next()
            except ConnectionError:
                continue
        raise AssertionError("it never worked")

    async with MCPClient.connect(offering(flaky, middleware=[retry])) as client:
        assert (await client.call_tool("flaky")).text == "there"
    assert len(tries) == 3


async def test_context_variables_reach_handlers_in_threads() -> None:
    """B064: what a middleware has set is visible where the tool runs."""
    tenant: ContextVar[str] = ContextVar("tenant")

    @tool
    def whose() -> str:
        assert threading.current_thread() is not threading.main_thread()
        return tenant.get()

    async def tell(incoming: Incoming, call_next: CallNext) -> Any:
        assert incoming.context is get_context()
        tenant.set(f"of {incoming.context.request_id}")
        return await call_next()

    async with serving(offering(whose, middleware=[tell])) as raw:
        await raw.open("2025-11-25")
        assert text(await raw.tool(1, "whose")) == "of 1"


@pytest.mark.parametrize("wrong", [None, "log", 7], ids=repr)
def test_what_cannot_be_called_is_no_middleware(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"a middleware is an `async def` of \(incoming, call_next\), which .* is not"):
        MCPServer("test", middleware=[wrong])


def test_several_are_given_as_a_list() -> None:
    async def alone(incoming: Incoming, call_next: CallNext) -> Any:
        return await call_next()

    with pytest.raises(TypeError, match="middleware is a list of async functions, not <function"):
        MCPServer("test", middleware=alone)  # type: ignore[arg-type]


def test_a_plain_function_is_no_middleware() -> None:
    def sync(incoming: Incoming, call_next: CallNext) -> Any:
        return call_next()

    for use in (MCPServer("test").middleware.add, intercept(TOOLS_CALL)):
        with pytest.raises(TypeError, match=r"async def.*sync\(\) is not"):
            use(sync)


def test_what_is_intercepted_is_a_method() -> None:
    with pytest.raises(TypeError, match=r"intercept takes a method, such as .*TOOLS_CALL, not 'tools/call'"):
        intercept("tools/call")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("returned", "called"),
    [(None, "NoneType"), ({"content": []}, "dict"), (types.ListToolsResult(tools=[]), "ListToolsResult")],
    ids=repr,
)
async def test_a_middleware_that_returns_no_result_is_named_in_the_log(
    returned: Any, called: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def forgetful(incoming: Incoming, call_next: CallNext) -> Any:
        result = await call_next()
        return returned if incoming.method == "tools/call" else result

    async with serving(offering(echo, middleware=[forgetful])) as raw:
        await raw.open("2025-11-25")
        assert (await raw.tool(1, "echo", text="x"))["result"]["isError"]

    assert f"forgetful() returned {called} for 'tools/call'" in caplog.text
    assert "it returns what `await call_next()` gave, or a CallToolResult" in caplog.text


async def test_a_forgotten_await_is_named_and_leaves_nothing_behind(caplog: pytest.LogCaptureFixture) -> None:
    async def forgetful(incoming: Incoming, call_next: CallNext) -> Any:
        return call_next() if incoming.method == "prompts/list" else await call_next()

    async with serving(offering(hello, middleware=[forgetful])) as raw:
        await raw.open("2025-11-25")
        assert (await raw.call(1, "prompts/list"))["error"]["code"] == -32603

    assert "forgetful() returned coroutine for 'prompts/list'" in caplog.text


async def test_params_of_another_type_go_no_further(caplog: pytest.LogCaptureFixture) -> None:
    async def confused(incoming: Incoming, call_next: CallNext) -> Any:
        return await (call_next({"cursor": None}) if incoming.method == "prompts/list" else call_next())

    async with serving(offering(hello, middleware=[confused])) as raw:
        await raw.open("2025-11-25")
        assert (await raw.call(1, "prompts/list"))["error"]["code"] == -32603

    assert "confused() goes on with dict: the params of 'prompts/list' are PaginatedRequestParams" in caplog.text


@every
async def test_what_is_wrong_is_refused_before_it(revision: str) -> None:
    """It is given decoded params, so what cannot be decoded, or is no method, never comes that far."""
    log = Log()
    async with serving(offering(echo, middleware=[log])) as raw:
        await raw.open(revision)
        assert (await raw.call(1, "tools/call", name=7))["error"]["code"] == -32602
        assert (await raw.call(2, "tools/call", name="echo", arguments=[1]))["error"] == {
            "code": -32602,
            "message": "Invalid params: `arguments` is an object",
        }
        assert (await raw.call(3, "nobody/knows"))["error"]["code"] == -32601

    assert [method for method, *_ in log.calls()] == (["initialize"] if revision in LEGACY else [])


@both
@pytest.mark.parametrize("undecodable", [b'{"text": "\xff"}', b'{"text": 1e999}', b'{"text": ' + b"9" * 5000 + b"}"])
async def test_arguments_that_cannot_be_decoded_are_refused_before_it(revision: str, undecodable: bytes) -> None:
    """They have only been skipped before: elsewhere the tool is the first to look into them."""
    logs = [Log() for _ in range(3)]
    lender = offering(echo, middleware=[logs[0]])
    including = MCPServer("including")
    including.include(lender)
    for server in (
        lender,
        including,
        offering(echo, middleware=[logs[1]]),
        offering(echo, request_middleware=[logs[2]]),
    ):
        with anyio.fail_after(PATIENCE):
            async with serving(server) as raw:
                await raw.open(revision)
                meta = b',"_meta":' + msgspec.json.encode(envelope()) if revision in MODERN else b""
                params = b'{"name":"echo","arguments":' + undecodable + meta + b"}"
                await raw.say(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + params + b"}")
                error = (await raw.reply(1))["error"]
        assert error["code"] == -32602
        assert error["message"].startswith("Invalid params: arguments: ")

    assert not any(method == "tools/call" for log in logs for method, *_ in log.calls())


# The handshake, and what comes right behind it.


class Slow:
    """A middleware that lets a method pass when it may."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.there = anyio.Event()
        self.may_pass = anyio.Event()

    async def __call__(self, incoming: Incoming, call_next: CallNext) -> Any:
        if incoming.method == self.method:
            self.there.set()
            await self.may_pass.wait()
        return await call_next()


async def test_what_comes_while_the_handshake_takes_its_time_is_of_the_session_it_begins() -> None:
    """B077: as where there is no middleware."""
    slow = Slow("initialize")
    with anyio.fail_after(PATIENCE):
        async with serving(offering(echo, middleware=[slow])) as raw:
            await raw.begin(
                "init",
                "initialize",
                protocolVersion="2025-06-18",
                capabilities={},
                clientInfo={"name": "n", "version": "1"},
            )
            await raw.begin(1, "tools/list")
            await slow.there.wait()
            await wait_all_tasks_blocked()
            slow.may_pass.set()
            agreed, listed = await raw.reply("init"), await raw.reply(1)

    assert agreed["result"]["protocolVersion"] == "2025-06-18"
    assert listed["result"]["tools"][0]["name"] == "echo"


async def test_a_handshake_that_is_refused_begins_no_session_and_can_be_tried_again() -> None:
    refusals = [McpError(-32001, "not you")]

    async def guard(incoming: Incoming, call_next: CallNext) -> Any:
        if incoming.method == "initialize" and refusals:
            raise refusals.pop()
        return await call_next()

    async with serving(offering(echo, middleware=[guard])) as raw:
        assert (await raw.initialize("2025-11-25"))["error"] == {"code": -32001, "message": "not you"}
        assert (await raw.call(1, "tools/list"))["error"]["code"] == -32600
        await raw.open("2025-03-26")
        assert "result" in await raw.call(2, "tools/list")


async def test_a_changed_handshake_is_shaped_for_the_revision_that_was_agreed_on() -> None:
    @intercept(types.methods.INITIALIZE)
    async def rename(
        incoming: Any, call_next: CallNext[types.InitializeRequestParams, types.InitializeResult]
    ) -> types.InitializeResult:
        result = await call_next()
        info = types.Implementation(name="other", version="9", title="Younger", websiteUrl="https://e.org")
        return msgspec.structs.replace(result, serverInfo=info)

    async with serving(offering(echo, middleware=[rename])) as raw:
        assert (await raw.initialize("2025-03-26"))["result"]["serverInfo"] == {"name": "other", "version": "9"}


# Cancellation.


@both
async def test_a_call_that_is_cancelled_in_it_gets_no_reply_and_others_go_on(revision: str) -> None:
    slow, log = Slow("tools/call"), Log()
    with anyio.fail_after(PATIENCE):
        async with serving(offering(echo, middleware=[log, slow])) as raw:
            await raw.open(revision)
            await raw.begin(1, "tools/call", name="echo", arguments={"text": "x"})
            await slow.there.wait()
            await raw.notify("notifications/cancelled", requestId=1)
            assert "result" in await raw.call(2, "tools/list")
            await raw.barrier()

    assert not any(message.get("id") == 1 for message in raw.heard)
    (cancelled,) = [outcome for method, _, outcome in log.seen if method == "tools/call"]
    assert isinstance(cancelled, BaseException)
    assert not isinstance(cancelled, Exception)


# Notices.


async def _client_with_roots(raw: Raw) -> None:
    await raw.open("2025-11-25", {"roots": {"listChanged": True}})


async def test_notices_pass_it_too_and_one_that_it_drops_has_no_effect() -> None:
    seen: list[Any] = []
    through = [False, True]

    @intercept(ROOTS_LIST_CHANGED)
    async def drop(incoming: Incoming[types.NotificationParams], call_next: CallNext[Any, None]) -> None:
        seen.append((incoming.notice, incoming.context.client_info, incoming.context.request_id))
        if through.pop(0):
            await call_next()

    @tool
    async def version() -> int:
        return get_context().terms.roots_version

    async with serving(offering(version, middleware=[drop])) as raw:
        await _client_with_roots(raw)
        versions: list[str] = []
        for id in (1, 2):
            await raw.notify("notifications/roots/list_changed")
            await wait_all_tasks_blocked()
            versions.append(text(await raw.tool(id, "version")))

    assert versions == ["0", "1"]
    assert [(notice, info.name, id) for notice, info, id in seen] == [(True, "raw", "")] * 2


async def test_a_notice_can_be_answered_with_a_question() -> None:
    heard = anyio.Event()
    roots: list[Any] = []

    @intercept(INITIALIZED)
    async def look(incoming: Incoming[types.NotificationParams], call_next: CallNext[Any, None]) -> None:
        roots.extend(await incoming.context.list_roots())
        heard.set()
        await call_next()

    with anyio.fail_after(PATIENCE):
        server = offering(echo, middleware=[look])
        async with MCPClient.connect(server, roots=["file:///a"], revision="2025-11-25"):
            await heard.wait()

    assert [root.uri for root in roots] == ["file:///a"]


async def test_a_notice_that_fails_in_it_is_logged_and_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(incoming: Incoming, call_next: CallNext) -> Any:
        if incoming.notice:
            raise KeyError("secret")
        return await call_next()

    async with serving(offering(echo, middleware=[broken])) as raw:
        await raw.open("2025-11-25")
        assert text(await raw.tool(1, "echo", text="x")) == "x"
        await wait_all_tasks_blocked()

    assert "the middleware failed on 'notifications/initialized'" in caplog.text


async def test_notices_that_nobody_knows_pass_and_malformed_ones_and_those_of_the_engine_do_not() -> None:
    log = Log()
    with anyio.fail_after(PATIENCE):
        async with serving(offering(echo, middleware=[log])) as raw:
            await raw.open("2025-11-25")
            await raw.say({"method": "notifications/roots/list_changed", "params": {"_meta": 7}})
            await raw.notify("notifications/cancelled", requestId="nobody's")
            await raw.notify("notifications/cancelled", nothing=1)
            await raw.notify("notifications/progress", progressToken="nobody's", progress=1)
            await raw.notify("notifications/mine", a=1)
            passed = await log.noticed("notifications/mine")

    heard = [method for method, *_ in log.seen if method.startswith("notifications/")]
    assert sorted(heard) == ["notifications/initialized", "notifications/mine"]
    assert passed == ("notifications/mine", types.NotificationParams, type(None))
    assert "notifications/roots/list_changed" not in [method for method, *_ in log.seen]


async def test_a_flood_of_notices_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    slow = Slow("notifications/roots/list_changed")
    with anyio.fail_after(PATIENCE):
        async with serving(offering(echo, middleware=[slow])) as raw:
            await raw.open("2025-11-25")
            await raw.say(*[{"method": "notifications/roots/list_changed"}] * 300)
            assert text(await raw.tool(1, "echo", text="x")) == "x"

    assert "256 notices wait in the middleware already" in caplog.text


async def test_errors_are_told_to_clients_where_the_server_is_set_so() -> None:
    async def broken(incoming: Incoming, call_next: CallNext) -> Any:
        if incoming.method == "prompts/list":
            raise KeyError("open")
        return await call_next()

    server = offering(hello, middleware=[broken], config=ServerConfig(mask_errors=False))
    async with serving(server) as raw:
        await raw.open("2025-11-25")
        assert (await raw.call(1, "prompts/list"))["error"]["message"] == "Internal error: KeyError: 'open'"


# What is not one call and one reply.


async def test_a_stream_is_a_call_that_lasts_in_it_until_the_client_ends_it() -> None:
    log, server = Log(), offering(echo)
    server.middleware.add(log)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open("2026-07-28")
            await raw.begin("s", "subscriptions/listen", notifications={"toolsListChanged": True})
            await raw.hear_method("notifications/subscriptions/acknowledged")
            assert log.calls() == []
            await server.notify_tools_list_changed()
            await raw.hear_method("notifications/tools/list_changed")
            await raw.notify("notifications/cancelled", requestId="s")
            await raw.barrier()
            await wait_all_tasks_blocked()

    assert ("subscriptions/listen", types.SubscriptionsListenRequestParams) in [each[:2] for each in log.seen]


async def test_a_batch_is_answered_in_one_array_whatever_each_call_passes() -> None:
    slow = Slow("ping")
    with anyio.fail_after(PATIENCE):
        async with serving(offering(echo, middleware=[slow])) as raw:
            await raw.open("2025-03-26")
            calls = [{"jsonrpc": "2.0", "id": id, "method": method} for id, method in ((1, "ping"), (2, "tools/list"))]
            await raw.say(calls)
            await slow.there.wait()
            slow.may_pass.set()
            replies: Any = await raw.hear()

    assert sorted(reply["id"] for reply in replies) == [1, 2]


async def test_what_changes_for_a_session_changes_when_it_is_through() -> None:
    """A log level and a subscription: answered in a task of its own, and in force with the reply."""
    log = Log()
    async with serving(offering(echo, page, middleware=[log])) as raw:
        await raw.open("2025-11-25")
        assert (await raw.call(1, "logging/setLevel", level="error"))["result"] == {}
        assert (await raw.call(2, "resources/subscribe", uri="a://b"))["result"] == {}
        assert (await raw.call(3, "resources/subscribe", uri="a://none"))["error"]["code"] == -32002

    assert [method for method, *_ in log.calls()][1:] == [
        "logging/setLevel",
        "resources/subscribe",
        "resources/subscribe",
    ]
