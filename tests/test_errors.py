"""The error tree, and `McpError` by itself."""

from __future__ import annotations

import copy
import enum
import pickle
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from dedalus_mcp import errors
from dedalus_mcp.errors import (
    AuthRequiredError,
    CapabilityMissing,
    ConnectionLost,
    DedalusError,
    ErrorData,
    InvalidArguments,
    InvalidOutput,
    MCPConnectionError,
    McpError,
    NoActiveCall,
    ProtocolError,
    RequestCancelled,
    RequestTimeout,
    ResourceNotFound,
    ServerError,
    StepError,
    ToolError,
)
from dedalus_mcp.tool_error_codes import ToolErrorCode

DATA = {"properties": ["a", "b"]}


class SeatTaken(McpError):
    """A user's own class, whose arguments are not ours."""

    def __init__(self, seat: str) -> None:
        super().__init__(-32001, f"Seat {seat} is taken", {"seat": seat})
        self.seat = seat


@pytest.mark.parametrize(
    "error",
    [
        McpError(-32602, "Bad", DATA),
        McpError(-32602, message="Bad", data=DATA),
        McpError(code=-32602, message="Bad", data=DATA),
        McpError(ErrorData(-32602, "Bad", DATA)),
        McpError(SimpleNamespace(code=-32602, message="Bad", data=DATA)),  # type: ignore[call-overload]
    ],
    ids=["positional", "mixed", "keywords", "error data", "another package's error data"],
)
def test_every_form_of_construction_makes_the_same_error(error: McpError) -> None:
    """RPC-08: an error has a code and a message; data is free-form."""
    assert error.error == ErrorData(-32602, "Bad", DATA)
    assert (error.code, error.message, error.data) == (-32602, "Bad", DATA)
    assert error.args == (-32602, "Bad", DATA)
    assert str(error) == "Bad"


def test_what_has_no_code_makes_no_error() -> None:
    with pytest.raises(TypeError, match="McpError takes a code and a message, or an ErrorData, not 'x'"):
        McpError("x")  # type: ignore[call-overload]


def test_data_may_be_left_out() -> None:
    error = McpError(-32603, "Broken")

    assert error.data is None
    assert msgspec.json.encode(error.error) == b'{"code":-32603,"message":"Broken"}'


def test_a_code_may_be_a_member_of_an_enum() -> None:
    class Code(enum.IntEnum):
        TAKEN = 7

    assert msgspec.json.encode(McpError(Code.TAKEN, "Taken").error) == b'{"code":7,"message":"Taken"}'


def test_no_active_call_is_what_both_kinds_of_caller_expect() -> None:
    with pytest.raises(RuntimeError, match="outside") as caught:
        raise NoActiveCall(errors.METHOD_NOT_FOUND, "outside of a call")

    assert isinstance(caught.value, McpError)


def test_a_missing_capability_says_which() -> None:
    error = CapabilityMissing.of("Cannot be asked", {"elicitation": {"form": {}}})

    assert (error.code, str(error)) == (errors.METHOD_NOT_FOUND, "Cannot be asked")
    assert error.required == {"elicitation": {"form": {}}}


