"""The context of a call that nobody made, so that a handler can be tested as the function it is.

    with mock_context(answers=[{"region": "eu"}, True]) as ctx:
        assert await deploy("web") == "deployed to eu"
    assert ctx.captured_logs == [("info", "deploying", None)]

It is a real `Context`, on a real peer whose other side is played here: what the handler sends is
written, read and kept, and what it asks is checked, sent and answered as on any legacy connection.

Layer: L6.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeGuard

import anyio
import msgspec
from msgspec import Raw

from dedalus_mcp.client.roots import RootLike, roots_result
from dedalus_mcp.errors import ConnectionLost, ErrorData, LocalProtocolError, McpError
from dedalus_mcp.jsonrpc.codec import decode, encode
from dedalus_mcp.jsonrpc.inbound import Inbound
from dedalus_mcp.jsonrpc.messages import Call, Failure, Notice, RequestId, Success
from dedalus_mcp.jsonrpc.peer import Peer
from dedalus_mcp.jsonrpc.tasks import current_loop
from dedalus_mcp.schema.signature import is_async
from dedalus_mcp.server.answers import Accepted, Cancelled, Declined
from dedalus_mcp.server.asker import Asker, LiveAsker
from dedalus_mcp.server.context import Context, current
from dedalus_mcp.server.server import MCPServer
from dedalus_mcp.session import Terms
from dedalus_mcp.testing.expected import is_object, named
from dedalus_mcp.transport import Reply
from dedalus_mcp.types import (
    ClientCapabilities,
    CreateMessageResult,
    ElicitResult,
    Implementation,
    ListRootsResult,
    TextContent,
)
from dedalus_mcp.types.meta import PROGRESS_TOKEN_KEY
from dedalus_mcp.types.methods import MESSAGE, PROGRESS
from dedalus_mcp.types.revisions import LATEST_LEGACY, REVISIONS, shape

__all__ = ("MockContext", "mock_context")

Answers: TypeAlias = Iterable[Any] | Callable[[Any], Any]
"""What the client answers: see `mock_context`."""

EVERYTHING: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {"listChanged": True},
}
"""The capabilities of a client that can be asked anything."""


class MockContext(Context):
    """A context that keeps what is sent through it.

    Attributes:
        captured_logs: Every log message that was sent: level, message, and what else is in its data (None for nothing).
        captured_progress: Every progress notice: progress, total, message.
        captured_questions: The params of every question, as the client reads them.
        captured_notices: Every other notice: method, params.
    """

    __slots__ = ("captured_logs", "captured_notices", "captured_progress", "captured_questions")

    def __init__(
        self, server: MCPServer, call: Inbound, terms: Terms, meta: Mapping[str, Any], lifespans: tuple[Any, Any]
    ) -> None:
        super().__init__(server, call.peer, call, terms, meta)
        self._lifespan, self._session_lifespan = lifespans
        self.captured_logs: list[tuple[str, str, Any]] = []
        self.captured_progress: list[tuple[float, float | None, str | None]] = []
        self.captured_questions: list[dict[str, Any]] = []
        self.captured_notices: list[tuple[str, Any]] = []

    @property
    def asker(self) -> Asker:
        """What asks the client: live on every revision, since here are no rounds to wait for."""
        return LiveAsker(self)

    async def run(self, handler: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a handler as a server does: a plain `def` in a worker thread, where it may `wait` for answers."""
        work = partial(handler, *args, **kwargs)
        return await work() if is_async(handler) else await self.server.threads.run(work)


