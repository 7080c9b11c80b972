"""A request leaves in one piece, and says what one of httpx would say."""

from __future__ import annotations

import ssl
from typing import Any

import anyio
import httpcore
import httpx
import pytest
from anyio.abc import SocketAttribute, SocketStream
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp_transports.http_one_piece import MAX_HELD, OnePieceStream
from dedalus_mcp_transports.http_plain import PlainClient
from dedalus_mcp_transports.http_pool import Pool

NOTHING: dict[str, Any] = {}


class Wire(httpcore.AsyncNetworkStream):
    """A connection that keeps what is written, and answers with what is given."""

    def __init__(self, answer: bytes = b"answer", fault: Exception | None = None) -> None:
        self.written: list[bytes] = []
        self.answer = answer
        self.fault = fault

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.answer[:max_bytes]

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self.fault is not None:
            raise self.fault
        self.written.append(bytes(buffer))

    async def aclose(self) -> None:
        pass


async def test_a_head_and_a_body_are_one_write() -> None:
    wire = Wire()
    stream = OnePieceStream(wire)
    for piece in (b"head ", b"body", b""):
        await stream.write(piece)

    assert wire.written == [b"head body"]


async def test_what_nothing_has_told_the_end_of_is_sent_before_the_answer_is_read() -> None:
    """A body of chunks ends with a piece like any other."""
    wire = Wire()
    stream = OnePieceStream(wire)
    for piece in (b"head ", b"1\r\nx\r\n", b"0\r\n\r\n"):
        await stream.write(piece)
    assert wire.written == []

    assert await stream.read(100) == b"answer"
    assert wire.written == [b"head 1\r\nx\r\n0\r\n\r\n"]


async def test_a_large_body_is_neither_held_nor_copied() -> None:
    wire, body = Wire(), b"x" * (MAX_HELD + 1)
    stream = OnePieceStream(wire)
    await stream.write(b"head ")
    await stream.write(body)

    assert wire.written == [b"head ", body]


async def test_an_answer_is_read_though_the_request_could_not_be_sent_whole() -> None:
    """Servers refuse what is too large, and close, before they have read it."""
    stream = OnePieceStream(Wire(fault=httpcore.WriteError("gone")))
    await stream.write(b"head")

    assert await stream.read(100) == b"answer"


@given(st.lists(st.sampled_from([0, 1, 10, MAX_HELD - 1, MAX_HELD, MAX_HELD + 1])))
def test_nothing_is_lost_or_turned_round_or_held_for_long(sizes: list[int]) -> None:
    """What is written is the beginning of the pieces, but for MAX_HELD bytes at most; after a read, all of them."""
    pieces = [bytes([number % 256]) * size for number, size in enumerate(sizes)]

    async def write() -> None:
        wire = Wire()
        stream = OnePieceStream(wire)
        for number, piece in enumerate(pieces, 1):
            await stream.write(piece)
            said, sent = b"".join(pieces[:number]), b"".join(wire.written)
            assert said.startswith(sent)
            assert len(said) - len(sent) <= MAX_HELD
        await stream.read(1)
        assert b"".join(wire.written) == b"".join(pieces)

    anyio.run(write)


async def test_a_request_arrives_in_one_piece() -> None:
    arrived: list[bytes] = []

    async def serve(stream: SocketStream) -> None:
        async with stream:
            arrived.append(await stream.receive())
            await stream.send(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        client = PlainClient(Pool(ssl.create_default_context()), {})
        url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/mcp"
        request = client.build_request(
            "POST", url, headers={}, content=b"the body", timeout=(5, 5, 5, 5), extensions=NOTHING
        )
        response = await client.send(request, stream=True, follow_redirects=False)
        assert response.status_code == 202
        await response.aclose()
        await client.aclose()
        group.cancel_scope.cancel()

    assert len(arrived) == 1
    assert arrived[0].endswith(b"\r\n\r\nthe body")


URLS = [
    "http://h",
    "http://h:80/",
    "https://h:443/a?b=c#d",
    "https://h:8443/a%20b?q=%2F",
    "http://H.Example/ü?ö=ä",
    "http://[::1]:8000/mcp",
    "http://bücher.example/mcp",
    "http://h/a/../b?x=1&y='2'",
]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize(("method", "content"), [("POST", b"{}"), ("POST", b""), ("GET", b""), ("DELETE", b"")])
def test_a_request_says_what_one_of_httpx_says(url: str, method: str, content: bytes) -> None:
    """The target, the host, the headers: but for their case, and their order."""
    client = PlainClient(Pool(ssl.create_default_context()), {"user-agent": "us", "x-other": "1"})
    ours: Any = client.build_request(
        method, url, headers={"x-own": "2", "x-other": "3"}, content=content, timeout=(1, 2, 3, 4), extensions=NOTHING
    ).sent
    headers = {"user-agent": "us", "x-other": "3", "x-own": "2"}
    theirs = httpx.Request(method, url, headers=headers, content=content)

    assert (ours.method, ours.url.target) == (method.encode(), theirs.url.raw_path)
    assert (ours.url.host, ours.url.port) == (theirs.url.raw_host, theirs.url.port)
    assert sorted(ours.headers) == sorted((name.lower(), value) for name, value in theirs.headers.raw)
    assert ours.extensions["timeout"] == httpx.Timeout((1, 2, 3, 4)).as_dict()


async def test_a_header_that_is_said_twice_reads_as_one() -> None:
    async def serve(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(
                b"HTTP/1.1 401 Who?\r\nX-A: 1\r\nx-a: \xe9\r\nSet-Cookie: a=b\r\ncontent-length: 0\r\n\r\n"
            )

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        client = PlainClient(Pool(ssl.create_default_context()), {})
        url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/mcp"

        def get() -> Any:
            return client.build_request("GET", url, headers={}, content=b"", timeout=(5, 5, 5, 5), extensions=NOTHING)

        response = await client.send(get(), stream=True, follow_redirects=False)
        await response.aclose()
        assert (response.status_code, response.reason_phrase) == (401, "Who?")
        assert (response.headers["x-a"], response.headers["content-length"]) == ("1, é", "0")
        assert (b"cookie", b"a=b") in [(name.lower(), value) for name, value in get().sent.headers]
        await client.aclose()
        group.cancel_scope.cancel()
