"""The peer: calls and replies both ways, through a real conversation."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import msgspec
import pytest
from msgspec import Raw

from dedalus_mcp.complaints import MAX_EACH
from dedalus_mcp.errors import ConnectionLost, LocalProtocolError, McpError, RemoteProtocolError
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.transport import Oversized, Undelivered
from tests.jsonrpc.wire import (
    Answers,
    Asking,
    call,
    cancelled,
    conversing,
    failure,
    feed,
    notice,
    remains,
    success,
)


async def test_call_is_answered_under_its_own_id() -> None:
    """B001, RPC-06."""
    async with conversing() as (_, wire):
        for id in (1, "1", "0", 0, "007", "a", "", -5, 2**53, 10**30):
            await wire.send(call(id, "echo", {"x": 1}), call(id, "ping"))
            replies = [await wire.receive(), await wire.receive()]
            assert success(id, {"x": 1}) in replies


async def test_number_and_its_string_are_answered_apart() -> None:
    """B008."""
    async with conversing() as (_, wire):
        await wire.send(call(1, "echo", {"x": 1}), call("1", "echo", {"x": "1"}))

        assert await wire.receive_many(2) == [success("1", {"x": "1"}), success(1, {"x": 1})]


async def test_call_with_the_id_of_a_running_one_is_refused_alone() -> None:
    """B004: the first goes on, and the id is free after it."""
    gate = anyio.Event()

    async def wait(_call: Inbound) -> Any:
        await gate.wait()
        return {"first": True}

    async with conversing(Answers(wait=wait)) as (_, wire):
        await wire.send(call(7, "wait"), call(7, "echo"))
        refused = await wire.receive()
        assert (refused["id"], refused["error"]["code"]) == (7, -32600)
        gate.set()
        assert await wire.receive() == success(7, {"first": True})
        await wire.send(call(7, "echo", {"again": True}))
        assert await wire.receive() == success(7, {"again": True})


async def test_unknown_method_is_an_error_under_the_id() -> None:
    """RPC-32, B104."""
    async with conversing() as (_, wire):
        await wire.send(call("x", "nope"))

        assert await wire.receive() == failure("x", -32601, "Unknown method: nope")


async def test_notice_is_heard_and_never_answered() -> None:
    """RPC-12, RPC-31, B103, B107."""
    answers = Answers()
    async with conversing(answers) as (_, wire):
        await wire.send(notice("notifications/initialized"), notice("codex/event", {"x": 1}))

        assert await wire.quiet() == []
        assert answers.heard == ["notifications/initialized", "codex/event"]


# Our calls.


async def test_reply_wakes_the_call_it_names() -> None:
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        first = asking("a", {"x": 1})
        assert await wire.receive() == call(1, "a", {"x": 1})
        second = asking("b")
        assert await wire.receive() == call(2, "b")
        await wire.send(success(2, {"b": 1}), success(1, {"a": 1}))

        assert await first() == {"a": 1}
        assert await second() == {"b": 1}


async def test_reply_with_the_id_as_a_string_is_accepted() -> None:
    """B002: result and error alike."""
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        works = asking("a")
        await wire.receive()
        fails = asking("b")
        await wire.receive()
        await wire.send(success("1", {"a": 1}), failure("2", -1, "no", data=[1]))

        assert await works() == {"a": 1}
        with pytest.raises(McpError, match="no") as caught:
            await fails()
        assert (caught.value.code, caught.value.data) == (-1, [1])


@pytest.mark.parametrize("id", ["xyz", "01", 99, None])
async def test_reply_that_names_no_call_is_one_warning_and_harms_nobody(
    id: int | str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """B002, RPC-31."""
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        waiting = asking("a")
        await wire.receive()
        await wire.send(failure(id, -1, "stray"))
        assert await wire.quiet() == []
        assert [record.levelno for record in caplog.records] == [logging.WARNING]

        await wire.send(success(1))
        assert await waiting() == {}


@pytest.mark.parametrize(
    "reply",
    [
        {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": "m"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": "m"}},
        {"id": 1, "result": {}},
        b'{"jsonrpc":"2.0","id":1,"result":{"x":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":1,"result":NaN}',
    ],
    ids=repr,
)
async def test_reply_that_breaks_a_rule_fails_its_call_at_once(reply: Any) -> None:
    """RPC-07, RPC-08, B124: nobody waits for ever, and the reply is not answered."""
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        waiting = asking("a")
        await wire.receive()
        await wire.send(reply)

        with pytest.raises(RemoteProtocolError, match="bad reply to 'a'"):
            await waiting()
        assert await wire.quiet() == []


async def test_client_takes_an_id_alone_for_a_reply_whose_null_was_left_out() -> None:
    """B002: some servers leave out what is null; a server that is told so says what is missing."""
    bare = {"jsonrpc": "2.0", "id": 1}
    async with conversing(answers_malformed=False) as (conversation, wire), Asking(conversation.peer) as asking:
        waiting = asking("a")
        await wire.receive()
        await wire.send(bare)
        with pytest.raises(RemoteProtocolError, match="bad reply to 'a'"):
            await waiting()
        assert await wire.quiet() == []
    async with conversing() as (_, wire):
        await wire.send(bare)
        assert (await wire.receive())["error"]["code"] == -32600


async def test_call_that_is_no_json_is_refused_and_nothing_is_sent() -> None:
    """B124."""
    async with conversing() as (conversation, wire):
        for params in ({"x": "\ud800"}, {"x": object()}):
            with pytest.raises(LocalProtocolError):
                await conversation.peer.call("a", params)
            with pytest.raises(LocalProtocolError):
                conversation.peer.notify("a", {"x": object()})

        assert await wire.quiet() == []
        assert remains(conversation.peer) == 0


async def test_progress_reaches_the_call_whose_token_it_carries() -> None:
    """B005: 0 and the empty string are tokens like any other; malformed progress is dropped."""
    for token in (0, "", "t", 7):
        told: list[Raw] = []
        async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
            waiting = asking("a", progress=(token, told.append))
            await wire.receive()
            for wrong in ({"progressToken": "other"}, {"progressToken": None}, {"progressToken": 1.5}, {}):
                await wire.send(notice("notifications/progress", wrong))
            await wire.send(
                notice("notifications/progress"), b'{"jsonrpc":"2.0","method":"notifications/progress","params":5}'
            )
            await wire.send(notice("notifications/progress", {"progressToken": token, "progress": 1}))
            await wire.send(success(1))
            await waiting()
            await wire.send(notice("notifications/progress", {"progressToken": token, "progress": 2}))
            assert await wire.quiet() == []
        assert [msgspec.json.decode(params) for params in told] == [{"progressToken": token, "progress": 1}]


async def test_progress_token_of_another_open_call_is_refused() -> None:
    """PROG-01: it would take the progress of that call away."""
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        waiting = asking("a", progress=(0, None))
        await wire.receive()
        with pytest.raises(LocalProtocolError, match="progress token 0"):
            await conversation.peer.call("b", progress=(0, None))
        await wire.send(success(1))
        await waiting()
        again = asking("c", progress=(0, None))
        assert (await wire.receive())["method"] == "c"
        await wire.send(success(2))
        assert await again() == {}


# What is no message.

GARBAGE = [b"log line", b"", b"{", b"5", b'"x"', b"null", b"[]", b"{}", b"\xff\xfe", b"NaN", b'{"jsonrpc":"2.0"}']


@pytest.mark.parametrize("frame", GARBAGE, ids=repr)
async def test_server_answers_garbage_with_an_error_without_id(frame: bytes) -> None:
    """RPC-11, B055, B101."""
    async with conversing(answers_malformed=True) as (_, wire):
        await wire.send(frame)
        refused = await wire.receive()
        assert refused["id"] is None
        assert refused["error"]["code"] in (-32700, -32600)

        await wire.send(call(1, "echo"))
        assert await wire.receive() == success(1)


async def test_client_never_answers_garbage(caplog: pytest.LogCaptureFixture) -> None:
    """B055: one warning for each, and calls go on."""
    async with conversing(answers_malformed=False) as (conversation, wire), Asking(conversation.peer) as asking:
        waiting = asking("a")
        await wire.receive()
        await wire.send(*GARBAGE)
        assert await wire.quiet() == []
        assert len(caplog.records) == len(GARBAGE)

        await wire.send(success(1))
        assert await waiting() == {}


async def test_a_flood_of_garbage_is_some_lines_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """`yes` for a server; replies to calls that were never made are no better."""
    async with conversing(answers_malformed=False) as (_, wire):
        for _ in range(1000):
            await wire.send(b"y", success(99))
        await wire.quiet()

        assert len(caplog.records) < MAX_EACH + 10


@pytest.mark.parametrize("server", [True, False])
async def test_error_is_never_answered_with_an_error(server: bool) -> None:
    """B055: two peers would answer each other for ever."""
    async with conversing(answers_malformed=server) as (_, wire):
        await wire.send(
            failure(None, -32700, "Parse error"),
            failure(5, -32600, "Invalid"),
            {"jsonrpc": "2.0", "id": 5, "error": 5},
            {"jsonrpc": "2.0", "error": 5},
            {"jsonrpc": "2.0", "result": {}},
        )

        assert await wire.quiet() == []


async def test_malformed_call_is_refused_under_its_id() -> None:
    """RPC-10, B007, B124."""
    async with conversing() as (_, wire):
        await wire.send(b'{"id":"r-9","method":"m"}', b'{"jsonrpc":"2.0","id":0,"method":"m","params":{"x":"\\ud800"}}')

        assert [((await wire.receive())["id"]) for _ in range(2)] == ["r-9", 0]


async def test_two_thousand_damaged_messages_leave_the_conversation_alive() -> None:
    """B101."""
    whole = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":[1,2.5,"\\u00e9",null]}}'
    async with conversing(answers_malformed=False) as (_, wire):
        for at in range(2000):
            cut, byte = at % len(whole), bytes([(at * 37) % 256])
            await wire.send(whole[:cut] + byte + whole[cut + at % 3 :])
        await wire.quiet()


# Frames that are too long.


def fed(peer: Peer, head: bytes, tail: bytes = b"") -> None:
    feed(peer, Oversized(1000, head, tail))


async def test_oversized_reply_fails_the_call_it_names() -> None:
    """Known from the head or from the tail."""
    for head, tail in [
        (b'{"jsonrpc":"2.0","id":1,"result":{"x":"', b""),
        (b'{"result":{"x":"', b'"},"jsonrpc":"2.0","id":1}'),
        (b'{"error":{"x":"', b'"},"id":"1","jsonrpc":"2.0"}'),
    ]:
        async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
            waiting = asking("a")
            await wire.receive()
            fed(conversation.peer, head, tail)

            with pytest.raises(RemoteProtocolError, match="longer than 1000 bytes"):
                await waiting()
            assert await wire.quiet() == []


async def test_oversized_call_is_refused_under_its_id_and_other_frames_without() -> None:
    async with conversing() as (conversation, wire):
        fed(conversation.peer, b'{"jsonrpc":"2.0","id":"q","method":"m","params":{"x":"')
        fed(conversation.peer, b'{"jsonrpc":"2.0","method":"m","params":{"x":"')
        fed(conversation.peer, b'{"result":{"x":"')  # whose reply it was, nobody can tell

        assert [message["id"] for message in await wire.quiet()] == ["q", None]


async def test_malformed_cancellation_is_ignored() -> None:
    """CANC-11, B044: nor does one for an unknown or finished call do anything."""
    answers = Answers()
    async with conversing(answers) as (_, wire):
        await wire.send(call(1, "block"), call(2, "ping"))
        await wire.receive()
        for params in (None, {}, {"requestId": None}, {"requestId": 1.5}, {"requestId": [1]}, {"requestId": "1"}):
            await wire.send(notice("notifications/cancelled", params))
        await wire.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}', cancelled(2), cancelled(99))

        assert await wire.quiet() == []
        assert (answers.started, answers.ended) == (1, 0)


async def test_a_call_that_the_transport_could_not_deliver_fails_alone() -> None:
    """B035: with the transport's own error; one that is over, or was never made, is not touched."""
    async with conversing() as (conversation, wire), Asking(conversation.peer) as asking:
        lost, kept = asking("a"), asking("b")
        ids = {message["method"]: message["id"] for message in await wire.receive_many(2)}
        why = ConnectionLost("no way to deliver it")
        for id in (ids["a"], ids["a"], 99, "x"):
            feed(conversation.peer, Undelivered(id, why))
        await wire.send(success(ids["b"], {"b": 1}))

        with pytest.raises(ConnectionLost) as raised:
            await lost()
        assert raised.value is why
        assert await kept() == {"b": 1}


async def test_whoever_wants_to_know_the_end_is_told_once() -> None:
    told: list[str] = []
    async with conversing() as (conversation, _):
        conversation.peer.at_end(lambda: told.append("first"))
        conversation.peer.at_end(lambda: told.append("second"))
    conversation.peer.close("once more")
    conversation.peer.at_end(lambda: told.append("too late"))  # by a handler that has outlived it
    conversation.peer.close("and again")

    assert sorted(told) == ["first", "second", "too late"]
