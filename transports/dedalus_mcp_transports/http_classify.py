"""What a POST is: of which era, and whether its headers say the same as its body.

    body with a protocol version in `_meta`, or a header that names no legacy revision ──▶ modern
    anything else                                                                      ──▶ legacy

The body is the source of truth, so each message is told by itself and no era is ever locked.
A modern message is checked as far as headers go; methods, params and capabilities are the
engine's business.

Source: MCP 2026-07-28, basic/transports/streamable-http and basic/versioning.
Layer: L2; imports `errors`, `messages`, `types` and `http_headers` only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dedalus_mcp.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    ErrorData,
)
from dedalus_mcp.jsonrpc.messages import Call, Failure, Malformed, Message, Notice, RequestId, Success
from dedalus_mcp.types.meta import CLIENT_CAPABILITIES_KEY, PROTOCOL_VERSION_KEY
from dedalus_mcp.types.revisions import LEGACY, MODERN, V2025_03_26
from dedalus_mcp_transports.http_headers import ConflictingHeader, Headers, decode_value

__all__ = ("NAME", "Refused", "Route", "classify", "legacy_revision", "status_of")

VERSION, METHOD, NAME = b"mcp-protocol-version", b"mcp-method", b"mcp-name"

NAMED_BY: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""The methods that `Mcp-Name` goes with, and the member of their params that it repeats (HTTP-54)."""

_STATUS: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_REQUIRED_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}


def status_of(code: int) -> int:
    """Return the HTTP status of a modern JSON reply whose error has this code (AMB-04)."""
    return _STATUS.get(code, 200)


@dataclass(frozen=True, slots=True)
class Refused:
    """A message that goes no further.

    Attributes:
        status: The HTTP status.
        failure: The body: what is wrong, under the id of the message if it has one.
    """

    status: int
    failure: Failure


Route: TypeAlias = Literal["legacy", "legacy batch", "modern"]


_Other: TypeAlias = list[Raw] | str | float | bool | None  # JSON that is no object


class _Object(msgspec.Struct):
    """An object, whatever is in it."""


class _Meta(msgspec.Struct):
    version: Any = msgspec.field(name=PROTOCOL_VERSION_KEY, default=UNSET)
    capabilities: _Object | _Other | UnsetType = msgspec.field(name=CLIENT_CAPABILITIES_KEY, default=UNSET)


class _Params(msgspec.Struct):
    meta: _Meta | _Other | UnsetType = msgspec.field(name="_meta", default=UNSET)
    name: Any = UNSET
    uri: Any = UNSET
    taskId: Any = UNSET


_NOTHING: Final = _Params()
_NO_META: Final = _Meta()
_decode_params = msgspec.json.Decoder(_Params | _Other).decode


def classify(message: Message | Malformed | list[Message | Malformed], headers: Headers) -> Route | Refused:
    """Say what becomes of a POST whose body `codec.decode` has read.

    "legacy" and "legacy batch" go on to `legacy_revision`, once their session is known.
    "modern" has headers that match; a modern notice is answered with 202 and has no effect.
    """
    try:
        version = headers.one(VERSION) or None
    except ConflictingHeader as error:
        modern = any(value not in LEGACY for value in error.values)
        return _refused(HEADER_MISMATCH if modern else INVALID_REQUEST, str(error), _id_of(message))
    modern = version is not None and version not in LEGACY
    match message:
        case Call():
            params = _peek(message.params)
            return _climb(message, params, version, headers) if modern or _is_stamped(params) else "legacy"
        case Notice():
            params = _peek(message.params)
            return _notice(params, version) if modern or _is_stamped(params) else "legacy"
        case Success() | Failure():
            why = "Invalid request: clients do not reply in this revision"
            return _refused(INVALID_REQUEST, why) if modern else "legacy"
        case Malformed():
            return Refused(400, Failure(None if message.is_reply else message.id, message.error))
        case _:
            return _batch(message, modern=modern)