@contextmanager
def mock_context(  # noqa: PLR0913 - what a context has, by keyword
    *,
    answers: Answers = (),
    roots: Iterable[RootLike] = (),
    request_id: RequestId = "test-request-1",
    revision: str = LATEST_LEGACY,
    capabilities: ClientCapabilities | Mapping[str, Any] | None = None,
    client_info: Implementation | None = None,
    progress_token: RequestId | None = "test-progress-1",
    meta: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    session_id: str | None = None,
    principal: str | None = None,
    lifespan: Any = None,
    session_lifespan: Any = None,
    server: MCPServer | None = None,
) -> Generator[MockContext]:
    """Give a context, which is that of `get_context` while the block is open.

    Args:
        answers: What the client answers to questions, in order; each must be asked for before the block
            ends.  A mapping is the content of an accepted form, as is `Accepted`; any other value
            stands for the one field of a form (``True`` for `confirm`) or for what the model says; `Declined`
            and `Cancelled` are no answer.  An `ErrorData` or `McpError` is replied as that error, and a
            result (`ElicitResult`, `CreateMessageResult`) as it is.  For `...` nothing ever comes, and with
            a `ConnectionLost` the client is gone.  Instead, a function of the question's params that
            returns one of these.
        roots: The client's roots.
        request_id: The id of the request.
        revision: The protocol revision that it is answered in.
        capabilities: What the client can do; everything if None.
        client_info: Who it says it is.
        progress_token: Under which it wants to hear of progress; None for a client that does not.
        meta: The `_meta` of the request.
        headers: Of the HTTP request.
        session_id: Of the HTTP session.
        principal: Who sent the request.
        lifespan: What the lifespan yielded.
        session_lifespan: What that of the session yielded.
        server: The server; an empty one if None.

    Raises:
        AssertionError: Something was asked that there is no answer for, there and at the end of the block; or
            answers are left then.
        TypeError: `answers` are none; or an answer is none, there and at the end of the block.
        ValueError: There is no such revision.
    """
    if revision not in REVISIONS:
        raise ValueError(f"no revision {revision!r:.80}; legal are {', '.join(REVISIONS)}")
    declared = EVERYTHING if capabilities is None else capabilities
    if not isinstance(declared, ClientCapabilities):
        declared = msgspec.convert(declared, ClientCapabilities)
    terms = Terms(revision, client_info, declared, "debug")
    whole = {**({} if progress_token is None else {PROGRESS_TOKEN_KEY: progress_token}), **(meta or {})}
    carrier = _Carrier({name.lower(): value for name, value in (headers or {}).items()}, session_id, principal)
    client = _Client(carrier, _Script(answers), roots)

    async def made() -> MockContext:
        own = server or MCPServer("test")
        peer = Peer(own.answering(), client, answers_malformed=True)
        call = Inbound(Call(request_id, "tools/call", Raw(b'{"name":"test"}')), client, None, peer)
        return MockContext(own, call, terms, whole, (lifespan, session_lifespan))

    client.context = context = _run_now(made)
    token = current.set(context)
    try:
        yield context
    finally:
        current.reset(token)
        if context.parked is not None:  # by a step
            context.parked.end(None)
        context.call.finished = True
    client.script.finish()


def _run_now(make: Callable[[], Any]) -> Any:
    """Run a coroutine that waits for nothing; where no event loop runs, in one of its own."""
    try:
        current_loop()
    except RuntimeError:
        return anyio.run(make)
    coroutine = make()
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waited")


@dataclass(frozen=True, slots=True)
class _Carrier:
    headers: Mapping[str, str]
    session_id: str | None
    principal: str | None


class _Script:
    """The answers that are left.

    Attributes:
        failure: Why a question could not be answered: the handler may have taken that for an answer.
    """

    def __init__(self, answers: Answers) -> None:
        self.failure: Exception | None = None
        if not _are_answers(answers):
            raise TypeError(f"answers are a list, or a plain function of a question's params, not {answers!r:.80}")
        self._function = answers if callable(answers) else None
        self._left = [] if callable(answers) else list(answers)

    def next(self, method: str, params: Any) -> Any:
        if self._function is not None:
            return self._function(params)
        if not self._left:
            raise AssertionError(f"{method} was asked, and there is no answer left: {named(params)}")
        return self._left.pop(0)

    def finish(self) -> None:
        if self.failure is not None:
            raise self.failure
        if self._left:
            raise AssertionError(f"{len(self._left)} answers were not asked for, first {self._left[0]!r:.200}")


