"""`SyncMCPClient`: the same client for programs without an event loop; nothing here is a coroutine."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal

from dedalus_mcp import ConnectionLost, Context, MCPClient, RequestTimeout, SyncMCPClient, tool
from dedalus_mcp.errors import McpError
from dedalus_mcp.types import PaginatedRequestParams
from dedalus_mcp.types.methods import TOOLS_LIST
from tests.client.serving import echo, offering, wait
from tests.interaction.reach import ENV
from tests.sources import ROOT

REVISIONS = pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
PATIENCE = 20.0


@tool
async def count(ctx: Context, to: int) -> str:
    for step in range(1, to + 1):
        await ctx.report_progress(step, total=to)
    await ctx.info("counted")
    return str(await ctx.confirm("Enough?"))


def public(cls: type[Any]) -> dict[str, Any]:
    """What a class has for its users, itself and by inheritance."""
    return {name: inspect.getattr_static(cls, name) for name in dir(cls) if not name.startswith("_")}


def unwaited(signature: inspect.Signature) -> inspect.Signature:
    """A signature without its first parameter's annotation, which says whose method it is."""
    first, *rest = signature.parameters.values()
    return signature.replace(parameters=[first.replace(annotation=inspect.Parameter.empty), *rest])


def test_both_clients_have_the_same_methods_with_the_same_signatures() -> None:
    """And none of the synchronous one is a coroutine."""
    asynchronous, synchronous = public(MCPClient), public(SyncMCPClient)

    assert synchronous.keys() - asynchronous.keys() == {"run"}
    assert asynchronous.keys() - synchronous.keys() == set()
    for name, method in asynchronous.items():
        if isinstance(method, property):
            assert isinstance(synchronous[name], property), name
        elif inspect.iscoroutinefunction(method):
            assert not inspect.iscoroutinefunction(synchronous[name]), name
            assert unwaited(inspect.signature(synchronous[name])) == unwaited(inspect.signature(method)), name
            assert synchronous[name].__doc__ or name == "close"
    left = {name for name, method in asynchronous.items() if not inspect.iscoroutinefunction(method)}
    assert left - {name for name, method in asynchronous.items() if isinstance(method, property)} == {
        "connect",
        "start",
    }


@REVISIONS
def test_a_whole_conversation_needs_no_await(revision: str) -> None:
    """Handlers are plain functions; they run in threads, so they may use the client themselves."""
    progressed: list[float] = []
    logged = threading.Event()
    connected: list[SyncMCPClient] = []

    def log(message: Any) -> None:
        assert connected[0].call_tool("echo", {"a": 2}).structuredContent == {"a": 2}
        logged.set()

    def confirm(question: Any) -> dict[str, bool]:
        assert connected[0].call_tool("echo", {"a": 1}).structuredContent == {"a": 1}
        return {"confirm": True}

    server = offering(echo, count)
    with SyncMCPClient.connect(server, revision=revision, elicitation=confirm, logging=log) as client:
        connected.append(client)
        assert client.revision == revision
        assert client.ended is None
        assert client.instructions == "Do"
        assert client.server_info is not None
        assert client.server_capabilities.tools is not None
        client.ping()
        assert [found.name for found in client.list_tools().tools] == ["echo", "count"]
        assert client.call_tool("count", {"to": 3}, progress=lambda p: progressed.append(p.progress)).text == "True"
        assert logged.wait(PATIENCE)
        assert [found.name for found in client.request(TOOLS_LIST, PaginatedRequestParams()).tools] == ["echo", "count"]
        with pytest.raises(McpError, match="Unknown tool"):
            client.call_tool("nope")
    assert progressed == sorted(progressed)
    assert client.ended is not None


def test_what_connecting_fails_by_is_raised_and_nothing_is_left() -> None:
    before = set(threading.enumerate())

    with pytest.raises(ConnectionError):
        SyncMCPClient.connect("http://127.0.0.1:1/mcp")
    with pytest.raises(TypeError, match="a handler takes one argument"):
        SyncMCPClient.connect(offering(), logging=lambda: None)  # type: ignore[misc, arg-type]
    with pytest.raises(TypeError, match="cannot connect to int"):
        SyncMCPClient.connect(7)  # type: ignore[arg-type]

    assert set(threading.enumerate()) <= before


