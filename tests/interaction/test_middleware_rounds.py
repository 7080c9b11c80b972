"""Middleware and calls that ask in rounds: one call is wrapped once, each of its requests by `request_middleware`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from dedalus_mcp import CallNext, Context, Incoming, MCPClient, McpError, MCPServer, Session, intercept, tool, types
from dedalus_mcp.types.methods import TOOLS_CALL
from tests.interaction.raw import Raw, envelope, serving
from tests.interaction.reach import PATIENCE
from tests.interaction.test_rounds import ABLE, answering, ask, text

MODERN = "2026-07-28"
KEYS = [b"k" * 32]


def offering(*functions: Callable[..., Any], **settings: Any) -> MCPServer:
    server = MCPServer("test", **settings)
    server.collect(*functions)
    return server


@tool
async def add() -> str:
    return str(await ask("a") + await ask("b"))  # type: ignore[operator]


class Log:
    """Writes down what goes in and comes out, by the id of the request that is attached."""

    def __init__(self) -> None:
        self.said: list[str] = []

    async def __call__(self, incoming: Incoming, call_next: CallNext) -> Any:
        if incoming.method != "tools/call":
            return await call_next()
        self.said.append(f"{incoming.context.request_id} in")
        try:
            result = await call_next()
        except BaseException as error:
            self.said.append(f"{incoming.context.request_id} {type(error).__name__}")
            raise
        self.said.append(f"{incoming.context.request_id} {type(result).__name__}")
        return result


async def in_rounds(raw: Raw) -> dict[str, Any]:
    first = await raw.tool(1, "add")
    second = await raw.call(2, "tools/call", name="add", arguments={}, **answering(first, a=1))
    return await raw.call(3, "tools/call", name="add", arguments={}, **answering(second, b=2))


async def test_a_call_is_wrapped_once_and_suspended_with_it_and_each_request_by_itself() -> None:
    calls, requests = Log(), Log()
    server = offering(add, middleware=[calls], request_middleware=[requests])
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(MODERN, ABLE)
            assert text(await in_rounds(raw)) == "3"

    assert calls.said == ["1 in", "3 CallToolResult"]
    assert requests.said == [
        "1 in", "1 InputRequiredResult", "2 in", "2 InputRequiredResult", "3 in", "3 CallToolResult",
    ]  # fmt: skip


async def test_a_call_without_rounds_is_one_request_in_every_era() -> None:
    @tool
    async def plain() -> str:
        return "done"

    for revision in ("2025-11-25", MODERN):
        requests = Log()
        async with serving(offering(plain, request_middleware=[requests])) as raw:
            await raw.open(revision)
            assert text(await raw.tool(1, "plain")) == "done"
        assert requests.said == ["1 in", "1 CallToolResult"]


async def test_in_a_session_a_call_that_asks_is_one_request_too() -> None:
    calls, requests = Log(), Log()
    server = offering(add, middleware=[calls], request_middleware=[requests])

    async def answer(params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"n": 4})

    async with MCPClient.connect(server, elicitation=answer, revision="2025-11-25") as client:
        assert (await client.call_tool("add")).text == "8"
    assert [each.partition(" ")[2] for each in calls.said] == ["in", "CallToolResult"]
    assert [each.partition(" ")[2] for each in requests.said] == ["in", "CallToolResult"]


async def test_a_request_that_is_refused_leaves_the_call_waiting_for_a_better_one() -> None:
    """Authorization that is gone at the second request, and there again at the third."""
    allowed = [True, False, True, True]

    async def guard(incoming: Incoming, call_next: CallNext) -> Any:
        if not allowed.pop(0):
            raise McpError(-32001, "Not any more")
        return await call_next()

    with anyio.fail_after(PATIENCE):
        async with serving(offering(add, request_middleware=[guard])) as raw:
            await raw.open(MODERN, ABLE)
            first = await raw.tool(1, "add")
            retry: dict[str, Any] = {"name": "add", "arguments": {}, **answering(first, a=1)}
            assert (await raw.call(2, "tools/call", retry))["error"] == {"code": -32001, "message": "Not any more"}
            second = await raw.call(3, "tools/call", retry)
            last = await raw.call(4, "tools/call", name="add", arguments={}, **answering(second, b=2))

    assert text(last) == "3"


async def test_what_a_request_is_answered_with_can_be_changed() -> None:
    @intercept(TOOLS_CALL)
    async def stamp(incoming: Any, call_next: CallNext) -> Any:
        result = await call_next()
        assert isinstance(result, types.CallToolResult | types.InputRequiredResult)
        if isinstance(result, types.CallToolResult):
            return types.CallToolResult(content=[types.TextContent(text=f"{result.text}!")])
        return result

    with anyio.fail_after(PATIENCE):
        async with serving(offering(add, request_middleware=[stamp])) as raw:
            await raw.open(MODERN, ABLE)
            reply = await in_rounds(raw)

    assert text(reply) == "3!"
    assert reply["result"]["resultType"] == "complete"


async def test_params_of_one_request_cannot_be_changed(caplog: pytest.LogCaptureFixture) -> None:
    async def change(incoming: Incoming, call_next: CallNext) -> Any:
        return await call_next(incoming.params)

    async with serving(offering(add, request_middleware=[change])) as raw:
        await raw.open(MODERN)
        assert (await raw.tool(1, "add"))["error"] == {"code": -32603, "message": "Internal error"}

    assert "change() cannot change params: it is asked for each request of a call" in caplog.text


async def test_middleware_of_requests_cannot_ask_and_leaves_nothing_parked() -> None:
    """The client would be asked again in every request, without end."""

    async def asks(incoming: Incoming, call_next: CallNext) -> Any:
        if incoming.method == "tools/call":
            await incoming.context.confirm("in every request?")
        return await call_next()

    server = offering(add, request_middleware=[asks])
    async with serving(server) as raw:
        await raw.open("2026-07-28", ABLE)
        error = (await raw.tool(1, "add"))["error"]
        assert error["code"] == -32601
        assert error["message"].startswith("request_middleware cannot ask the client: `middleware` can")
        assert len(server.parkings.here()) == 0


async def test_a_client_that_cancels_any_request_ends_the_call() -> None:
    inside, ended = anyio.Event(), anyio.Event()

    @tool
    async def wait(ctx: Context) -> None:
        await ask("a")
        inside.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    requests = Log()
    with anyio.fail_after(PATIENCE):
        async with serving(offering(wait, request_middleware=[requests])) as raw:
            await raw.open(MODERN, ABLE)
            first = await raw.tool(1, "wait")
            await raw.begin(2, "tools/call", name="wait", arguments={}, **answering(first, a=1))
            await inside.wait()
            await raw.notify("notifications/cancelled", requestId=2)
            await ended.wait()
            await raw.barrier()

    assert not any(message.get("id") == 2 for message in raw.heard)
    assert requests.said[:3] == ["1 in", "1 InputRequiredResult", "2 in"]


async def test_a_first_request_that_is_cancelled_ends_a_handler_that_has_not_asked() -> None:
    inside, ended = anyio.Event(), anyio.Event()

    @tool
    async def work() -> None:
        inside.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    with anyio.fail_after(PATIENCE):
        async with serving(offering(work, request_middleware=[Log()])) as raw:
            await raw.open(MODERN)
            await raw.begin(1, "tools/call", name="work", arguments={})
            await inside.wait()
            await raw.notify("notifications/cancelled", requestId=1)
            await ended.wait()
            await raw.barrier()

    assert not any(message.get("id") == 1 for message in raw.heard)


async def test_progress_of_a_handler_that_runs_apart_belongs_to_its_request() -> None:
    @tool
    async def work(ctx: Context) -> str:
        await ctx.report_progress(1)
        return ctx.request_id

    async with serving(offering(work, request_middleware=[Log()])) as raw:
        await raw.open(MODERN)
        reply = await raw.call(7, "tools/call", name="work", arguments={}, _meta={"progressToken": "t"})

    assert text(reply) == "7"
    assert [
        each["params"]["progressToken"] for each in raw.heard if each.get("method") == "notifications/progress"
    ] == ["t"]


async def test_a_failure_of_a_handler_that_runs_apart_is_told_as_ever(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    async def refuse() -> None:
        raise McpError(-32000, "no")

    async with serving(offering(refuse, request_middleware=[Log()])) as raw:
        await raw.open(MODERN)
        assert (await raw.tool(1, "refuse"))["error"] == {"code": -32000, "message": "no"}
        assert (await raw.tool(2, "nothing"))["error"] == {"code": -32602, "message": "Unknown tool: nothing"}


async def test_answers_that_come_with_the_first_request_are_known() -> None:
    @tool
    async def keyed() -> str:
        return str(await ask("a", key="mine"))

    given = {"inputResponses": {"mine": {"action": "accept", "content": {"n": 5}}}}
    for middleware in ({"middleware": [Log()]}, {"request_middleware": [Log()]}):
        async with serving(offering(keyed, **middleware)) as raw:
            await raw.open(MODERN, ABLE)
            assert text(await raw.call(1, "tools/call", name="keyed", arguments={}, **given)) == "5"


async def test_where_another_process_goes_on_middleware_runs_again_with_the_handler() -> None:
    logs = [(Log(), Log()), (Log(), Log())]
    servers = [offering(add, middleware=[a], request_middleware=[b], state_keys=KEYS) for a, b in logs]
    with anyio.fail_after(PATIENCE):
        async with serving(servers[0]) as one, serving(servers[1]) as other:
            await one.open(MODERN, ABLE)
            await other.open(MODERN, ABLE)
            first = await one.tool(1, "add")
            second = await other.call(2, "tools/call", name="add", arguments={}, **answering(first, a=1))
            last = await other.call(3, "tools/call", name="add", arguments={}, **answering(second, b=2))
            await wait_all_tasks_blocked()
            assert logs[0][0].said == ["1 in"]

    assert text(last) == "3"
    assert logs[1][0].said == ["2 in", "3 CallToolResult"]
    assert logs[1][1].said == ["2 in", "2 InputRequiredResult", "3 in", "3 CallToolResult"]


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
@pytest.mark.parametrize("turns", [*range(12), 15, 20, 30])
async def test_a_client_that_cancels_at_any_turn_leaves_nothing_behind(turns: int, revision: str) -> None:
    """Through both kinds of middleware, a session's lifespan and a question: whatever was entered is left."""
    entered: list[str] = []
    left: list[str] = []

    @asynccontextmanager
    async def live(session: Session) -> AsyncGenerator[None]:
        await checkpoint()
        entered.append("life")
        yield
        await checkpoint()
        left.append("life")

    async def passing(incoming: Incoming, call_next: CallNext) -> Any:
        await checkpoint()
        entered.append(incoming.method)
        try:
            return await call_next()
        finally:
            left.append(incoming.method)

    server = offering(add, middleware=[passing], request_middleware=[passing], session_lifespan=live)
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(revision, ABLE)
            await raw.begin(1, "tools/call", name="add", arguments={})
            for _ in range(turns):
                await checkpoint()
            await raw.notify("notifications/cancelled", requestId=1)
            assert "result" in await raw.call(2, "tools/list")
            await wait_all_tasks_blocked()

    assert sorted(entered) == sorted(left)
    assert len(server.parkings.here()) == 0
    assert server.active_sessions() == ()


class Piped:
    """A connection whose other side sends all it has to say, and ends; it still reads."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self._frames = [msgspec.json.encode({"jsonrpc": "2.0", **message}) for message in messages]
        self.sent: list[dict[str, Any]] = []
        self.may_end = anyio.Event()

    async def receive(self) -> list[bytes]:
        frames, self._frames = self._frames, []
        if not frames:
            await self.may_end.wait()
            raise anyio.EndOfStream
        return frames

    async def send(self, frames: Sequence[bytes]) -> None:
        self.sent += [msgspec.json.decode(frame) for frame in frames]

    async def aclose(self) -> None:
        return


async def test_a_request_that_is_the_last_thing_said_is_answered() -> None:
    """Also where its handler runs apart from it, until it asks."""

    @tool
    async def slow() -> str:
        piped.may_end.set()
        for _ in range(5):
            await checkpoint()
        return "done"

    params = {"name": "slow", "arguments": {}, "_meta": envelope()}
    piped = Piped({"id": 1, "method": "tools/call", "params": params})
    with anyio.fail_after(PATIENCE):
        await offering(slow, request_middleware=[Log()]).serve(piped)

    assert [text(message) for message in piped.sent] == ["done"]
