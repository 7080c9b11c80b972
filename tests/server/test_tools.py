"""`Tools`: registered, listed, called; whatever a tool does wrong is told to the model."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Optional

import anyio
import msgspec
import pytest

from dedalus_mcp import Context, McpError, MCPServer, ServerConfig, ToolError, ToolErrorCode, tool
from dedalus_mcp.errors import AskFailed
from dedalus_mcp.server.context_parameters import is_context
from dedalus_mcp.types import CallToolResult, TextContent
from tests.ids import shown
from tests.interaction.raw import serving


def offering(*functions: Callable[..., Any], **settings: Any) -> MCPServer:
    server = MCPServer("test", **settings)
    server.collect(*functions)
    return server


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@tool
def add(a: int, b: int = 2) -> int:
    return a + b


async def test_a_tool_is_called_with_decoded_arguments() -> None:
    result = await offering(add).invoke_tool("add", a=1)

    assert text(result) == "3"
    assert result.structuredContent == {"result": 3}


@pytest.mark.parametrize("arguments", [None, {}, {"a": "x"}, {"a": 1, "c": 1}], ids=shown)
async def test_bad_arguments_are_told_to_the_model_and_the_tool_never_runs(arguments: Any) -> None:
    """TOOL-17."""
    ran: list[int] = []

    @tool
    def careful(a: int) -> None:
        ran.append(a)

    result = await offering(careful).tools.call("careful", arguments)

    assert result.isError
    assert text(result).startswith("Invalid arguments for tool 'careful': ")
    assert ran == []


@pytest.mark.parametrize("arguments", [b"[]", b'"a"', b"7", b"true"], ids=shown)
async def test_arguments_that_are_no_object_are_a_protocol_error(arguments: bytes) -> None:
    """TOOL-16."""
    with pytest.raises(McpError, match="`arguments` is an object") as raised:
        await offering(add).tools.call("add", msgspec.Raw(arguments))
    assert raised.value.code == -32602


@pytest.mark.parametrize("arguments", [None, msgspec.Raw(b"null"), msgspec.Raw(b"{}"), {}], ids=shown)
async def test_no_arguments_are_the_same_as_empty_ones(arguments: Any) -> None:
    @tool
    def none() -> str:
        return "fine"

    assert text(await offering(none).tools.call("none", arguments)) == "fine"


async def test_an_unknown_tool_is_a_protocol_error() -> None:
    """TOOL-16."""
    with pytest.raises(McpError, match=r"^Unknown tool: x{128}$") as raised:
        await offering(add).tools.call("x" * 10_000, None)
    assert raised.value.code == -32602


async def test_a_tool_of_the_same_name_replaces_the_earlier_one() -> None:
    server = offering(add)
    server.collect(tool("add")(lambda: "new"))

    assert server.tool_names == ["add"]
    assert len(server.tools) == 1
    assert text(await server.invoke_tool("add")) == "new"


def test_tools_are_listed_in_the_order_of_their_registration() -> None:
    """TOOL-03."""
    names = ["b", "a", "c"]
    server = offering(*(tool(name)(lambda: None) for name in names))

    assert [definition.name for definition in server.tools.definitions] == names
    assert server.tool_names == sorted(names)


async def test_an_argument_may_be_called_like_a_parameter_of_ours() -> None:
    @tool
    def echo(name: str, self: int, arguments: list[int]) -> str:
        return f"{name} {self} {arguments}"

    result = await offering(echo).invoke_tool("echo", name="n", self=1, arguments=[2])
    assert text(result) == "n 1 [2]"


class Boom(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ToolError("gone", "NOT_FOUND"), "[NOT_FOUND] gone"),
        (ToolError("gone", code=ToolErrorCode.NOT_FOUND), "[NOT_FOUND] gone"),
        (ToolError("gone"), "gone"),
        (AskFailed(-32603, "elicitation request timed out"), "elicitation request timed out"),
        (Boom("secret"), "Tool 'fail' failed with an internal error"),
        (TypeError("secret"), "Tool 'fail' failed with an internal error"),
        (StopIteration("secret"), "Tool 'fail' failed with an internal error"),
        (concurrent.futures.CancelledError("secret"), "Tool 'fail' failed with an internal error"),
        (ExceptionGroup("secret", [Boom(), Boom()]), "Tool 'fail' failed with an internal error"),
    ],
    ids=shown,
)
@pytest.mark.parametrize("threaded", [True, False])
async def test_what_a_tool_raises_is_told_to_the_model_without_internals(
    error: Exception, said: str, threaded: bool, caplog: pytest.LogCaptureFixture
) -> None:
    @tool(inline=not threaded)
    def fail() -> None:
        raise error

    result = await offering(fail).tools.call("fail", None)

    assert result.isError
    assert text(result) == said
    assert ("secret" in caplog.text) == ("secret" in repr(error))  # the log has it, once
    assert len(caplog.records) == ("internal" in said)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise self


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ToolError("gone", "NOT_FOUND"), "[NOT_FOUND] gone"),
        (Boom("secret"), "Tool 'fail' failed with Boom: secret"),
        (Boom(), "Tool 'fail' failed with Boom"),
        (Unspeakable(), "Tool 'fail' failed with Unspeakable"),
        (Boom("\udfff"), "Tool 'fail' failed with Boom: \ufffd"),
    ],
    ids=shown,
)
async def test_unmasked_errors_are_told_in_their_own_words(
    error: Exception, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    async def fail() -> None:
        raise error

    async with serving(offering(fail, config=ServerConfig(mask_errors=False))) as raw:
        await raw.open("2025-11-25")
        result = (await raw.tool(1, "fail"))["result"]

    assert result["isError"]
    assert result["content"] == [{"type": "text", "text": said}]
    assert len(caplog.records) == ("failed with" in said)


@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_protocol_error_of_the_authors_own_ends_the_request(wrapped: bool) -> None:
    error = McpError(-32001, "mine", {"a": 1})

    @tool
    async def fail() -> None:
        raise ExceptionGroup("g", [error]) if wrapped else error

    with pytest.raises(McpError) as raised:
        await offering(fail).invoke_tool("fail")
    assert raised.value is error


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError()], ids=shown)
@pytest.mark.parametrize("kind", ["thread", "inline", "async"])
async def test_whatever_a_tool_raises_its_call_is_answered(error: BaseException, kind: str) -> None:
    @tool("fail", inline=kind == "inline")
    def sync() -> None:
        raise error

    @tool("fail")
    async def later() -> None:
        raise error

    async with serving(offering(later if kind == "async" else sync)) as raw:
        await raw.open("2025-11-25")
        with anyio.fail_after(20):
            reply = await raw.tool(1, "fail")
        await raw.barrier()

    assert reply["error"] == {"code": -32603, "message": "Internal error"}


async def test_a_value_that_is_not_what_was_promised_is_told_to_the_model() -> None:
    """TOOL-09."""

    @tool
    def lie() -> int:
        wrong: Any = "one"
        return wrong  # type: ignore[no-any-return]

    result = await offering(lie).invoke_tool("lie")
    assert result.isError
    assert text(result).startswith("Tool 'lie' returned what it must not: result")


class NoText:
    def __str__(self) -> str:
        raise Boom("secret")


class NoItems(list[int]):
    def __iter__(self) -> Iterator[int]:
        raise Boom("secret")


class NoModel:
    def model_dump(self, **_: Any) -> Any:
        raise Boom("secret")


class NoAttributes:
    def __getattr__(self, name: str) -> Any:
        raise Boom("secret")


@pytest.mark.parametrize("kind", [NoText, NoItems, NoModel, NoAttributes])
async def test_a_value_that_fails_when_it_is_looked_at_is_told_without_internals(kind: type[Any]) -> None:
    @tool
    def odd() -> Any:
        return kind()

    result = await offering(odd).invoke_tool("odd")

    assert result.isError
    assert "secret" not in text(result)


async def test_a_tool_error_may_have_any_message() -> None:
    @tool
    def fail() -> None:
        raise ToolError(404)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    assert text(await offering(fail).invoke_tool("fail")) == "404"


async def test_a_plain_function_that_returns_an_awaitable_is_awaited_in_the_event_loop() -> None:
    loop = threading.get_ident()

    async def inner() -> str:
        return "loop" if threading.get_ident() == loop else "thread"

    def outer() -> Any:
        return inner()

    assert text(await offering(tool("t")(outer)).invoke_tool("t")) == "loop"


async def test_sync_tools_do_not_block_the_loop_and_are_bounded() -> None:
    begun, may_go = threading.Semaphore(0), threading.Event()

    @tool
    def block() -> str:
        begun.release()
        assert may_go.wait(10)
        return "done"

    async with serving(offering(block, config=ServerConfig(worker_threads=2))) as raw:
        await raw.open("2025-11-25")
        for id in range(5):
            await raw.begin(id, "tools/call", name="block")
        with anyio.fail_after(20):
            for _ in range(2):
                await anyio.to_thread.run_sync(begun.acquire)
            await raw.barrier()  # answered while two threads are blocked
            assert not begun.acquire(blocking=False)
            may_go.set()
            replies = [await raw.reply(id) for id in range(1)]

    assert replies[0]["result"]["structuredContent"] == {"result": "done"}


async def test_a_cancelled_sync_tool_frees_its_call_at_once_and_its_thread_later() -> None:
    begun, may_go = threading.Event(), threading.Event()

    @tool
    def block() -> None:
        begun.set()
        may_go.wait(10)

    server = offering(block)
    async with serving(server) as raw:
        await raw.open("2025-11-25")
        await raw.begin(1, "tools/call", name="block")
        await anyio.to_thread.run_sync(begun.wait)
        await raw.notify("notifications/cancelled", requestId=1)
        with anyio.fail_after(20):
            assert await raw.barrier() == []
            assert server.threads.busy == 1
            may_go.set()
            await server.threads.idle()


def by_name(ctx: Context, a: int) -> str:
    return f"{ctx.request_id} {a}"


def last(a: int, *, whatever: Context | None = None) -> str:
    assert whatever is not None
    return f"{whatever.request_id} {a}"


def annotated(a: int, ctx: Annotated[Context, "the context"]) -> str:
    return f"{ctx.request_id} {a}"


def old_style(ctx: Optional[Context], a: int) -> str:  # noqa: UP045 - people write it so
    assert ctx is not None
    return f"{ctx.request_id} {a}"


def positional(ctx: Context, a: int, /) -> str:
    return f"{ctx.request_id} {a}"


async def asynchronous(a: int, ctx: Context) -> str:
    return f"{ctx.request_id} {a}"


@pytest.mark.parametrize("fn", [by_name, last, annotated, old_style, positional, asynchronous])
async def test_the_context_is_injected_and_no_client_can_see_or_set_it(fn: Callable[..., Any]) -> None:
    server = offering(tool("t")(fn))
    (definition,) = server.tools.definitions
    assert set(definition.inputSchema["properties"]) == {"a"}

    async with serving(server) as raw:
        await raw.open("2025-11-25")
        good = await raw.tool("id", "t", a=1)
        bad = await raw.tool("id", "t", a=1, ctx={"request_id": "fake"})

    assert good["result"]["structuredContent"] == {"result": "id 1"}
    assert bad["result"]["isError"]


def test_only_a_context_or_one_that_may_be_missing_is_injected() -> None:
    class Mine(Context):
        pass

    injected: list[Any] = [Context, Mine, Context | None, Optional[Context], Annotated[Context | None, 1]]  # noqa: UP045
    others: list[Any] = [int, None, list[Context], dict[str, Context], type[Context], "Context", Any]

    assert all(is_context(annotation) for annotation in injected)
    assert not any(is_context(annotation) for annotation in others)


async def test_in_process_a_context_is_there_only_inside_a_call() -> None:
    seen: list[Any] = []

    @tool
    async def inner(ctx: Context | None) -> None:
        seen.append(ctx)

    server = offering(inner)

    @tool
    async def outer(ctx: Context) -> None:
        await server.invoke_tool("inner")
        seen.append(ctx)

    await server.invoke_tool("inner")
    server.collect(outer)
    async with serving(server) as raw:
        await raw.open("2025-11-25")
        await raw.tool(1, "outer")
    assert seen[0] is None
    assert seen[1] is seen[2] is not None


def test_what_no_schema_can_be_made_of_is_refused_at_registration() -> None:
    @tool
    def anything(*args: int) -> None: ...

    with pytest.raises(TypeError, match="args"):
        offering(anything)


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "dedalus_mcp")
