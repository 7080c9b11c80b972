"""What lives as long as the server: where it is found, its lifespan, and its end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from dedalus_mcp import MCPServer, get_context, tool
from dedalus_mcp.run import Hosted
from dedalus_mcp_transports.http_server import HttpApp
from dedalus_mcp_transports.http_settings import HttpSettings
from tests.interaction.server import Story, make
from tests.transports.asgi import Client, Exchange, initialize, refusal, serving

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
ALL = (*LEGACY, MODERN)

once = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For tables of what is refused before anything runs: one event loop is enough."""


# Headers of the request.


async def test_each_call_sees_the_headers_of_its_own_request() -> None:
    """B137."""
    server = MCPServer("headers")
    gate = anyio.Event()
    inside = anyio.Semaphore(0)

    @tool
    async def whose() -> str:
        inside.release()
        await gate.wait()
        return _seen()

    @tool
    def whose_sync() -> str:
        return _seen()

    server.collect(whose, whose_sync)
    async with serving(server) as web:
        for revision in ("2025-11-25", MODERN):
            client = await web.open(revision)
            calls: list[Exchange] = []
            for n, who in enumerate(["A", "B", "A"]):
                client.headers["authorization"] = who
                calls.append(client.tool(n, "whose"))
                await inside.acquire()
            gate.set()
            seen = [(await call.reply())["result"]["content"][0]["text"] for call in calls]

            session = client.headers.get("mcp-session-id")
            assert seen == [f"{who} {session}" for who in "ABA"]
            client.headers["authorization"] = "C"
            assert await client.use(9, "whose_sync") == f"C {session}"


def _seen() -> str:
    context = get_context()
    return f"{context.headers['authorization']} {context.session_id}"


# Its place, its life, and its end.


@once
@pytest.mark.parametrize(
    ("root", "path", "status"),
    [
        ("", "/mcp", 200),
        ("", "/mcp/", 200),
        ("", "/", 404),
        ("", "/mcp/x", 404),
        ("", "/other", 404),
        ("/x", "/x/mcp", 200),
        ("/x", "/x", 200),
        ("/x", "/x/", 200),
        ("/x", "/mcp", 200),
        ("/x", "/x/y", 404),
    ],
)
async def test_it_is_found_at_its_path_and_where_it_is_mounted(root: str, path: str, status: int) -> None:
    """B070."""
    async with serving(make()) as web:
        client = web.client()
        exchange = Exchange("POST", path, client.headers, [initialize()])
        exchange.scope["root_path"] = root
        await exchange.run(web.app)

    assert exchange.status == status


@once
@pytest.mark.parametrize("path", ["/", "/a/b", "/mcp/"])
async def test_its_path_can_be_any(path: str) -> None:
    async with serving(make(), path=path) as web:
        assert (await web.client().send("POST", initialize(), path=path).ended()).status == 200
        assert (await web.client().send("POST", initialize(), path="/not/there").ended()).status == 404


def _counting(counted: list[str], *failures: BaseException) -> MCPServer:
    faults = list(failures)

    @asynccontextmanager
    async def lifespan(server: MCPServer) -> AsyncGenerator[str]:
        if faults:
            raise faults.pop(0)
        counted.append("begin")
        yield "up"
        counted.append("end")

    server = MCPServer("life", lifespan=lifespan)

    @tool
    async def alive() -> str:
        return str(server.lifespan_value)

    server.collect(alive)
    return server


@pytest.mark.parametrize(
    "settings", [{}, {"stateless": True, "state_keys": [b"k" * 32]}], ids=["sessions", "stateless"]
)
async def test_the_lifespan_is_entered_once_before_the_first_request_and_left_at_the_end(
    settings: dict[str, Any],
) -> None:
    """B071: however many sessions there are, and though there are none."""
    counted: list[str] = []
    async with serving(_counting(counted), **settings) as web:
        assert counted == []
        for revision in ALL:
            client = await web.open(revision)
            for id in range(3):
                assert await client.use(id, "alive") == "up"
        assert counted == ["begin"]

    assert counted == ["begin", "end"]