def test_timeouts_are_raised() -> None:
    with SyncMCPClient.connect(offering(wait, echo)) as client:
        with pytest.raises(RequestTimeout):
            client.call_tool("wait", timeout=0.01)
        assert client.call_tool("echo").structuredContent == {"a": None}


def test_several_threads_may_use_one_client() -> None:
    with SyncMCPClient.connect(offering(echo)) as client:

        def work(number: int) -> Any:
            return client.call_tool("echo", {"a": number}).structuredContent

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(100))) == [{"a": number} for number in range(100)]


def test_requests_are_begun_now_and_waited_for_or_cancelled_later() -> None:
    begun, cancelled = threading.Event(), threading.Event()

    @tool
    async def long() -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    with SyncMCPClient.connect(offering(echo, long)) as client:
        first = client.start(client.call_tool, "echo", {"a": 1})
        second = client.start(client.call_tool, "long")
        assert first.result(PATIENCE).structuredContent == {"a": 1}
        assert begun.wait(PATIENCE)
        assert second.cancel()
        assert cancelled.wait(PATIENCE)
        with pytest.raises(concurrent.futures.CancelledError):
            second.result(PATIENCE)
        with pytest.raises(TypeError, match=r"start takes a method of this client"):
            client.start(print)
    with pytest.raises(ConnectionLost):
        client.start(client.ping)


def test_asynchronous_work_is_done_with_the_client() -> None:
    async def both(client: MCPClient, first: int, *, second: int) -> list[Any]:
        found: list[Any] = []

        async def one(number: int) -> None:
            found.append((await client.call_tool("echo", {"a": number})).structuredContent["a"])

        async with anyio.create_task_group() as group:
            group.start_soon(one, first)
            group.start_soon(one, second)
        return sorted(found)

    with SyncMCPClient.connect(offering(echo)) as client:
        assert client.run(both, 1, second=2) == [1, 2]