class _Client:
    """The other side, as the channel of the call: it keeps notices, and answers questions at once."""

    full = False
    unsent = False
    takes_calls = True
    context: MockContext

    def __init__(self, carrier: _Carrier, script: _Script, roots: Iterable[RootLike]) -> None:
        self.carrier = carrier
        self.script = script
        self._roots = roots

    def send(self, frame: bytes) -> None:
        message = decode(frame)
        assert isinstance(message, Notice | Call), "a peer that is asked nothing sends nothing else"
        params: dict[str, Any] = {} if message.params is msgspec.UNSET else msgspec.json.decode(message.params)
        if isinstance(message, Notice):
            self._keep(message.method, params)
        else:
            self.context.captured_questions.append(params)
            self._reply(message.id, message.method, params)

    def reply(self, reply: Reply | None) -> None:
        raise AssertionError("the handler is called by the test, and answers nobody")

    async def ready(self) -> None:
        return

    async def flush(self) -> None:
        return

    def _keep(self, method: str, params: dict[str, Any]) -> None:
        kept = self.context
        if method == MESSAGE.name:
            data = params["data"]
            told = is_object(data) and "msg" in data  # as `Context.log` does
            rest = {name: value for name, value in data.items() if name != "msg"} if told else data
            kept.captured_logs.append((params["level"], data["msg"] if told else "", rest or None))
        elif method == PROGRESS.name:
            kept.captured_progress.append((params["progress"], params.get("total"), params.get("message")))
        else:
            kept.captured_notices.append((method, params))

    def _reply(self, id: RequestId, method: str, params: dict[str, Any]) -> None:
        try:
            self._answer(id, method, params)
        except Exception as error:
            self.script.failure = self.script.failure or error
            raise

    def _answer(self, id: RequestId, method: str, params: dict[str, Any]) -> None:
        answer = roots_result(self._roots) if method == "roots/list" else self.script.next(method, params)
        if answer is ...:
            return
        if isinstance(answer, ConnectionLost):
            self.context.peer.lose(answer.reason)
        elif isinstance(answer, ErrorData | McpError):
            self.context.peer.feed(encode(Failure(id, answer if isinstance(answer, ErrorData) else answer.error)), self)
        else:
            self.context.peer.feed(self._result(id, method, answer, params), self)

    def _result(self, id: RequestId, method: str, answer: Any, params: dict[str, Any]) -> bytes:
        try:
            result = _said(answer) if method == "sampling/createMessage" else _done(answer, params)
            return encode(Success(id, shape(result, self.context.revision)))
        except (TypeError, LocalProtocolError) as error:
            raise TypeError(
                f"{answer!r:.80} is no answer to {method}: legal are content, a value for its one field, "
                "Declined(), Cancelled(), an ErrorData or McpError, a result, `...` and ConnectionLost(...)"
            ) from error


def _are_answers(given: Any) -> bool:
    if callable(given):
        return not is_async(given)
    return isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)


def _said(answer: Any) -> Any:
    """What the model said, as a result."""
    if isinstance(answer, CreateMessageResult) or is_object(answer):
        return answer
    content: Any = TextContent(text=answer) if isinstance(answer, str) else answer
    return CreateMessageResult(role="assistant", content=content, model="test")


def _done(answer: Any, params: dict[str, Any]) -> Any:
    """What the user did, as a result."""
    if isinstance(answer, ElicitResult | ListRootsResult):
        return answer
    if isinstance(answer, Declined | Cancelled):
        return ElicitResult(action=answer.action)
    if params.get("mode") == "url":
        return ElicitResult(action="accept" if answer else "decline")
    content: Any = msgspec.to_builtins(answer.data if _is_accepted(answer) else answer, str_keys=True)
    fields: dict[str, Any] = params["requestedSchema"]["properties"]
    if not is_object(content) and len(fields) == 1:
        content = dict.fromkeys(fields, content)
    return {"action": "accept", "content": content}


def _is_accepted(answer: object) -> TypeGuard[Accepted[Any]]:
    return isinstance(answer, Accepted)
