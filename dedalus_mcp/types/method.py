"""What a method is: its types, their decoders, and who may send it when.

Layer: L1; imports the families, `lenient` and `revisions` only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dedalus_mcp.types.lenient import has_blocks, lenient
from dedalus_mcp.types.messages import Result
from dedalus_mcp.types.rounds import InputRequiredResult
from dedalus_mcp.types.wire import dec_hook

__all__ = ("Method", "NotificationMethod", "Payload")

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


class Payload(Generic[T]):
    """The type of params or of a result, and its decoder, built when it is first used."""

    __slots__ = ("_decoder", "type")

    def __init__(self, type_: Any) -> None:
        self.type: Any = type_
        self._decoder: msgspec.json.Decoder[Any] | None = None

    def decode(self, raw: bytes | Raw) -> T:
        """Decode JSON text.

        Raises:
            msgspec.ValidationError: It is JSON, but not of this type.
            msgspec.DecodeError: It is no JSON.
            RecursionError: It is nested too deeply.
        """
        if self._decoder is None:
            self._decoder = msgspec.json.Decoder(self.type, dec_hook=dec_hook)
        try:
            value: T = self._decoder.decode(raw)
        except msgspec.ValidationError:
            if not has_blocks(self.type):
                raise
            return self.convert(msgspec.json.decode(raw))
        return value

    def convert(self, members: Any) -> T:
        """Do the same with JSON that is decoded already.

        Raises:
            msgspec.ValidationError: It is not of this type.
        """
        if has_blocks(self.type):
            made: T = lenient(self.type, msgspec.convert(members, dict[str, Any]))
        else:
            made = msgspec.convert(members, self.type, dec_hook=dec_hook)
        return made


class _Named(Generic[P]):
    """What requests and notifications have in common."""

    __slots__ = ("_params", "client_sends", "name", "server_sends")

    def __init__(self, name: str, params: Any, *, client: Iterable[str] = (), server: Iterable[str] = ()) -> None:
        self.name = name
        self.client_sends = frozenset(client)
        self.server_sends = frozenset(server)
        self._params: Payload[P] = Payload(params)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def params(self) -> Any:
        """The type of the params."""
        return self._params.type

    @property
    def params_required(self) -> bool:
        """Whether a member of the params has to be there (`_meta` aside)."""
        members = getattr(self.params, "__struct_fields__", ("mode",))  # a `Choice` has some in all its types
        defaults = getattr(self.params, "__struct_defaults__", ())
        return len(members) > len(defaults) or msgspec.NODEFAULT in defaults

    def decode_params(self, raw: bytes | Raw | UnsetType = UNSET) -> P:
        """Decode the params of a message; absent and null ones are an empty object.

        Raises:
            msgspec.ValidationError: A member is missing or of the wrong type.
            msgspec.DecodeError: It is no JSON.
            RecursionError: It is nested too deeply.
        """
        if raw is UNSET:
            return self._params.decode(b"{}")
        try:
            return self._params.decode(raw)
        except msgspec.ValidationError:
            if bytes(raw).strip() != b"null":
                raise
            return self._params.decode(b"{}")

    def convert_params(self, members: Any) -> P:
        """Do the same with params that are decoded already, for example an embedded request's.

        Raises:
            msgspec.ValidationError: A member is missing or of the wrong type.
        """
        return self._params.convert(members)


class NotificationMethod(_Named[P]):
    """A notification.

    Attributes:
        name: For example ``notifications/progress``.
        client_sends: The revisions in which a client may send it.
        server_sends: The revisions in which a server may send it.
    """

    __slots__ = ()


class Method(_Named[P], Generic[P, R]):
    """A request.

    Attributes:
        name: For example ``tools/call``.
        client_sends: The revisions in which a client may send it.
        server_sends: The revisions in which a server may send it as a message of its own.
        carries_rounds: Its result may ask for input first (2026-07-28).
        embedded: It may be such a question (2026-07-28).
        named_by: The member of its params that goes into the HTTP header `Mcp-Name`.
    """

    __slots__ = ("_result", "carries_rounds", "embedded", "named_by")

    def __init__(  # noqa: PLR0913 - the columns of the table below
        self,
        name: str,
        params: Any,
        result: Any,
        *,
        client: Iterable[str] = (),
        server: Iterable[str] = (),
        named_by: str | None = None,
        carries_rounds: bool = False,
        embedded: bool = False,
    ) -> None:
        super().__init__(name, params, client=client, server=server)
        self._result: Payload[R] = Payload(result)
        self.named_by = named_by
        self.carries_rounds = carries_rounds
        self.embedded = embedded

    @property
    def result(self) -> Any:
        """The type of the result."""
        return self._result.type

    def decode_result(self, raw: bytes | Raw) -> R:
        """Decode a result.

        Raises:
            msgspec.ValidationError: A member is missing or of the wrong type.
            msgspec.DecodeError: It is no JSON.
            RecursionError: It is nested too deeply.
        """
        return self._result.decode(raw)

    def convert_result(self, members: Any) -> R:
        """Do the same with a result that is decoded already, for example an input response.

        Raises:
            msgspec.ValidationError: A member is missing or of the wrong type.
        """
        return self._result.convert(members)

    def decode_outcome(self, raw: bytes | Raw) -> R | InputRequiredResult:
        """Decode a result of 2026-07-28, which may ask for input first.

        Raises:
            msgspec.ValidationError: A member is missing or of the wrong type, or the
                `resultType` is none that this method has.
            msgspec.DecodeError: It is no JSON.
            RecursionError: It is nested too deeply.
        """
        kind = _KIND.decode(raw).resultType
        if kind is None or kind == "complete":
            return self._result.decode(raw)
        if kind != "input_required" or not self.carries_rounds:
            raise msgspec.ValidationError(f"{self.name} has no resultType {kind[:64]!r}")
        return _INPUT_REQUIRED.decode(raw)


_KIND: Final[Payload[Result]] = Payload(Result)
_INPUT_REQUIRED: Final[Payload[InputRequiredResult]] = Payload(InputRequiredResult)
