"""What a client keeps between two rounds of a call: `requestState`, written and read.

    without keys   mark.handle.round            what it is good for stays here, in `parking`
    with keys      ~ sealed(handle, round, expiry, questions, journal)
                   good in every process with the same keys, and after a restart

A sealed state is bound to the request, the server and whoever proved to have sent it.

Layer: L4; no I/O but the wall clock.
Source: MCP 2026-07-28, basic/patterns, "Multi round-trip requests"; MRTR-08 to MRTR-10.
"""

from __future__ import annotations

import logging
import time
from hashlib import blake2b

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dedalus_mcp.server.journal import Outcome
from dedalus_mcp.server.rounds import BadState
from dedalus_mcp.server.seal import Seal

__all__ = ("State", "StateWriter", "request_digest")

logger = logging.getLogger("dedalus_mcp")

MAX_STATE_BYTES = 64 * 1024
"""What a sealed state may grow to; a longer one would travel with every round, both ways."""

_MARK_BYTES = 4  # tells instances of a server apart, in the log
_DIGITS = 4  # of a round's number
_SEALED = "~"
_FOREIGN = (
    "it was issued by another process or before a restart, if by any: set state_keys= where several processes "
    "serve, or where states must survive one"
)


class State(msgspec.Struct, frozen=True, array_like=True):
    """What a state says.

    Attributes:
        handle: The call.
        round: The number of the round that it was given with.
        born: When the call asked first, in seconds since the epoch.
        expires: When the round expires, by the same clock.
        asked: The questions of the round: their methods by name.
        outcomes: The call's journal; None in a state that is not sealed.
    """

    handle: str
    round: int
    born: float = 0.0
    expires: float = 0.0
    asked: dict[str, str] = {}
    outcomes: dict[str, Outcome] | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(State).decode


class StateWriter:
    """Writes and reads the states of one server in one event loop.

    Args:
        server: The server's name: what is sealed for one server is no good for another.
        seal: Where states must be good elsewhere, too; None where they need not.
    """

    def __init__(self, server: str, seal: Seal | None) -> None:
        self.seal = seal
        self._server = server
        from secrets import token_urlsafe  # noqa: PLC0415 - loads much, and most programs never get here

        self._mark = token_urlsafe(_MARK_BYTES)

    def write(self, state: State, request: bytes, principal: str | None) -> str:
        """Return a state as text.

        Args:
            state: What it says.
            request: What request it is given with: see `request_digest`.
            principal: Who sent that, as far as it was proved.
        """
        if self.seal is not None:
            text = _SEALED + self.seal.seal(_encode(state), self._bound_to(request, principal))
            if len(text) <= MAX_STATE_BYTES:
                return text
            logger.warning(
                "a call of server %r has a journal of more than %d bytes: it can be resumed in this process alone",
                self._server,
                MAX_STATE_BYTES,
            )
        return f"{self._mark}.{state.handle}.{state.round}"

    def read(self, text: str, request: bytes, principal: str | None) -> State:
        """Read a state that came with a request.

        Args:
            text: The state.
            request: What request it came with.
            principal: Who sent that.

        Raises:
            BadState: It is no good for this request.
        """
        if text.startswith(_SEALED):
            return self._opened(text[1:], self._bound_to(request, principal))
        mark, _, rest = text.partition(".")
        handle, _, digits = rest.partition(".")
        if mark != self._mark:
            raise BadState(_FOREIGN)
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
            raise BadState("it is none of ours")
        return State(handle, int(digits))

    def _opened(self, text: str, bound_to: bytes) -> State:
        if self.seal is None:
            raise BadState("it is sealed, and there are no state_keys= here")
        if len(text) > MAX_STATE_BYTES:
            raise BadState("it is longer than any that was given out")
        data = self.seal.open(text, bound_to)
        if data is None:
            raise BadState("it was sealed by other keys, for another request or client, or altered")
        state = _decode(data)
        if state.expires <= time.time():
            raise BadState("it has expired")
        return state

    def _bound_to(self, request: bytes, principal: str | None) -> bytes:
        return _encode([self._server, principal, request])


class _Target(msgspec.Struct):
    name: str | None = None
    uri: str | None = None
    arguments: Raw = Raw(b"")


_decode_target = msgspec.json.Decoder(_Target).decode
_NO_ARGUMENTS = (b"", b"null", b"{}")  # clients may write what is empty, or leave it out


def request_digest(method: str, params: Raw | UnsetType) -> bytes:
    """Return what request it is: its method, its target and its arguments, however they were written.

    Raises:
        RecursionError: They are nested too deeply.
    """
    target = _Target() if params is UNSET else _decode_target(params)
    arguments = bytes(target.arguments)
    asked = None if arguments in _NO_ARGUMENTS else _decode_arguments(arguments)
    bound = msgspec.json.encode([method, target.name, target.uri, asked], order="sorted")
    return blake2b(bound, digest_size=16).digest()


def _number(text: str) -> float:
    """Read a number with a point or an exponent in one way: some peers write 1 for 1.0."""
    value = float(text)
    return int(value) if value.is_integer() else value


_decode_arguments = msgspec.json.Decoder(float_hook=_number).decode
