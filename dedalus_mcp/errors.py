"""Every error this package raises on purpose: who broke the rule decides the class.

    DedalusError
    ├── ProtocolError              a rule of the wire was broken; never raised itself
    │   ├── LocalProtocolError       by this process: nothing was sent
    │   └── RemoteProtocolError      by the peer: the connection goes on
    │       └── InvalidOutput          ... a tool's result does not fit the tool's own output schema
    ├── McpError                   a JSON-RPC error object: the peer's answer, or ours to it
    │   ├── ResourceNotFound         there is no such resource here
    │   └── AskFailed                a question to the client's user came to nothing
    │       ├── NoActiveCall           ... because no call is being answered
    │       └── CapabilityMissing      ... because the client did not declare that it can be asked so
    ├── RequestTimeout             no answer came in time
    ├── RequestCancelled           no answer is wanted any more
    ├── ConnectionLost             no answer can come any more
    ├── MCPConnectionError         one HTTP exchange failed; the client can still be used
    │   ├── BadRequestError          400, 422: the server does not take the request
    │   ├── AuthRequiredError        401: it wants to know who asks
    │   ├── ForbiddenError           403: it knows, and says no
    │   ├── SessionExpiredError      404 in a session: the server has forgotten it
    │   ├── TransportError           404, 405, 406, 415, or no MCP in the answer: no MCP endpoint
    │   ├── ServerError              5xx
    │   └── AuthError                no token can be got: see `client.auth.failures`
    ├── InvalidArguments           arguments that do not fit what a handler takes
    ├── StepError                  a step of a call failed, in this run of it or in an earlier one
    └── ToolError                  a tool's own failure, told to the model

Source: JSON-RPC 2.0, section 5.1 (https://www.jsonrpc.org/specification#error_object).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, overload

import msgspec

from dedalus_mcp.official_error import also_official, own_class, restore

__all__ = (
    "CONNECTION_CLOSED",
    "HEADER_MISMATCH",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "MISSING_REQUIRED_CLIENT_CAPABILITY",
    "PARSE_ERROR",
    "RESOURCE_NOT_FOUND",
    "UNSUPPORTED_PROTOCOL_VERSION",
    "URL_ELICITATION_REQUIRED",
    "AskFailed",
    "AuthRequiredError",
    "BadRequestError",
    "CapabilityMissing",
    "ConnectionLost",
    "DedalusError",
    "ErrorData",
    "ForbiddenError",
    "InvalidArguments",
    "InvalidOutput",
    "LocalProtocolError",
    "MCPConnectionError",
    "McpError",
    "NoActiveCall",
    "ProtocolError",
    "RemoteProtocolError",
    "RequestCancelled",
    "RequestTimeout",
    "ResourceNotFound",
    "ServerError",
    "SessionExpiredError",
    "StepError",
    "ToolError",
    "TransportError",
)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CONNECTION_CLOSED = -32000
RESOURCE_NOT_FOUND = -32002  # legacy revisions; INVALID_PARAMS from 2026-07-28 on
MAX_URI = 4096  # characters of a URI that an error says back: more is no URI in earnest
URL_ELICITATION_REQUIRED = -32042  # 2025-11-25 only
HEADER_MISMATCH = -32020  # this and the next two: 2026-07-28
MISSING_REQUIRED_CLIENT_CAPABILITY = -32021
UNSUPPORTED_PROTOCOL_VERSION = -32022


class ErrorData(msgspec.Struct, frozen=True, omit_defaults=True):
    """The error object of a JSON-RPC reply.

    Attributes:
        code: Which error; the constants of this module are the protocol's own codes.
        message: One short sentence.
        data: Any JSON value; None is left out on the wire.
    """

    code: int
    message: str
    data: Any = None


class DedalusError(Exception):
    """Base class of every error that this package raises on purpose."""


class ProtocolError(DedalusError):
    """A message broke a rule of the protocol."""


class LocalProtocolError(ProtocolError):
    """We were asked for something that the protocol forbids."""


class RemoteProtocolError(ProtocolError):
    """The peer sent something that the protocol forbids."""


class InvalidOutput(RemoteProtocolError):
    """A tool's result does not fit the tool's own output schema.

    Attributes:
        tool: Its name.
        problems: One short sentence for each place at fault: where, and what is legal there.
        result: The result itself, for those who can do with it as it is.
    """

    def __init__(self, tool: str, problems: Sequence[str], result: Any = None) -> None:
        super().__init__(tool, problems, result)
        self.tool = tool
        self.problems = problems
        self.result = result

    def __str__(self) -> str:
        return f"the result of tool {self.tool!r:.80} does not fit its output schema: {'; '.join(self.problems)}"


class McpError(DedalusError):
    """A JSON-RPC error object, as an exception.

    Raised in a handler, it becomes the reply with this code, message and data.  Raised by a
    call, it is what the peer replied.  Where the official `mcp` package has been imported,
    an instance is also an instance of that package's own error, so that its `except` works.

    Args:
        error: The error object, or its integer code with `message` and `data`.
        message: One short sentence.
        data: Any JSON value, or None.

    Attributes:
        error: The error object (`.code`, `.message`, `.data`).

    Raises:
        TypeError: There is no code.
    """

    error: ErrorData

    @overload
    def __init__(self, error: ErrorData, /) -> None: ...
    @overload
    def __init__(self, code: int, message: str, data: Any = None, /) -> None: ...
    @overload
    def __init__(self, code: int, /, *, message: str, data: Any = None) -> None: ...
    @overload
    def __init__(self, /, *, code: int, message: str, data: Any = None) -> None: ...

    def __init__(self, error: Any = None, message: str = "", data: Any = None, *, code: int = 0) -> None:
        if error is None:
            error = code
        if isinstance(error, int):
            error = ErrorData(error, message, data)
        elif not isinstance(error, ErrorData):  # the official package's own model, by shape
            if not hasattr(error, "code"):
                raise TypeError(f"{type(self).__name__} takes a code and a message, or an ErrorData, not {error!r:.80}")
            error = ErrorData(error.code, error.message, error.data)
        self.error = error
        # Not super(): beside the official package the next in line is its class, whose arguments differ.
        Exception.__init__(self, error.code, error.message, error.data)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Decide, when raising, whether the official package is there to be pleased."""
        return super().__new__(also_official(cls, DedalusError), *args)

    def __reduce__(self) -> tuple[Any, ...]:
        return restore, (own_class(self), self.args), self.__dict__

    def __str__(self) -> str:
        return self.error.message

    @property
    def code(self) -> int:
        """Same as `.error.code`."""
        return self.error.code

    @property
    def message(self) -> str:
        """Same as `.error.message`."""
        return self.error.message

    @property
    def data(self) -> Any:
        """Same as `.error.data`."""
        return self.error.data