def test_a_resource_that_is_not_there_is_named() -> None:
    """RES-07."""
    error = ResourceNotFound.of("a://b")

    assert (error.code, str(error), error.data) == (-32002, "Resource not found: a://b", {"uri": "a://b"})


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "error",
    [
        McpError(-32602, "Bad", DATA),
        NoActiveCall(-32601, "Outside"),
        CapabilityMissing.of("Not there", {"elicitation": {}}),
        ResourceNotFound.of("a://b"),
        SeatTaken("12A"),
        RequestTimeout("tools/call", 2.5),
        ConnectionLost("exit code 3"),
        ServerError("Busy", 503),
        InvalidArguments("a: missing", "b: not a number"),
        ToolError("Not there", "NOT_FOUND"),
        ProtocolError("broken"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_error_survives_pickling(error: DedalusError, protocol: int) -> None:
    error.add_note("seen on the way")

    again = pickle.loads(pickle.dumps(error, protocol))

    assert type(again) is type(error)
    assert (again.args, str(again), vars(again)) == (error.args, str(error), vars(error))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_keeps_what_a_subclass_added(copied: Any) -> None:
    error = SeatTaken("12A")

    again = copied(error)

    assert (again.seat, again.error, again.args) == ("12A", error.error, error.args)


def test_deep_copy_does_not_share_the_data() -> None:
    error = McpError(1, "x", {"list": []})

    copy.deepcopy(error).data["list"].append(1)

    assert error.data == {"list": []}


@pytest.mark.parametrize(
    ("error", "also", "text"),
    [
        (RequestTimeout("ping", 0.5), TimeoutError, "no answer to 'ping' within 0.5 s"),
        (ConnectionLost(), ConnectionError, "the connection is closed"),
        (ConnectionLost("exit code 3"), ConnectionError, "exit code 3"),
        (MCPConnectionError("cannot reach it"), ConnectionError, "cannot reach it"),
        (AuthRequiredError("Who?", 401), MCPConnectionError, "[401] Who?"),
        (InvalidArguments("a: missing", "b: no number"), ValueError, "a: missing; b: no number"),
        (ToolError("Not there"), Exception, "Not there"),
        (ToolError("Not there", "NOT_FOUND"), Exception, "[NOT_FOUND] Not there"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_error_says_what_happened_and_is_the_built_in_kind(
    error: DedalusError, also: type[Exception], text: str
) -> None:
    assert isinstance(error, also)
    assert str(error) == text


def test_the_code_of_a_tool_error_may_be_a_member_of_an_enum() -> None:
    class Code(enum.Enum):
        GONE = "GONE_AWAY"

    assert str(ToolError("Not there", Code.GONE)) == "[GONE_AWAY] Not there"  # type: ignore[arg-type]


@pytest.mark.parametrize("code", list(ToolErrorCode), ids=str)
def test_the_usual_codes_of_tool_errors_are_told_as_words_of_their_own(code: ToolErrorCode) -> None:
    error = ToolError("Not there", code=code)

    assert str(error) == f"[{code.name}] Not there"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert error.code == code.name


def test_every_error_is_found_under_the_one_base() -> None:
    classes = [value for name in errors.__all__ if isinstance(value := getattr(errors, name), type)]

    assert {cls for cls in classes if not issubclass(cls, DedalusError)} == {ErrorData}


def test_the_codes_are_the_ones_of_the_protocol() -> None:
    """RPC-24: no code in the protocol's own range but the ones it defines."""
    codes = {name: value for name in errors.__all__ if isinstance(value := getattr(errors, name), int)}

    assert codes == {
        "PARSE_ERROR": -32700,
        "INVALID_REQUEST": -32600,
        "METHOD_NOT_FOUND": -32601,
        "INVALID_PARAMS": -32602,
        "INTERNAL_ERROR": -32603,
        "CONNECTION_CLOSED": -32000,
        "RESOURCE_NOT_FOUND": -32002,
        "URL_ELICITATION_REQUIRED": -32042,
        "HEADER_MISMATCH": -32020,
        "MISSING_REQUIRED_CLIENT_CAPABILITY": -32021,
        "UNSUPPORTED_PROTOCOL_VERSION": -32022,
    }


def test_a_failed_step_says_which_and_why_and_pickles() -> None:
    error = StepError("charge", ErrorData(-32603, "ValueError: no money"))

    assert str(error) == "step 'charge' failed: ValueError: no money"
    again = pickle.loads(pickle.dumps(error))
    assert (again.step, again.error) == ("charge", error.error)


def test_a_result_that_does_not_fit_says_where_and_is_kept_and_pickles() -> None:
    """TOOL-09."""
    error = InvalidOutput("book", ["seats[0]: a number", "flight: missing"], {"seats": ["x"]})

    for again in (error, pickle.loads(pickle.dumps(error))):
        assert str(again) == (
            "the result of tool 'book' does not fit its output schema: seats[0]: a number; flight: missing"
        )
        assert (again.tool, again.result) == ("book", {"seats": ["x"]})


def test_a_cancelled_request_is_neither_late_nor_lost() -> None:
    assert str(RequestCancelled()) == "the request was cancelled"
    assert not isinstance(RequestCancelled(), TimeoutError | ConnectionError)
