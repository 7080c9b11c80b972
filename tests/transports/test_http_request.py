"""One request as ASGI hands it over."""

from __future__ import annotations

import tracemalloc
from typing import Any

import anyio
import pytest

from dedalus_mcp_transports import http_request
from dedalus_mcp_transports.http_request import BodyTooLarge, Disconnected, HttpRequest, left, respond

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


def hands_over(*pieces: tuple[bytes, bool] | None) -> Any:
    """ASGI's way in: pieces of the body, and whether more follow; None for a client that leaves."""
    left = list(pieces)

    async def receive() -> dict[str, Any]:
        piece = left.pop(0)
        if piece is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece[0], "more_body": piece[1]}

    return receive


@pytest.mark.parametrize(
    "pieces",
    [[(b"abcd", False)], [(b"ab", True), (b"cd", False)], [(b"", True), (b"abcd", True), (b"", False)]],
    ids=len,
)
async def test_a_body_is_put_together(pieces: list[tuple[bytes, bool]]) -> None:
    assert await HttpRequest({"headers": []}).body(hands_over(*pieces), 4) == b"abcd"


@pytest.mark.parametrize("pieces", [[(b"abcd", False)], [(b"ab", True), (b"cd", True)]], ids=len)
async def test_a_body_is_read_no_further_than_its_limit(pieces: list[tuple[bytes, bool]]) -> None:
    with pytest.raises(BodyTooLarge):
        await HttpRequest({"headers": []}).body(hands_over(*pieces), 3)


async def test_a_body_in_tiny_pieces_takes_no_more_memory_than_its_bytes() -> None:
    size = 1 << 16
    read = 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        read += 2
        return {"type": "http.request", "body": read.to_bytes(4, "big")[:2], "more_body": read < size}

    tracemalloc.start()
    try:
        body = await HttpRequest({"headers": []}).body(receive, size)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(body) == size
    assert peak < 4 * size


@pytest.mark.parametrize("pieces", [[None], [(b"ab", True), None]], ids=len)
async def test_a_client_may_leave_within_its_body(pieces: list[Any]) -> None:
    with pytest.raises(Disconnected):
        await HttpRequest({"headers": []}).body(hands_over(*pieces), 100)


async def test_the_end_of_a_response_is_noticed_though_nobody_tells_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """B095."""
    monkeypatch.setattr(http_request, "ASK_AGAIN_SECONDS", 0.001)
    asked = 0

    async def receive() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b"again", "more_body": False}

    with anyio.fail_after(20):
        await left(receive, lambda: asked == 3)


async def test_headers_are_text_by_lower_case_name_and_the_last_counts() -> None:
    request = HttpRequest({"headers": [(b"a", b"1"), (b"b", b"\xe9"), (b"a", b"2")]})

    assert request.headers == {"a": "2", "b": "é"}
    assert request.headers is request.headers
    assert (request.session_id, request.principal) == (None, None)


async def test_a_response_says_how_long_it_is() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await respond(send, 404, b"no", (b"x", b"y"))

    assert sent[0] == {
        "type": "http.response.start",
        "status": 404,
        "headers": [(b"content-length", b"2"), (b"x", b"y")],
    }
    assert sent[1] == {"type": "http.response.body", "body": b"no"}


@pytest.mark.parametrize("error", [OSError(), RuntimeError(), KeyError()], ids=repr)
async def test_a_response_to_a_client_that_is_gone_is_nothing(error: Exception) -> None:
    async def send(message: Any) -> None:
        raise error

    await respond(send, 200, b"x")
