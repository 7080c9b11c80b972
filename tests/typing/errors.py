"""What type checkers must see of `dedalus_mcp.errors`; never run.

An ignore here is an assertion too: it names the error that has to be reported on its line.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import copy
from typing import Any, assert_type

from dedalus_mcp.errors import (
    INVALID_PARAMS,
    ConnectionLost,
    ErrorData,
    InvalidArguments,
    McpError,
    NoActiveCall,
    RequestTimeout,
    ToolError,
)
from dedalus_mcp.tool_error_codes import ToolErrorCode


def constructed() -> None:
    assert_type(McpError(ErrorData(INVALID_PARAMS, "Bad")), McpError)
    assert_type(McpError(INVALID_PARAMS, "Bad", {"field": "a"}), McpError)
    assert_type(McpError(INVALID_PARAMS, message="Bad"), McpError)
    assert_type(McpError(code=INVALID_PARAMS, message="Bad", data=None), McpError)
    assert_type(NoActiveCall(INVALID_PARAMS, "Bad"), NoActiveCall)


def refused() -> None:
    McpError()  # type: ignore[call-overload]
    McpError("Bad")  # type: ignore[call-overload]
    McpError(INVALID_PARAMS)  # type: ignore[call-overload]
    McpError(ErrorData(INVALID_PARAMS, "Bad"), "Bad")  # type: ignore[call-overload]
    ErrorData("Bad", INVALID_PARAMS)  # type: ignore[arg-type]
    RequestTimeout("ping")  # type: ignore[call-arg]


def read(error: McpError) -> None:
    assert_type(error.error, ErrorData)
    assert_type(error.code, int)
    assert_type(error.message, str)
    assert_type(error.data, Any)
    assert_type(copy.copy(error), McpError)
    error.code = 1  # type: ignore[misc]
    error.error.code = 1  # type: ignore[misc]


def caught() -> None:
    try:
        raise NoActiveCall(INVALID_PARAMS, "Bad")
    except RuntimeError as error:
        assert_type(error, RuntimeError)
    except (TimeoutError, ConnectionError) as error:
        assert_type(error, TimeoutError | ConnectionError)


def attributes(timeout: RequestTimeout, lost: ConnectionLost, wrong: InvalidArguments, failed: ToolError) -> None:
    assert_type(timeout.method, str)
    assert_type(timeout.seconds, float)
    assert_type(lost.reason, str)
    assert_type(wrong.problems, tuple[str, ...])
    assert_type(failed.message, str)
    assert_type(failed.code, str | None)


def codes() -> ToolError:
    assert_type(ToolErrorCode("NOT_FOUND"), ToolErrorCode)
    ToolError("no such seat", code="ANY_WORD")
    return ToolError("no such seat", code=ToolErrorCode.NOT_FOUND)
