"""What type checkers must see of the JSON-RPC messages; never run."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import Any, assert_never, assert_type

from dedalus_mcp.errors import ErrorData
from dedalus_mcp.jsonrpc.messages import Call, Failure, Malformed, Message, Notice, Reply, RequestId, Success


def built() -> None:
    assert_type(Call(1, "ping"), Call)
    assert_type(Call("a", "tools/call", {"name": "echo"}), Call)
    Call(None, "ping")  # type: ignore[arg-type]
    Call(1.5, "ping")  # type: ignore[arg-type]
    Success(1)  # type: ignore[call-arg]
    Notice("ping").method = "pong"  # type: ignore[misc]


def told_apart(message: Message) -> None:
    match message:
        case Call():
            assert_type(message.id, int | str)
            assert_type(message.params, Any)
        case Notice():
            assert_type(message.method, str)
        case Success() | Failure():
            assert_type(message, Reply)
        case _:
            assert_never(message)


def may_be_unreadable(failure: Failure, malformed: Malformed) -> None:
    assert_type(failure.id, RequestId | None)
    assert_type(malformed.id, RequestId | None)
    assert_type(malformed.error, ErrorData)
    assert_type(malformed.is_reply, bool)