def legacy_revision(route: Route, headers: Headers, agreed: str | None) -> str | Refused:
    """Return the revision of a message that is legacy, or refuse it.

    Args:
        route: What `classify` said.
        headers: The same headers.
        agreed: What the session agreed on; None without a session.
    """
    version = headers.one(VERSION) or None
    revision = agreed or version or V2025_03_26  # HTTP-48
    if version is not None and version != revision:
        return _refused(INVALID_REQUEST, f"Invalid request: the session speaks {agreed}, not {version:.40}")
    if route == "legacy batch" and revision != V2025_03_26:
        return _refused(INVALID_REQUEST, f"Invalid request: {revision} has no batches")
    return revision


def _batch(items: list[Message | Malformed], *, modern: bool) -> Route | Refused:
    stamped = (isinstance(item, Call | Notice) and _is_stamped(_peek(item.params)) for item in items)
    if modern or any(stamped):
        return _refused(INVALID_REQUEST, "Invalid request: this revision has no batches")
    return "legacy batch"


def _peek(params: Raw | UnsetType) -> _Params | None:
    """The members that matter here; None where `params` is no object, or not readable."""
    if params is UNSET:
        return _NOTHING
    try:
        found = _decode_params(params)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, _Params) else None


def _is_stamped(params: _Params | None) -> bool:
    """Whether they name a version."""
    return params is not None and isinstance(params.meta, _Meta) and params.meta.version is not UNSET


def _climb(call: Call, params: _Params | None, version: str | None, headers: Headers) -> Route | Refused:
    """Take the checks of a modern request, the first that fails deciding."""
    if params is None:
        return _refused(INVALID_REQUEST, "Invalid request: 'params' is no readable object", call.id)
    meta = params.meta if isinstance(params.meta, _Meta) else _NO_META
    if not isinstance(meta.version, str):
        return _refused(INVALID_PARAMS, _incomplete(PROTOCOL_VERSION_KEY, "a string"), call.id, _supported(version))
    if not isinstance(meta.capabilities, _Object):
        return _refused(INVALID_PARAMS, _incomplete(CLIENT_CAPABILITIES_KEY, "an object"), call.id)
    return _version_fault(meta.version, version, call.id) or _name_fault(call, params, headers) or "modern"


def _notice(params: _Params | None, version: str | None) -> Route | Refused:
    found = params.meta.version if params is not None and isinstance(params.meta, _Meta) else version
    if found is UNSET:
        found = version
    if not isinstance(found, str):
        return _refused(INVALID_PARAMS, _incomplete(PROTOCOL_VERSION_KEY, "a string"))
    return _version_fault(found, version, None) or "modern"


def _version_fault(found: str, version: str | None, id: RequestId | None) -> Refused | None:
    if version == found and found in MODERN:
        return None
    if version is None:
        return _refused(HEADER_MISMATCH, "Header mismatch: MCP-Protocol-Version is missing", id)
    if version != found:
        return _refused(HEADER_MISMATCH, "Header mismatch: MCP-Protocol-Version differs from the body", id)
    return _refused(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", id, _supported(found))


def _name_fault(call: Call, params: _Params, headers: Headers) -> Refused | None:
    member = NAMED_BY.get(call.method)
    wanted = None if member is None else getattr(params, member)
    try:
        if not headers.says(METHOD, call.method) and (method := headers.one(METHOD)) != call.method:
            return _mismatch(call, "Mcp-Method", method)
        if isinstance(wanted, str) and not headers.says(NAME, wanted):
            name = headers.one(NAME)
            if name is None or decode_value(name) != wanted:
                return _mismatch(call, "Mcp-Name", name)
    except ValueError as error:
        return _refused(HEADER_MISMATCH, f"Header mismatch: {error}", call.id)
    return None


def _mismatch(call: Call, header: str, value: str | None) -> Refused:
    fault = "is missing" if value is None else "differs from the body"
    return _refused(HEADER_MISMATCH, f"Header mismatch: {header} {fault}", call.id)


def _incomplete(key: str, kind: str) -> str:
    spoken = ", ".join(MODERN)
    return f"Invalid params: `_meta` must have {key} ({kind}) in {spoken}"


def _supported(requested: str | None) -> dict[str, Any]:
    return {"supported": list(MODERN), "requested": requested}


def _refused(code: int, message: str, id: RequestId | None = None, data: Any = None) -> Refused:
    return Refused(400, Failure(id, ErrorData(code, message, data)))


def _id_of(message: Message | Malformed | list[Message | Malformed]) -> RequestId | None:
    return message.id if isinstance(message, Call) else None