async def test_a_lifespan_that_fails_is_told_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    counted: list[str] = []
    async with serving(_counting(counted, ValueError("no database at secret"))) as web:
        failed = await web.client().initialize("2025-11-25")

        assert refusal(failed) == (500, -32603, None)
        assert b"secret" not in failed.body
        assert len(caplog.records) == 1
        assert "secret" in caplog.text
        assert await (await web.open("2025-11-25")).use(1, "alive") == "up"


async def test_a_lifespan_that_breaks_in_use_is_begun_anew_by_the_next_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lives: list[anyio.Event] = []

    async def fail_at(signal: anyio.Event) -> None:
        await signal.wait()
        raise KeyError("lost the database")

    @asynccontextmanager
    async def lifespan(server: MCPServer) -> AsyncGenerator[int]:
        lives.append(anyio.Event())
        async with anyio.create_task_group() as group:
            group.start_soon(fail_at, lives[-1])
            yield len(lives)
            group.cancel_scope.cancel()

    server = MCPServer("breaks", lifespan=lifespan)

    @tool
    async def alive() -> str:
        return str(get_context().lifespan)

    server.collect(alive)
    async with serving(server) as web:
        client = await web.open("2025-11-25")
        assert await client.use(1, "alive") == "1"
        lives[0].set()
        with anyio.fail_after(20):
            while await client.use(2, "alive") != "2":
                await checkpoint()

        assert len(lives) == 2
        assert "lost the database" in caplog.text
    assert len(caplog.records) == 1


async def test_a_lifespan_that_says_it_is_closed_lets_no_request_through() -> None:
    async with serving(_counting([], GeneratorExit())) as web:
        assert refusal(await web.client().initialize("2025-11-25")) == (500, -32603, None)


@pytest.mark.parametrize("error", [SystemExit(3), BaseExceptionGroup("several", [SystemExit(3)])], ids=repr)
async def test_nobody_is_served_where_the_lifespan_would_end_the_program(error: BaseException) -> None:
    """B071, B076: that is the web server's business, in whose request it comes out; the next one tries again."""
    counted: list[str] = []
    async with serving(_counting(counted, error)) as web:
        request = Exchange("POST", "/mcp", web.client().headers, [initialize()])
        with pytest.raises(type(error)):
            await request.run(web.app)

        assert request.status is None
        assert await (await web.open("2025-11-25")).use(1, "alive") == "up"


async def test_a_lifespan_that_never_begins_does_not_keep_the_server_from_ending() -> None:
    """Who waited for it is told, and what comes afterwards begins anew."""
    ended: list[str] = []

    @asynccontextmanager
    async def lifespan(server: MCPServer) -> AsyncGenerator[None]:
        try:
            await anyio.sleep_forever()
            yield
        finally:
            ended.append("end")

    async with serving(MCPServer("slow", lifespan=lifespan)) as web:
        for n in (1, 2):
            waits = [web.client().send("POST", initialize()), web.client().send("GET")]
            await anyio.wait_all_tasks_blocked()
            await web.app.aclose()

            assert [(await each.ended()).status for each in waits] == [503, 503]
            assert ended == ["end"] * n


async def test_a_server_of_asgi_that_offers_a_lifespan_ends_what_is_served_with_it() -> None:
    counted: list[str] = []
    app = HttpApp(Hosted(_counting(counted)))
    sent: list[str] = []
    begun, stop = anyio.Event(), anyio.Event()

    async def receive() -> dict[str, Any]:
        if not sent:
            return {"type": "lifespan.startup"}
        begun.set()
        await stop.wait()
        return {"type": "lifespan.shutdown"}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    async with anyio.create_task_group() as group:
        group.start_soon(app, {"type": "lifespan"}, receive, send)
        await begun.wait()
        client = Client(app, group, "/mcp")
        await client.open("2025-11-25")
        stop.set()

    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert counted == ["begin", "end"]