class AskFailed(McpError):
    """A question to the client came to nothing.

    Its code tells why: -32601, the client cannot be asked; -32602, the question or the answer
    is not legal; -32603, no answer came in time, or too often none did; -32000, the connection is lost; any other, the
    client's own error.  A tool that lets it pass ends as an `isError` result with its message.

    Attributes:
        by_client: Whether the client was asked and has failed: with an error, by an answer that is not
            legal, or by none in time.
    """

    by_client: bool = False


class NoActiveCall(AskFailed, RuntimeError):
    """Something that only a running call can do was asked for outside of one."""


class CapabilityMissing(AskFailed):
    """The client did not declare the capability that a question needs.

    Code -32601 where it is raised.  A handler on 2026-07-28 that lets it pass ends the request
    with -32021 and `requiredCapabilities` instead (META-06).

    Attributes:
        required: What the client would have to declare, shaped as its capabilities.
    """

    required: dict[str, Any]

    @classmethod
    def of(cls, message: str, required: dict[str, Any]) -> CapabilityMissing:
        """Make one."""
        error = cls(METHOD_NOT_FOUND, message)
        error.required = required
        return error


class ResourceNotFound(McpError):
    """There is no resource at a URI: `raise ResourceNotFound.of(uri)`.

    Code -32002; a request of 2026-07-28 gets -32602 instead (RES-06, RES-07).
    """

    @classmethod
    def of(cls, uri: str) -> ResourceNotFound:
        """Make one; its `data` names the URI."""
        return cls(RESOURCE_NOT_FOUND, f"Resource not found: {uri:.160}", {"uri": uri[:MAX_URI]})


