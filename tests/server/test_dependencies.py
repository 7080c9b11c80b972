"""`Depends`: made for one call, taken down after it, and never the client's to set."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import anyio
import pytest

from dedalus_mcp import (
    Context,
    Depends,
    MCPClient,
    McpError,
    MCPServer,
    ToolError,
    completion,
    get_context,
    prompt,
    resource,
    resource_template,
    tool,
)
from dedalus_mcp.server import dependencies
from dedalus_mcp.types import CallToolResult, CompletionArgument, ElicitResult, PromptReference, TextContent
from dedalus_mcp.types.revisions import REVISIONS
from tests.interaction.raw import serving
from tests.interaction.reach import PATIENCE

every = pytest.mark.parametrize("revision", REVISIONS)


def offering(*functions: Callable[..., Any], **settings: Any) -> MCPServer:
    server = MCPServer("test", **settings)
    server.collect(*functions)
    return server


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def called(fn: Callable[..., Any], **arguments: Any) -> CallToolResult:
    return await offering(tool("it")(fn)).invoke_tool("it", **arguments)


# What can be depended on.


def plain() -> str:
    return "made"


async def asynchronous() -> str:
    await anyio.lowlevel.checkpoint()
    return "made"


def generator() -> Iterator[str]:
    yield "made"


async def async_generator() -> AsyncIterator[str]:
    await anyio.lowlevel.checkpoint()
    yield "made"


def returning_a_coroutine() -> Any:
    return asynchronous()


def given(value: str, *, more: str = "") -> str:
    return value + more


class Made:
    def __init__(self, value: str = "made") -> None:
        self.value = value

    def __str__(self) -> str:
        return self.value

    def method(self) -> str:
        return self.value

    @classmethod
    def of_class(cls) -> str:
        return cls().value

    @staticmethod
    def of_nobody() -> str:
        return "made"

    async def later(self) -> AsyncGenerator[str]:
        yield self.value


class Callables:
    async def __call__(self) -> str:
        return "made"


class Generators:
    def __call__(self) -> Generator[str]:
        yield "made"


@dataclass
class Unhashable:
    value: str

    def __call__(self) -> str:
        return self.value


@pytest.mark.parametrize(
    "function",
    [
        plain,
        asynchronous,
        generator,
        async_generator,
        returning_a_coroutine,
        lambda: "made",
        functools.partial(given, "ma", more="de"),
        functools.partial(Made().later),
        Made,
        Made().method,
        Made.of_class,
        Made.of_nobody,
        Made().later,
        Callables(),
        Generators(),
        Unhashable("made"),
    ],
    ids=lambda function: getattr(function, "__name__", type(function).__name__),
)
async def test_any_callable_can_be_depended_on(function: Callable[..., Any]) -> None:
    """B148."""

    async def by_default(dep: str = Depends(function)) -> str:
        return str(dep)

    async def annotated(dep: Annotated[str, Depends(function)]) -> str:
        return str(dep)

    def sync(*, dep: Annotated[str, "text", Depends(function)]) -> str:
        return str(dep)

    for fn in (by_default, annotated, sync):
        assert text(await called(fn)) == "made"


async def one(x: int = 1) -> int:
    return x


async def two(first: int = Depends(one)) -> int:
    return first + 1


@pytest.mark.parametrize("x", [2, None, "2", {"use_cache": False}], ids=repr)
async def test_no_client_sees_or_sets_what_is_depended_on(x: Any) -> None:
    async def add(a: int, dep: int = Depends(two)) -> int:
        return a + dep

    server = offering(tool(add))
    (definition,) = server.tools.definitions
    refused = await server.invoke_tool("add", a=1, dep=x)

    assert definition.inputSchema == {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert refused.isError
    assert "no such argument; legal: a" in text(refused)
    assert text(await server.invoke_tool("add", a=1)) == "3"


async def test_nothing_is_made_for_arguments_that_are_refused() -> None:
    made: list[int] = []

    async def add(a: int, dep: None = Depends(lambda: made.append(1))) -> int:
        return a

    assert (await called(add, a="x")).isError
    assert made == []


async def test_subdependencies_are_passed_by_position() -> None:
    def join(a: int, /, b: int, *, c: str = "c", ctx: Context | None = None) -> str:
        return f"{a}{b}{c}{ctx}"

    async def show(dep: str = Depends(join, one, Depends(two))) -> str:
        return dep

    assert text(await called(show)) == "12cNone"


async def test_one_value_serves_a_whole_call_and_no_other() -> None:
    made: list[int] = []

    async def fresh() -> int:
        made.append(len(made))
        return made[-1]

    def through(value: int = Depends(fresh)) -> int:
        return value

    async def show(a: int = Depends(fresh), b: int = Depends(through), c: int = Depends(fresh)) -> list[int]:
        return [a, b, c]

    server = offering(tool(show))

    for number in range(3):
        result = await server.invoke_tool("show")
        assert result.structuredContent == {"result": [number] * 3}


async def test_without_the_cache_each_parameter_has_its_own() -> None:
    made: list[int] = []

    async def fresh() -> int:
        made.append(len(made))
        return made[-1]

    def through(value: int = Depends(fresh, use_cache=False)) -> int:
        return value

    async def show(
        a: int = Depends(fresh),
        b: int = Depends(fresh, use_cache=False),
        c: int = Depends(fresh),
        d: int = Depends(through),
        e: int = Depends(through),
    ) -> list[int]:
        return [a, b, c, d, e]

    assert (await called(show)).structuredContent == {"result": [0, 1, 0, 2, 2]}
    assert len(made) == 3


# What is refused at registration.


def there(back: int = 0) -> int:
    return back


def back(there: int = Depends(there)) -> int:
    return there


def itself(x: int = 0) -> int:
    return x


there.__defaults__ = (Depends(back),)  # as names in `Annotated` do, which are looked up when it is registered
itself.__defaults__ = (Depends(functools.partial(one), itself),)


@pytest.mark.parametrize(
    ("function", "circle"),
    [(there, "there -> back -> there"), (itself, "itself -> one -> itself")],
    ids=["two", "itself"],
)
def test_a_circle_is_refused_at_registration(function: Callable[..., Any], circle: str) -> None:
    async def show(x: int = Depends(function)) -> int:
        return x

    server = MCPServer("test")
    with pytest.raises(TypeError, match=f"in a circle: {circle}"):
        server.collect(tool(show))
    assert server.tool_names == []


def needy(value: int) -> int:
    return value


def by_position(value: int = Depends(one), /) -> int:
    return value


def context_by_position(ctx: Context, /) -> Context:
    return ctx


def anything(**kwargs: int) -> None: ...


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        (Depends(needy), r"needy\(\): nobody gives 'value'; a dependency takes by name"),
        (Depends(by_position), r"nobody gives 'value'"),
        (Depends(context_by_position), r"nobody gives 'ctx'"),
        (Depends(one, one, two), r"one\(\) takes 1 arguments; it is to depend on 2"),
        (Depends(anything), r"anything\(\): parameter '\*\*kwargs:"),
    ],
    ids=["nobody", "position", "context", "too many", "kwargs"],
)
@pytest.mark.parametrize("kind", ["tool", "prompt", "resource", "completion"])
def test_what_cannot_be_made_is_refused_at_registration(mark: Any, why: str, kind: str) -> None:
    async def handler(argument: CompletionArgument, dep: Any = mark) -> None: ...
    async def reads(dep: Any = mark) -> None: ...

    decorated: dict[str, Callable[..., Any]] = {
        "tool": tool(reads),
        "prompt": prompt(reads),
        "resource": resource("a://b")(reads),
        "completion": completion(prompt="p")(handler),
    }
    with pytest.raises(TypeError, match=why):
        MCPServer("test").collect(decorated[kind])


@pytest.mark.parametrize("wrong", [None, 1, "x", object()], ids=["None", "1", "x", "object"])
def test_only_callables_can_be_depended_on(wrong: Any) -> None:
    for marks in ((wrong,), (plain, wrong)):
        with pytest.raises(TypeError, match=r"Depends\(\) arguments must be callable"):
            Depends(*marks)


# All kinds of handlers.


async def who(ctx: Context) -> AsyncGenerator[str]:
    yield ctx.request_id
    LEFT.append(ctx.request_id)


LEFT: list[str] = []


@tool("t")
async def a_tool(a: str, id: str = Depends(who)) -> str:
    return f"{a} {id}"


@tool("s")
def a_sync_tool(a: str, id: Annotated[str, Depends(who)]) -> str:
    return f"{a} {id}"


@prompt("p")
def a_prompt(a: str, id: str = Depends(who)) -> list[tuple[str, str]]:
    return [("user", f"{a} {id}")]


@prompt("m")
async def a_mapping(arguments: dict[str, str], id: str = Depends(who)) -> list[tuple[str, str]]:
    return [("user", f"{arguments['a']} {id}")]


@resource("a://r")
def a_resource(id: str = Depends(who)) -> str:
    return f"x {id}"


@resource_template("a://t/{a}")
async def a_template(a: str, id: str = Depends(who)) -> str:
    return f"{a} {id}"


@completion(prompt="p")
def a_completion(argument: CompletionArgument, id: str = Depends(who)) -> list[str]:
    return [f"{argument.value} {id}"]


@every
async def test_every_kind_of_handler_can_depend(revision: str) -> None:
    LEFT.clear()
    server = offering(a_tool, a_sync_tool, a_prompt, a_mapping, a_resource, a_template, a_completion)
    ref = {"type": "ref/prompt", "name": "p"}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", {"name": "t", "arguments": {"a": "x"}}),
        ("tools/call", {"name": "s", "arguments": {"a": "x"}}),
        ("prompts/get", {"name": "p", "arguments": {"a": "x"}}),
        ("prompts/get", {"name": "m", "arguments": {"a": "x"}}),
        ("resources/read", {"uri": "a://r"}),
        ("resources/read", {"uri": "a://t/x"}),
        ("completion/complete", {"ref": ref, "argument": {"name": "a", "value": "x"}}),
    ]
    with anyio.fail_after(PATIENCE):
        async with serving(server) as raw:
            await raw.open(revision)
            for number, (method, params) in enumerate(calls):
                reply = await raw.call(f"id{number}", method, params)
                assert f"x id{number}" in str(reply["result"])
                assert len(LEFT) == number + 1


async def test_no_prompt_publishes_what_it_depends_on() -> None:
    server = offering(a_prompt, a_mapping)
    typed, mapping = server.prompts.definitions

    assert [each.name for each in typed.arguments or ()] == ["a"]
    assert mapping.arguments is None
    with pytest.raises(McpError, match="no such argument; legal: a"):
        await server.invoke_prompt("p", arguments={"a": "x", "id": "mine"})


async def test_in_process_only_what_needs_a_context_is_missing() -> None:
    server = offering(a_tool, tool("plain")(two))

    with pytest.raises(LookupError, match="No active context"):
        await server.invoke_tool("t", a="x")
    assert text(await server.invoke_tool("plain")) == "2"


async def test_completers_depend_in_process_too() -> None:
    @completion(prompt="p")
    def complete(argument: CompletionArgument, dep: int = Depends(two)) -> list[str]:
        return [f"{argument.value}{dep}"]

    server = offering(a_prompt, complete)
    found = await server.invoke_completion(PromptReference(name="p"), CompletionArgument(name="a", value="x"))
    assert found.values == ["x2"]


# Taking down.


def log_of(events: list[str], name: str, *, sync: bool) -> Callable[..., Any]:
    def plain() -> Generator[str]:
        events.append(f"+{name}")
        try:
            yield name
        except BaseException as error:
            events.append(f"{name}:{type(error).__name__}")
            raise
        finally:
            events.append(f"-{name}")

    async def asynchronous() -> AsyncIterator[str]:
        with contextlib.contextmanager(plain)() as value:
            yield value

    return plain if sync else asynchronous


async def test_what_was_made_last_is_taken_down_first_and_before_the_result_is_looked_at() -> None:
    events: list[str] = []

    class Result:
        def __str__(self) -> str:
            events.append("shown")
            return "result"

    async def show(
        a: str = Depends(log_of(events, "a", sync=False)), b: str = Depends(log_of(events, "b", sync=True))
    ) -> Any:
        events.append("runs")
        return Result()

    assert text(await called(show)) == "result"
    assert events == ["+a", "+b", "runs", "-b", "-a", "shown"]


async def test_messages_that_a_renderer_yields_are_read_while_what_it_depends_on_is_there() -> None:
    events: list[str] = []
    dep = log_of(events, "a", sync=False)

    @prompt
    async def later(dep: str = Depends(dep)) -> AsyncIterator[tuple[str, str]]:
        events.append("reads")
        yield ("user", dep)

    @prompt
    def plain(dep: str = Depends(dep)) -> Iterator[tuple[str, str]]:
        events.append("reads")
        yield ("user", dep)

    server = offering(later, plain)
    for name in server.prompt_names:
        (message,) = (await server.invoke_prompt(name)).messages
        assert message.content == TextContent(text="a")
    assert events == ["+a", "reads", "-a"] * 2


async def test_what_a_resource_gives_piece_by_piece_is_read_while_what_it_depends_on_is_there() -> None:
    events: list[str] = []
    dep = log_of(events, "a", sync=False)

    @resource("a://later")
    async def later(dep: str = Depends(dep)) -> AsyncIterator[str]:
        events.append("reads")
        yield dep

    @resource("a://plain")
    def plain(dep: str = Depends(dep)) -> Iterator[str]:
        events.append("reads")
        yield dep

    server = offering(later, plain)
    for uri in server.resource_uris:
        (contents,) = (await server.invoke_resource(uri)).contents
        assert getattr(contents, "text", None) == "a"
    assert events == ["+a", "reads", "-a"] * 2


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
async def test_what_a_handler_raises_passes_through_and_is_what_it_was(sync: bool) -> None:
    events: list[str] = []
    dep = log_of(events, "a", sync=sync)

    async def refuse(dep: str = Depends(dep)) -> None:
        raise ToolError("no", code="NO")

    async def end(dep: str = Depends(dep)) -> None:
        raise McpError(-32099, "end", {"a": 1})

    assert text(await called(refuse)) == "[NO] no"
    with pytest.raises(McpError) as raised:
        await called(end)
    assert (raised.value.code, raised.value.message, raised.value.data) == (-32099, "end", {"a": 1})
    assert events == ["+a", "a:ToolError", "-a", "+a", "a:McpError", "-a"]


async def test_a_dependency_that_fails_is_a_handler_that_fails_and_the_earlier_ones_are_taken_down() -> None:
    events: list[str] = []

    async def failing() -> None:
        raise ToolError("not today")

    async def show(a: str = Depends(log_of(events, "a", sync=True)), b: None = Depends(failing)) -> None:
        events.append("runs")

    result = await called(show)
    assert result.isError
    assert text(result) == "not today"
    assert events == ["+a", "a:ToolError", "-a"]


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
async def test_a_dependency_that_swallows_an_exception_makes_no_success_of_it(sync: bool) -> None:
    def plain() -> Iterator[int]:
        with contextlib.suppress(Exception):
            yield 1

    async def asynchronous() -> AsyncIterator[int]:
        with contextlib.suppress(Exception):
            yield 1

    async def refuse(dep: int = Depends(plain if sync else asynchronous)) -> None:
        raise ToolError("no")

    assert text(await called(refuse)) == "no"


async def test_a_dependency_may_say_better_what_went_wrong() -> None:
    async def translating() -> AsyncIterator[None]:
        try:
            yield
        except KeyError as error:
            raise ToolError(f"there is no {error}") from error

    async def look(dep: None = Depends(translating)) -> None:
        raise KeyError("it")

    assert text(await called(look)) == "there is no 'it'"


async def test_a_failing_end_is_a_failure_of_the_call() -> None:
    async def ending_badly() -> AsyncIterator[None]:
        yield
        raise ToolError("cannot commit")

    async def commit(dep: None = Depends(ending_badly)) -> str:
        return "committed"

    assert text(await called(commit)) == "cannot commit"


async def empty() -> AsyncIterator[None]:
    for _ in ():
        yield


async def test_a_generator_that_yields_nothing_is_a_failure_without_internals() -> None:
    async def show(dep: None = Depends(empty)) -> str:
        return "fine"

    async with MCPClient.connect(offering(tool(show))) as client:
        assert text(await client.call_tool("show")) == "Tool 'show' failed with an internal error"


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
async def test_a_cancelled_call_takes_down_what_it_depended_on_awaits_and_all(sync: bool) -> None:
    events: list[str] = []
    began, ended = anyio.Event(), anyio.Event()

    async def outer() -> AsyncIterator[None]:
        try:
            yield
        finally:
            await anyio.lowlevel.checkpoint()  # would be cancelled, if it were not shielded
            events.append("outer is down")
            ended.set()

    async def wait(out: None = Depends(outer), dep: str = Depends(log_of(events, "a", sync=sync))) -> None:
        began.set()
        await anyio.sleep_forever()

    with anyio.fail_after(PATIENCE):
        async with serving(offering(tool(wait))) as raw:
            await raw.open("2025-11-25")
            await raw.begin(1, "tools/call", name="wait")
            await began.wait()
            await raw.notify("notifications/cancelled", requestId=1)
            await ended.wait()
    assert events[-2:] == ["-a", "outer is down"]


async def test_a_call_that_is_cancelled_while_things_are_made_takes_down_those_that_are() -> None:
    events: list[str] = []
    began = anyio.Event()

    async def endless() -> None:
        began.set()
        await anyio.sleep_forever()

    async def show(a: str = Depends(log_of(events, "a", sync=True)), b: None = Depends(endless)) -> None: ...

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(functools.partial(called, show))
            await began.wait()
            group.cancel_scope.cancel()
    assert (events[0], events[-1]) == ("+a", "-a")


async def test_what_a_thread_opens_for_a_cancelled_call_is_closed() -> None:
    events: list[str] = []
    opening, go_on = threading.Event(), threading.Event()

    def slow() -> Iterator[None]:
        opening.set()
        go_on.wait(PATIENCE)
        events.append("open")
        yield
        events.append("unreachable: it is closed by an exception")

    def closing() -> Iterator[None]:
        try:
            yield from slow()
        finally:
            events.append("closed")

    async def show(dep: None = Depends(closing)) -> None:
        events.append("unreachable: it is cancelled")

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(functools.partial(called, show))
            await anyio.to_thread.run_sync(opening.wait, PATIENCE)
            group.cancel_scope.cancel()
            go_on.set()
    assert events == ["open", "closed"]


async def test_an_end_that_takes_for_ever_is_ended_and_the_result_is_kept(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(dependencies, "CLEANUP_SECONDS", 0)

    async def endless() -> AsyncIterator[None]:
        yield
        await anyio.sleep_forever()

    async def show(dep: None = Depends(endless)) -> str:
        return "fine"

    with anyio.fail_after(PATIENCE):
        assert text(await called(show)) == "fine"
    assert "was not taken down in 0 s" in caplog.text


async def test_a_dependency_may_hold_tasks_and_scopes_open() -> None:
    async def group() -> AsyncIterator[Any]:
        async with anyio.create_task_group() as tasks:
            yield tasks
            tasks.cancel_scope.cancel()

    async def start(a: Annotated[Any, Depends(group)], b: Annotated[Any, Depends(group, use_cache=False)]) -> str:
        a.start_soon(anyio.sleep_forever)
        b.start_soon(anyio.sleep_forever)
        return "started"

    with anyio.fail_after(PATIENCE):
        assert text(await called(start)) == "started"


# Asking.


@pytest.mark.parametrize("revision", [each for each in REVISIONS if each >= "2025-06-18"])
async def test_what_a_call_depends_on_is_suspended_with_it_and_made_once(revision: str) -> None:
    """A dependency may ask, too."""
    events: list[str] = []

    async def trusted(ctx: Context) -> bool:
        return await ctx.confirm("Trusted?")

    async def deploy(where: str, a: str = Depends(log_of(events, "a", sync=False)), ok: bool = Depends(trusted)) -> str:
        events.append(f"sure={await get_context().confirm('Sure?')}")
        return f"{where} {ok}"

    questions: list[str] = []

    async def answer(params: Any) -> ElicitResult:
        questions.append(params.message)
        events.append("asked")
        (name,) = params.requestedSchema["properties"]
        return ElicitResult(action="accept", content={name: True})

    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(offering(tool(deploy)), revision=revision, elicitation=answer) as client:
            assert text(await client.call_tool("deploy", {"where": "eu"})) == "eu True"
    assert questions == ["Trusted?", "Sure?"]
    assert events == ["+a", "asked", "asked", "sure=True", "-a"]
