"""Resources that are given piece by piece are read as one: every kind of stream, to its end, within a bound."""

from __future__ import annotations

import io
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import anyio
import anyio.lowlevel
import pytest

from dedalus_mcp import Depends, McpError, MCPServer, ResourceNotFound, ServerConfig, get_context, resource
from dedalus_mcp.errors import RESOURCE_NOT_FOUND
from dedalus_mcp.types import BlobResourceContents, TextResourceContents
from tests.interaction.raw import serving

URI = "a://b"


def offering(function: Callable[..., Any], limit: int = 100) -> MCPServer:
    server = MCPServer("test", config=ServerConfig(max_resource_stream=limit))
    server.collect(resource(URI)(function))
    return server


async def read(function: Callable[..., Any], limit: int = 100) -> Any:
    (contents,) = (await offering(function, limit).invoke_resource(URI)).contents
    return contents


def text(text: str) -> TextResourceContents:
    return TextResourceContents(uri=URI, text=text, mimeType="text/plain")


def blob(blob: str) -> BlobResourceContents:
    return BlobResourceContents(uri=URI, blob=blob, mimeType="application/octet-stream")


def plain() -> Iterator[str]:
    yield "a"
    yield "é"


async def later() -> AsyncIterator[str]:
    yield "a"
    await anyio.lowlevel.checkpoint()
    yield "é"


def data() -> Iterator[bytes | bytearray | memoryview]:
    yield b"a"
    yield bytearray(b"b")
    yield memoryview(b"cd")[::2]


async def data_later() -> AsyncIterator[bytes]:
    yield b"a"
    yield b"bc"


@pytest.mark.parametrize("stream", [plain, later, lambda: iter(["a", "é"]), lambda: io.StringIO("aé")])
async def test_pieces_of_text_are_one_text(stream: Callable[[], Any]) -> None:
    assert await read(stream) == text("aé")


@pytest.mark.parametrize("stream", [data, data_later, lambda: io.BytesIO(b"abc")])
async def test_pieces_of_bytes_are_one_blob(stream: Callable[[], Any]) -> None:
    assert await read(stream) == blob("YWJj")


async def test_no_pieces_are_an_empty_text() -> None:
    assert await read(lambda: iter(())) == text("")


async def test_an_open_file_is_read_and_closed(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc" * 30_000)
    opened: list[Any] = []

    async def give() -> Any:
        opened.append((tmp_path / "f").open("rb"))
        return opened[0]

    contents = await read(give, 100_000)

    assert len(contents.blob) == 120_000
    assert opened[0].closed


async def test_a_file_of_the_event_loop_is_read_and_closed(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one\ntwo\n")
    opened: list[anyio.AsyncFile[str]] = []

    async def give() -> Any:
        opened.append(await anyio.open_file(tmp_path / "f"))
        return opened[0]

    assert await read(give) == text("one\ntwo\n")
    assert opened[0].wrapped.closed


async def test_what_cannot_be_awaited_runs_in_a_thread_and_knows_its_call() -> None:
    seen: list[Any] = []

    def stream() -> Iterator[str]:
        seen.extend([threading.current_thread() is threading.main_thread(), get_context().request_id])
        yield "x"

    async with serving(offering(stream)) as raw:
        await raw.open("2025-11-25")
        await raw.call(7, "resources/read", uri=URI)

    assert seen == [False, "7"]


def endless(closed: list[bool]) -> Iterator[bytes]:
    try:
        while True:
            yield b"0123456789"
    finally:
        closed.append(True)


async def endless_later(closed: list[bool]) -> AsyncIterator[bytes]:
    try:
        while True:
            yield b"0123456789"
    finally:
        closed.append(True)


@pytest.mark.parametrize("stream", [endless, endless_later])
async def test_more_than_the_bound_is_refused_and_the_stream_closed(stream: Callable[[list[bool]], Any]) -> None:
    closed: list[bool] = []

    with pytest.raises(McpError, match=r"^Resource is larger than 100 bytes$") as raised:
        await read(lambda: stream(closed))

    assert raised.value.code == -32603
    assert closed == [True]


async def test_a_file_without_line_breaks_is_not_read_beyond_the_bound() -> None:
    asked: list[int] = []

    class Endless(io.RawIOBase):
        def read(self, size: int = -1, /) -> bytes:
            asked.append(size)
            return b"x" * size

    async def give() -> io.RawIOBase:
        return Endless()

    with pytest.raises(McpError, match="larger than"):
        await read(give)
    assert len(asked) == 1
    assert asked[0] > 0


@pytest.mark.parametrize("pieces", [["a", b"b"], [b"a", "b"], [1], [{"text": "x"}], [None]], ids=repr)
async def test_pieces_of_another_kind_are_refused(pieces: list[Any]) -> None:
    with pytest.raises(ValueError, match="a stream of"):
        await read(lambda: iter(pieces))


async def test_what_a_stream_raises_tells_the_client_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Iterator[str]:
        yield "a"
        raise KeyError("secret")

    async with serving(offering(broken)) as raw:
        await raw.open("2025-11-25")
        reply = await raw.call(1, "resources/read", uri=URI)

    assert reply["error"] == {"code": -32603, "message": "Internal error"}
    assert "secret" in caplog.text


async def test_a_stream_may_find_that_there_is_nothing() -> None:
    """RES-06: who says no URI means the one that was read."""

    async def nothing() -> AsyncIterator[str]:
        raise ResourceNotFound(RESOURCE_NOT_FOUND, "gone")
        yield ""

    with pytest.raises(ResourceNotFound, match=r"^Resource not found: a://b$") as raised:
        await read(nothing)
    assert raised.value.data == {"uri": URI}


async def test_a_stream_is_read_while_what_it_depends_on_is_there() -> None:
    log: list[str] = []

    async def database() -> AsyncIterator[str]:
        log.append("opened")
        yield "rows"
        log.append("closed")

    async def later_rows(db: Annotated[str, Depends(database)]) -> AsyncIterator[str]:
        log.append("read")
        yield db

    def rows(db: Annotated[str, Depends(database)]) -> Iterator[str]:
        log.append("read")
        yield db

    assert await read(later_rows) == await read(rows) == text("rows")
    assert log == ["opened", "read", "closed"] * 2


async def test_a_read_that_is_cancelled_closes_its_stream() -> None:
    waiting, closed = anyio.Event(), anyio.Event()

    async def waits() -> AsyncIterator[str]:
        try:
            yield "a"
            waiting.set()
            await anyio.sleep_forever()
        finally:
            closed.set()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(read, waits)
            await waiting.wait()
            group.cancel_scope.cancel()
        await closed.wait()
