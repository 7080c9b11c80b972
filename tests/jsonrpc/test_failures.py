"""What becomes of a handler's exception."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.errors import INTERNAL_ERROR, ErrorData, McpError, NoActiveCall
from dedalus_mcp.jsonrpc.codec import decode
from dedalus_mcp.jsonrpc.failures import INTERNAL, failure, only_mcp_error
from dedalus_mcp.jsonrpc.messages import Failure

MINE = McpError(-1, "mine")
GONE = asyncio.CancelledError


def group(*errors: BaseException) -> BaseException:
    return BaseExceptionGroup("several", errors)


def test_internal_error_says_nothing_internal() -> None:
    assert (INTERNAL.code, INTERNAL.message, INTERNAL.data) == (INTERNAL_ERROR, "Internal error", None)


@pytest.mark.parametrize(
    "error",
    [
        MINE,
        group(MINE),
        group(group(MINE)),
        group(GONE(), MINE),
        group(group(GONE()), group(GONE(), group(MINE))),
        group(group(MINE), McpError(-1, "mine")),
    ],
    ids=repr,
)
def test_one_mcp_error_is_found_however_deep_it_lies(error: BaseException) -> None:
    """Siblings that fail alike are one."""
    found = only_mcp_error(error, GONE)

    assert found is not None
    assert found.error == MINE.error


def test_subclass_of_mcp_error_is_one() -> None:
    error = NoActiveCall(-1, "m")

    assert only_mcp_error(error, GONE) is error


@pytest.mark.parametrize(
    "error",
    [
        ValueError(),
        GONE(),
        group(GONE()),
        group(MINE, McpError(-2, "another")),
        group(MINE, ValueError()),
        group(group(MINE), SystemExit(1)),
        group(MINE, NoActiveCall(-1, "mine")),
    ],
    ids=repr,
)
def test_anything_else_is_none_of_the_peers_business(error: BaseException) -> None:
    assert only_mcp_error(error, GONE) is None


def test_nesting_deeper_than_the_stack_is_no_obstacle() -> None:
    error: BaseException = MINE
    for _ in range(5000):
        error = group(error)

    assert only_mcp_error(error) is MINE


trees = st.recursive(
    st.sampled_from(["mine", "other", "gone"]), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=8
)


@given(trees)
def test_verdict_depends_on_the_leaves_alone(tree: object) -> None:
    leaves: list[str] = []

    def build(node: object) -> BaseException:
        if isinstance(node, list):
            return group(*[build(inner) for inner in node])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        leaves.append(str(node))
        return {"mine": MINE, "other": ValueError(), "gone": GONE()}[str(node)]

    error = build(tree)
    left = [leaf for leaf in leaves if leaf != "gone"]
    assert only_mcp_error(error, GONE) is (MINE if set(left) == {"mine"} else None)


@pytest.mark.parametrize(
    ("error", "written"),
    [
        (ErrorData(-1, "m", [1]), (-1, "m", [1])),
        (ErrorData(-1, "m", object()), (-1, "m", None)),
        (ErrorData(-1, object(), [1]), (INTERNAL_ERROR, "Internal error", None)),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        (ErrorData(-1, object()), (INTERNAL_ERROR, "Internal error", None)),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ],
    ids=["json", "data is not", "message is not", "message is not and no data"],
)
def test_what_is_no_json_in_an_error_is_left_out(error: ErrorData, written: tuple[int, str, Any]) -> None:
    reply = decode(failure("r-9", error).frame)

    assert reply == Failure("r-9", ErrorData(*written))