class RequestTimeout(DedalusError, TimeoutError):
    """No answer came in time; the peer was told that none is wanted any more.

    Attributes:
        method: The method that was called.
        seconds: How long the call was waited for.
    """

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(method, seconds)
        self.method = method
        self.seconds = seconds

    def __str__(self) -> str:
        return f"no answer to {self.method!r} within {self.seconds:.3g} s"


class RequestCancelled(DedalusError):
    """The request was cancelled by whoever began it; the peer was told that no answer is wanted any more."""

    def __str__(self) -> str:
        return "the request was cancelled"


class ConnectionLost(DedalusError, ConnectionError):
    """No answer can come: the connection ended, or is closed already.

    Attributes:
        reason: Why, in words, with what the other side left behind (exit code, last lines).
    """

    def __init__(self, reason: str = "the connection is closed") -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class MCPConnectionError(DedalusError, ConnectionError):
    """One HTTP exchange failed, so one call has no answer.  The client can still be used.

    Args:
        message: What happened, with the address and the cause.
        status_code: The status of the server's answer; None if there was none.

    Attributes:
        message: As given; so is `status_code`.
        retry_after: How many seconds the server asks to wait; None if it does not say.
        error: The JSON-RPC error in the answer; None if there is none.
        www_authenticate: What it would take, in the server's words (401, 403); None if it does not say.
        begun: The server took the request, and then its answer was lost: the call may have run.
    """

    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message, status_code)
        self.message = message
        self.status_code = status_code
        self.retry_after: float | None = None
        self.error: ErrorData | None = None
        self.www_authenticate: str | None = None
        self.begun = False

    def __str__(self) -> str:
        return self.message if self.status_code is None else f"[{self.status_code}] {self.message}"


class BadRequestError(MCPConnectionError):
    """The server does not take the request (400, 422)."""


class AuthRequiredError(MCPConnectionError):
    """The server wants to know who asks (401)."""


class ForbiddenError(MCPConnectionError):
    """The server does not let this client do that (403)."""


class SessionExpiredError(MCPConnectionError):
    """The server has forgotten the session (404 to a request in it)."""


class TransportError(MCPConnectionError):
    """What answered is no MCP endpoint, or speaks it badly."""


class ServerError(MCPConnectionError):
    """The server failed, or something before it did (5xx)."""


class InvalidArguments(DedalusError, ValueError):
    """Arguments do not fit what a handler takes; the handler was not called.

    Attributes:
        problems: One short sentence for each argument at fault: its name, and what is legal.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "; ".join(self.problems)


class StepError(DedalusError):
    """A step of a call failed, in this run of its handler or in an earlier one.

    Attributes:
        step: Its name.
        error: What it raised: an `McpError`'s own code, message and data, or -32603 and the type and
            text of anything else.
    """

    def __init__(self, step: str, error: ErrorData) -> None:
        super().__init__(step, error)
        self.step = step
        self.error = error

    def __str__(self) -> str:
        return f"step {self.step!r} failed: {self.error.message}"


class ToolError(DedalusError):
    """A tool failed in a way that the model should read about: an `isError` result.

    Args:
        message: What went wrong, for the model.
        code: A short name put before it in brackets; `ToolErrorCode` has the usual ones.
    """

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message, code)
        self.message = message
        self.code = code

    def __str__(self) -> str:
        code = getattr(self.code, "value", self.code)  # an Enum member stands for its value
        return f"{self.message}" if code is None else f"[{code}] {self.message}"  # a message may be anything