async def test_a_server_of_asgi_that_offers_a_lifespan_hears_that_what_is_served_cannot_be_set_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    counted: list[str] = []
    app = HttpApp(Hosted(_counting(counted, ValueError("no database"))))
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "lifespan.startup"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "lifespan"}, receive, send)

    assert sent == [{"type": "lifespan.startup.failed", "message": "ValueError: no database"}]
    assert "setting up what is served failed" in caplog.text

    await app.begin()  # it is there a moment later
    assert counted == ["begin"]
    await app.aclose()


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_a_running_call_is_finished_while_the_server_drains_and_new_ones_are_refused(revision: str) -> None:
    story = Story()
    async with serving(make(story=story)) as web:
        client, other = await web.open(revision), await web.open("2025-11-25")
        call, stream = client.tool(1, "hold", key="a"), await other.get()
        late = web.client().send("POST", b"{", whole=False)
        await story.until("a began")
        async with anyio.create_task_group() as group:
            group.start_soon(web.app.aclose, 5.0)
            await stream.ended()
            late.finish(b"}")
            refused = await web.client().initialize("2025-11-25")
            assert (refused.status, refused.headers["connection"]) == (503, "close")
            story.tell("release a")

        assert (await call.reply())["result"]["content"][0]["text"] == "a"
        assert (await late.ended()).status == 503


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
@pytest.mark.parametrize("key", ["a", "stubborn"])
async def test_a_call_that_goes_on_for_too_long_is_ended(revision: str, key: str) -> None:
    story = Story()
    async with serving(make(story=story)) as web:
        call = (await web.open(revision)).tool(1, "hold", key=key)
        await story.until(f"{key} began")
        await web.app.aclose(drain=0.01)

        assert f"{key} cancelled" in story.told
        assert (await call.ended()).status == 503


async def test_a_reader_that_reads_nothing_does_not_keep_the_server_from_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dedalus_mcp_transports.http_service.CLOSING_SECONDS", 0.05)
    story = Story()
    async with serving(make(story=story), always_stream=True, keep_alive_seconds=0.01) as web:
        client = await web.open("2025-11-25")
        stalled, stream = client.tool(1, "hold", key="a"), await client.get()
        await stalled.started()
        stalled.stall()
        stream.stall()
        await web.app.aclose()

        assert "a cancelled" in story.told
        assert (await web.client().initialize("2025-11-25")).status == 200


def test_json_only_and_always_stream_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        HttpApp(Hosted(make()), HttpSettings(json_only=True, always_stream=True))


def test_one_application_serves_under_one_event_loop_after_the_other() -> None:
    app = HttpApp(Hosted(make()))

    async def use(anything: Callable[[], None] | None = None) -> None:
        async with anyio.create_task_group() as group:
            client = Client(app, group, "/mcp")
            await client.open("2025-11-25")
            assert await client.use(1, "echo", text="x") == "x"
            await app.aclose()

    anyio.run(use)
    anyio.run(use, backend="trio")
    anyio.run(use)


async def test_a_host_that_mounts_it_sets_up_and_ends_what_is_served_by_its_lifespan() -> None:
    counted: list[str] = []
    app = HttpApp(Hosted(_counting(counted)))

    async with anyio.create_task_group() as group:
        async with app.lifespan("the host"):
            assert counted == ["begin"]
            client = Client(app, group, "/mcp")
            await client.open("2025-11-25")
            stream = await client.get()
            assert not stream.over

        assert counted == ["begin", "end"]
        assert (await stream.ended()).is_stream


async def test_what_the_lifespan_of_a_host_leaves_is_set_up_anew_by_a_later_request() -> None:
    counted: list[str] = []
    app = HttpApp(Hosted(_counting(counted)))

    async with app.lifespan():
        pass
    async with anyio.create_task_group() as group:
        await Client(app, group, "/mcp").open("2025-11-25")
        await app.aclose()

    assert counted == ["begin", "end"] * 2


async def test_a_host_does_not_start_where_what_is_served_cannot_be_set_up() -> None:
    app = HttpApp(Hosted(_counting([], ValueError("no database"))))

    with pytest.raises(ValueError, match="no database"):
        async with app.lifespan():
            pytest.fail("it was entered")