def test_a_closed_client_says_so_and_closing_is_idempotent_from_any_thread() -> None:
    before = set(threading.enumerate())
    client = SyncMCPClient.connect(offering(echo))
    threads = [threading.Thread(target=client.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    client.close()

    for use in (client.ping, lambda: client.call_tool("echo"), client.__enter__):
        with pytest.raises(ConnectionLost, match="closed"):
            use()
    assert set(threading.enumerate()) <= before


def test_closing_ends_what_other_threads_wait_for() -> None:
    begun = threading.Event()
    ended: list[BaseException] = []

    @tool
    async def long() -> None:
        begun.set()
        await anyio.sleep_forever()

    client = SyncMCPClient.connect(offering(long))

    def call() -> None:
        try:
            client.call_tool("long")
        except ConnectionLost as error:
            ended.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert begun.wait(PATIENCE)
    client.close()
    thread.join(PATIENCE)

    assert len(ended) == 1


def test_a_handler_may_close_the_client() -> None:
    closed = threading.Event()
    connected: list[SyncMCPClient] = []

    def log(_: Any) -> None:
        connected[0].close()
        closed.set()

    @tool
    async def say(ctx: Context) -> None:
        await ctx.info("x")

    client = SyncMCPClient.connect(offering(say), logging=log)
    connected.append(client)
    with suppress(ConnectionLost):  # where it was closed before the reply arrived
        client.call_tool("say")
    assert closed.wait(PATIENCE)
    assert client.ended is not None


USES: list[Callable[[SyncMCPClient], object]] = [
    lambda client: client.ping(),
    lambda client: client.close(),
    lambda client: client.run(MCPClient.ping),
    lambda client: SyncMCPClient.connect(offering()),
]


@pytest.mark.parametrize("use", USES, ids=["call", "close", "run", "connect"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_thread_with_an_event_loop_is_refused_before_that_stands_still(
    backend: str, use: Callable[[SyncMCPClient], object]
) -> None:
    async def inside() -> None:
        with pytest.raises(RuntimeError, match="use MCPClient and `await`, or call from another thread"):
            use(client)

    with SyncMCPClient.connect(offering()) as client:
        anyio.run(inside, backend=backend)
        client.ping()  # nothing has happened to it


def test_an_asynchronous_handler_that_uses_the_client_is_told_what_to_do() -> None:
    """It runs in the loop, which would wait for itself."""
    told: list[str] = []
    connected: list[SyncMCPClient] = []

    async def confirm(question: Any) -> dict[str, bool]:
        with pytest.raises(RuntimeError, match="runs an event loop") as raised:
            connected[0].ping()
        told.append(str(raised.value))
        return {"confirm": True}

    with SyncMCPClient.connect(offering(count), elicitation=confirm) as client:
        connected.append(client)
        client.call_tool("count", {"to": 1})
    assert len(told) == 1


def test_another_threads_event_loop_is_nobodys_business() -> None:
    def in_thread() -> Any:
        with SyncMCPClient.connect(offering(echo)) as client:
            return client.call_tool("echo").structuredContent

    async def main() -> Any:
        return await asyncio.to_thread(in_thread)

    assert asyncio.run(main()) == {"a": None}


INTERRUPTED = """
import sys
from dedalus_mcp import MCPServer, SyncMCPClient, tool
import anyio

@tool
async def long() -> None:
    print("begun", flush=True)
    try:
        await anyio.sleep_forever()
    finally:
        print("cancelled", flush=True)

server = MCPServer("s")
server.collect(long)
try:
    with SyncMCPClient.connect(server) as client:
        try:
            client.call_tool("long")
        finally:
            client.ping()
            print("still there", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_cancels_the_call_and_ends_the_client() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ENV, cwd=ROOT, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "begun\n"
        program.send_signal(signal.SIGINT)
        said, _ = program.communicate(timeout=20)

    assert program.returncode == 0
    assert sorted(said.split("\n")) == sorted(["cancelled", "still there", "interrupted", ""])


FORGOTTEN = """
from dedalus_mcp import MCPServer, SyncMCPClient
client = SyncMCPClient.connect(MCPServer("s"))
client.ping()
print("done")
"""


def test_a_program_that_forgets_to_close_its_client_ends_all_the_same() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORGOTTEN], capture_output=True, env=ENV, cwd=ROOT, text=True, timeout=20, check=False
    )

    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


FORKED = """
import os
from dedalus_mcp import ConnectionLost, MCPServer, SyncMCPClient
with SyncMCPClient.connect(MCPServer("s")) as client:
    child = os.fork()
    if child == 0:
        try:
            client.ping()
        except ConnectionLost as error:
            client.close()
            print(error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    client.ping()
    print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no forks")
def test_a_fork_has_no_part_in_the_client_and_does_not_wait_for_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, env=ENV, cwd=ROOT, text=True, timeout=20, check=False
    )

    first, last, _ = done.stdout.split("\n")
    assert "a fork of that has no part in it" in first
    assert last == "done"


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_what_ends_the_loop_is_raised_and_the_client_can_be_closed(error: type[BaseException]) -> None:
    async def leave(client: MCPClient) -> None:
        raise error

    with SyncMCPClient.connect(offering(echo)) as client:
        with pytest.raises(error):
            client.run(leave)
        with pytest.raises(ConnectionLost):
            client.ping()


class Noted(concurrent.futures.Future[None]):
    """What nobody ever resolves; `taken` is set once somebody waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = threading.Event()

    def add_done_callback(self, fn: Callable[[Any], object]) -> None:
        super().add_done_callback(fn)
        self.taken.set()


def test_what_the_loop_was_given_last_and_never_looked_at_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else whoever waits for it would wait for ever: a loop that ends takes things until it has."""
    noted = Noted()

    def taken(portal: BlockingPortal, *work: Any) -> Noted:
        return noted

    async def leave(client: MCPClient) -> None:
        raise SystemExit

    with concurrent.futures.ThreadPoolExecutor(1) as pool, SyncMCPClient.connect(offering(echo)) as client:
        with monkeypatch.context() as patched:
            patched.setattr(BlockingPortal, "start_task_soon", taken)
            waiting = pool.submit(client.ping)
            assert noted.taken.wait(5)
        with pytest.raises(SystemExit):
            client.run(leave)
        with pytest.raises(ConnectionLost):
            waiting.result(10)
