"""Steps: side effects of a call that must not happen again when its handler runs again elsewhere.

    first run   fn(*args) ──▶ result or failure ──▶ journal
    replay      journal   ──▶ the same result or failure; fn is not called

Both runs see the same: what a step returns has been through JSON, and what it raises is a
`StepError`, so that development shows what production does.

Layer: L4.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from dedalus_mcp.errors import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    ErrorData,
    LocalProtocolError,
    McpError,
    NoActiveCall,
    StepError,
)
from dedalus_mcp.jsonrpc.codec import encode_value
from dedalus_mcp.schema.signature import is_async, returned
from dedalus_mcp.server.asker import in_step
from dedalus_mcp.server.journal import Answer, Fault, Journal, Outcome, check_name

if TYPE_CHECKING:
    from dedalus_mcp.server.parked_call import ParkedCall
    from dedalus_mcp.threads import Threads

__all__ = ("Steps",)


class Steps:
    """The steps of one call.

    Args:
        call: The call, where it asks in rounds; None for one that never runs again.
        threads: Where a plain `def` runs.
    """

    def __init__(self, call: ParkedCall | None, threads: Threads) -> None:
        from secrets import token_urlsafe  # noqa: PLC0415 - loads much, and most programs never get here

        self._call = call
        self._threads = threads
        self._journal = Journal() if call is None else call.journal
        self._secret = token_urlsafe() if call is None else call.handle
        self._running: set[str] = set()

    def key(self, name: str) -> str:
        """Return what the next step of that name is known by: the same in every run, and unguessable."""
        check_name("the name of a step", name)
        entry = self._journal.next_step(name).encode()
        return blake2b(entry, key=self._secret.encode(), digest_size=16).hexdigest()

    async def run(self, name: str, fn: Callable[[], Any]) -> Any:
        """Take a step, or return what it led to before: see `Context.step`."""
        check_name("the name of a step", name)
        if in_step.get() is not None:
            raise RuntimeError(f"step {name!r} is inside of step {in_step.get()!r}: steps do not nest")
        if name in self._running:
            raise RuntimeError(f"step {name!r} is running already: two at once need two names")
        entry = self._journal.step(name)
        outcome, cause = self._journal.outcome(entry), None
        if outcome is None:
            if self._call is not None and self._call.disowned:
                raise NoActiveCall(METHOD_NOT_FOUND, f"step {name!r} is not taken: {self._call.cancelled}")
            outcome, cause = await self._take(name, fn)
            self._journal.record(entry, outcome)
        if isinstance(outcome, Answer):
            return _read(outcome.result, fn)
        assert isinstance(outcome, Fault), "steps are not abandoned"
        raise StepError(name, outcome.read()) from cause

    async def _take(self, name: str, fn: Callable[[], Any]) -> tuple[Outcome, Exception | None]:
        with self._being_taken(name):
            try:
                value = await self._called(fn)
            except McpError as error:
                return Fault.of(error.error), error
            except Exception as error:  # noqa: BLE001 - it is raised again, as every run of the call sees it
                return Fault.of(ErrorData(INTERNAL_ERROR, f"{type(error).__name__}: {error}")), error
        try:
            return Answer(encode_value(value)), None
        except LocalProtocolError as error:
            raise TypeError(f"step {name!r} returned what cannot be kept: {error}") from None

    @contextmanager
    def _being_taken(self, name: str) -> Generator[None]:
        self._running.add(name)
        token = in_step.set(name)
        if self._call is not None:
            self._call.step_began()
        try:
            yield
        finally:
            if self._call is not None:
                self._call.step_ended()
            in_step.reset(token)
            self._running.discard(name)

    async def _called(self, fn: Callable[[], Any]) -> Any:
        value = fn() if is_async(fn) else await self._threads.run(fn)
        return await value if inspect.isawaitable(value) else value


def _read(result: bytes, fn: Callable[..., Any]) -> Any:
    """What a step returned, as the type that it says it returns if that can be read from JSON."""
    try:
        annotation = returned(fn)
        decoder = msgspec.json.Decoder(Any if annotation is UNSET else annotation)
    except TypeError:
        return msgspec.json.decode(result)
    return decoder.decode(result)
