"""Bytes to typed messages and back; nothing that comes from outside makes it raise.

    decode(frame) ──▶ Call | Notice | Success | Failure     one message
                  ──▶ [message | Malformed, ...]            a batch
                  ──▶ Malformed                             anything else, with the reply to give

`params` and `result` stay raw: the owner of the method decodes them, so every byte is decoded
once.  Encoding is one pass over the whole message.

Layer: L1; imports `errors`, `ends` and `messages` only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dedalus_mcp.errors import INVALID_REQUEST, PARSE_ERROR, ErrorData, LocalProtocolError
from dedalus_mcp.jsonrpc import ends
from dedalus_mcp.jsonrpc.messages import Call, Failure, Malformed, Message, Notice, RequestId, Success

__all__ = ("Decoded", "decode", "encode", "encode_batch", "encode_value", "plain")

# More messages than any peer needs at once, and few enough to refuse each of them by itself:
# a megabyte of garbage items would otherwise hold up the event loop for many seconds.
MAX_BATCH = 1000

# A frame that cannot be read is parsed once more to find its id, which takes up to 25 times its
# size in memory; of a longer one, in bytes, the two ends must do.
MAX_RECOVERED = 4 << 20

Decoded: TypeAlias = Message | Malformed | list[Message | Malformed]


class _Envelope(msgspec.Struct):
    # msgspec cannot tell messages apart by the members present, so all of them are decoded
    # into this one and classified afterwards.
    jsonrpc: Literal["2.0"]
    id: RequestId | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: ErrorData | UnsetType = UNSET


_decode_envelope = msgspec.json.Decoder(_Envelope).decode


@cache
def _items_decoder() -> Callable[[bytes | Raw], msgspec.Struct]:
    # Not `list[Raw]`: that would make an object of each of thirty million items before they could
    # be counted.  This stops at the first one too many.
    fields = [(f"item{number}", Raw | UnsetType, UNSET) for number in range(MAX_BATCH)]
    items = msgspec.defstruct("_Items", fields, array_like=True, forbid_unknown_fields=True)
    return msgspec.json.Decoder(items).decode


def decode(frame: bytes | Raw) -> Decoded:
    """Read one frame.  Never raises, whatever the bytes are."""
    try:
        return _classify(_decode_envelope(frame))
    except (msgspec.DecodeError, RecursionError) as error:
        return _decode_batch(frame) if _is_array(frame) else _malformed(frame, error)


def _classify(envelope: _Envelope) -> Message | Malformed:
    if envelope.method is UNSET:
        return _reply(envelope)
    id = envelope.id
    if envelope.result is not UNSET or envelope.error is not UNSET:
        return _invalid(id, "a message with 'method' has neither 'result' nor 'error'")
    if id is UNSET:
        return Notice(envelope.method, envelope.params)
    if id is None:
        return _invalid(None, "'id' is a string or an integer, never null")
    return Call(id, envelope.method, envelope.params)


def _reply(envelope: _Envelope) -> Message | Malformed:
    id, result, error = envelope.id, envelope.result, envelope.error
    if result is UNSET and error is UNSET:
        return msgspec.structs.replace(_invalid(id, "a message has 'method', 'result' or 'error'"), is_bare=True)
    if result is UNSET and error is not UNSET:
        return Failure(None if id is UNSET else id, error)
    if error is UNSET and id is not UNSET and id is not None:
        return Success(id, result)
    return _invalid(id, "a reply has an 'id' and either 'result' or 'error'", is_reply=True)


def _invalid(id: RequestId | UnsetType | None, why: str, *, is_reply: bool = False) -> Malformed:
    return Malformed(None if id is UNSET else id, ErrorData(INVALID_REQUEST, f"Invalid message: {why}"), is_reply)


def _is_array(frame: bytes | Raw) -> bool:
    return bytes(memoryview(frame)[:64]).lstrip(b" \t\r\n")[:1] == b"["


def _decode_batch(frame: bytes | Raw) -> list[Message | Malformed] | Malformed:
    items: list[Raw] = []
    try:
        items = [item for item in msgspec.structs.astuple(_items_decoder()(frame)) if item is not UNSET]
    except msgspec.ValidationError:  # too many
        pass
    except (msgspec.DecodeError, RecursionError) as error:
        return _malformed(frame, error)
    if not items:
        return _invalid(None, f"a batch has 1 to {MAX_BATCH} messages")
    return [_invalid(None, "no batch inside a batch") if _is_array(item) else _decode_item(item) for item in items]


def _decode_item(item: Raw) -> Message | Malformed:
    try:
        return _classify(_decode_envelope(item))
    except (msgspec.DecodeError, RecursionError) as error:
        return _malformed(item, error)


def _malformed(frame: bytes | Raw, error: Exception) -> Malformed:
    """Say what is wrong, and whose message it was: a peer that gets its id back does not hang."""
    id, is_reply = _recover(frame)
    if isinstance(error, msgspec.ValidationError):
        return Malformed(id, ErrorData(INVALID_REQUEST, f"Invalid message: {error!s:.160}"), is_reply)
    why = "nested too deeply" if isinstance(error, RecursionError) else "not valid JSON in UTF-8"
    return Malformed(id, ErrorData(PARSE_ERROR, f"Parse error: {why}"), is_reply)


def _recover(frame: bytes | Raw) -> tuple[RequestId | None, bool]:
    # The standard parser reads what msgspec refuses whole: lone surrogates, NaN, huge numbers.
    view = memoryview(frame)
    if len(view) > MAX_RECOVERED:
        return ends.whose(bytes(view[: ends.LENGTH]), bytes(view[-ends.LENGTH :]))
    try:
        members = msgspec.convert(json.loads(str(view, "utf-8", "replace")), dict[str, Any])
    except (ValueError, RecursionError, msgspec.ValidationError):
        return ends.whose(bytes(view[: ends.LENGTH]), bytes(view[-ends.LENGTH :]))
    id = members.get("id")
    legible = isinstance(id, (int, str)) and not isinstance(id, bool)
    return (id if legible else None), "method" not in members and ("result" in members or "error" in members)


def encode(message: Message) -> bytes:
    """Write one message as one frame, free of line breaks of any kind.

    A reply or notice that holds half of a surrogate pair goes out with U+FFFD in its place.

    Raises:
        LocalProtocolError: The message cannot be JSON, or it is a call and would be altered.
    """
    try:
        frame = _encode(message)
    except UnicodeEncodeError as error:
        if isinstance(message, Call):
            raise LocalProtocolError(f"{message.method!r} holds half of a surrogate pair, which UTF-8 lacks") from error
        frame = _encode_whole(message)
    except Exception as error:  # values bring code of their own, which may raise anything
        raise _not_json(error) from error
    if b"\n" in frame or b"\r" in frame:  # between the tokens of a `Raw` that came pretty-printed
        frame = frame.replace(b"\n", b" ").replace(b"\r", b" ")
    return frame if frame.isascii() else _escaped(frame)


def encode_value(value: Any, *, repair: bool = False) -> bytes:
    """Write a part of a message, to be put into one as it is.

    Args:
        value: Params, a result, or a part of one.
        repair: Put U+FFFD in the place of half a surrogate pair, instead of refusing it.

    Raises:
        LocalProtocolError: It cannot be JSON, or would have to be altered.
    """
    try:
        return _encode(value)
    except UnicodeEncodeError as error:
        if repair:
            return _encode_whole(value)
        raise LocalProtocolError("it holds half of a surrogate pair, which UTF-8 lacks") from error
    except Exception as error:  # values bring code of their own, which may raise anything
        raise _not_json(error) from error


def encode_batch(frames: list[bytes]) -> bytes:
    """Join encoded messages into one batch frame (2025-03-26)."""
    return b"[" + b",".join(frames) + b"]"


def _encode_whole(message: Any) -> bytes:
    try:
        return _encode(_whole(msgspec.to_builtins(message, enc_hook=plain)))
    except Exception as error:
        raise _not_json(error) from error


def _not_json(error: Exception) -> LocalProtocolError:
    if isinstance(error, RecursionError):
        return LocalProtocolError("the message is nested too deeply, or holds itself")
    return LocalProtocolError(f"the message cannot be written as JSON: {error}")


_MADE_OF: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int),
    (float, float),
    (Mapping, dict),
    (list, list),
    (Raw, msgspec.json.decode),  # only ever asked for by the pass that repairs surrogates
)


def plain(value: Any) -> Any:
    """Turn a value that msgspec does not know into one that it does.

    Subclasses of str, int, float, dict and list count as what they are made of, and pydantic
    models as their JSON form.

    Raises:
        NotImplementedError: The value is nothing of that kind.
    """
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json", by_alias=True)
    for base, made_of in _MADE_OF:
        if isinstance(value, base):
            return made_of(value)
    raise NotImplementedError(f"{type(value).__name__} is not JSON")


_encode = msgspec.json.Encoder(enc_hook=plain).encode


def _escaped(frame: bytes) -> bytes:
    # Readers that split at Unicode's line breaks (NEL, LS, PS) would cut the message in two.
    # Inside JSON these bytes occur in strings only.
    frame = frame.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return frame.replace(b"\xc2\x85", b"\\u0085")


def _whole(value: Any) -> Any:
    """`value` (builtins) with U+FFFD for every half of a surrogate pair; whole pairs are joined."""
    kind = cast("type[object]", type(value))
    if kind is str:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if kind is dict:
        return {_whole(key): _whole(item) for key, item in value.items()}
    if kind in (list, tuple):
        return [_whole(item) for item in value]
    return value
