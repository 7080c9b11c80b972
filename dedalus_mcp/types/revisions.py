"""The revisions of the protocol, and what each one's readers know.

Inside, one model holds the members of all revisions.  On its way out a value is shaped for
its reader, here and nowhere else, by the tables below:

    value ──shape──▶ members that the reader does not know are gone, blocks it does not know
                     are text ──complete──▶ members that it requires are there

Layer: L1; imports the families only.
Source: `schema.ts` of all five revisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from operator import is_
from typing import Any, Final, TypeAlias, TypeVar, cast, get_args

import msgspec
from msgspec.structs import replace

from dedalus_mcp.types import rewrites
from dedalus_mcp.types.capabilities import (
    ClientCapabilities,
    ElicitationCapability,
    RootsCapability,
    SamplingCapability,
    ServerCapabilities,
)
from dedalus_mcp.types.completion import CompleteRequestParams, PromptReference
from dedalus_mcp.types.content import (
    Annotations,
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    Resource,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolResultContent,
    ToolUseContent,
)
from dedalus_mcp.types.elicitation import ElicitRequestParams, ElicitRequestURLParams, ElicitResult
from dedalus_mcp.types.lifecycle import Implementation
from dedalus_mcp.types.listed import Part
from dedalus_mcp.types.messages import InputResponseRequestParams, NotificationParams, RequestParams, Result
from dedalus_mcp.types.meta import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LOG_LEVEL_KEY,
    PROTOCOL_VERSION_KEY,
    RELATED_TASK_KEY,
    SERVER_INFO_KEY,
    SUBSCRIPTION_ID_KEY,
)
from dedalus_mcp.types.notices import ProgressNotificationParams
from dedalus_mcp.types.prompts import Prompt, PromptArgument
from dedalus_mcp.types.resources import ResourceTemplate
from dedalus_mcp.types.roots import ListRootsResult, Root
from dedalus_mcp.types.rounds import InputRequiredResult
from dedalus_mcp.types.sampling import CreateMessageRequestParams, CreateMessageResult, SamplingMessage
from dedalus_mcp.types.tools import CallToolRequestParams, CallToolResult, Tool
from dedalus_mcp.types.wire import Choice, Wire

__all__ = (
    "FILLED",
    "LATEST",
    "LATEST_LEGACY",
    "LEGACY",
    "MEMBERS",
    "META_KEYS",
    "MODERN",
    "REVISIONS",
    "REWRITES",
    "V2024_11_05",
    "V2025_03_26",
    "V2025_06_18",
    "V2025_11_25",
    "V2026_07_28",
    "Revision",
    "Span",
    "complete",
    "shape",
)

Revision: TypeAlias = str
"""A date; comparing two as strings compares their age."""

V2024_11_05: Final = "2024-11-05"
V2025_03_26: Final = "2025-03-26"
V2025_06_18: Final = "2025-06-18"
V2025_11_25: Final = "2025-11-25"
V2026_07_28: Final = "2026-07-28"

LEGACY: Final = (V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25)
"""With the `initialize` handshake, oldest first."""
MODERN: Final = (V2026_07_28,)
"""Every request stands alone, oldest first."""
REVISIONS: Final = (*LEGACY, *MODERN)
"""All of them, oldest first."""
LATEST_LEGACY: Final = LEGACY[-1]
LATEST: Final = REVISIONS[-1]

Span: TypeAlias = tuple[Revision, Revision]
"""The first and the last revision that know something."""

_ALWAYS: Final = (V2024_11_05, V2026_07_28)
_SINCE_2025_03: Final = (V2025_03_26, V2026_07_28)
_SINCE_2025_06: Final = (V2025_06_18, V2026_07_28)
_SINCE_2025_11: Final = (V2025_11_25, V2026_07_28)
_SINCE_2026_07: Final = (V2026_07_28, V2026_07_28)
_LEGACY: Final = (V2024_11_05, V2025_11_25)
_ONLY_2025_11: Final = (V2025_11_25, V2025_11_25)

_DEFINITION: Final = {"title": _SINCE_2025_06, "meta": _SINCE_2025_06, "icons": _SINCE_2025_11}
_ROUND: Final = {"inputResponses": _SINCE_2026_07, "requestState": _SINCE_2026_07}
_META_SINCE_2025_06: Final = {"meta": _SINCE_2025_06}

MEMBERS: Final[dict[type[Any], Mapping[str, Span]]] = {
    Implementation: {
        "title": _SINCE_2025_06,
        "description": _SINCE_2025_11,
        "icons": _SINCE_2025_11,
        "websiteUrl": _SINCE_2025_11,
    },
    ClientCapabilities: {"elicitation": _SINCE_2025_06, "tasks": _ONLY_2025_11, "extensions": _SINCE_2026_07},
    RootsCapability: {"listChanged": _LEGACY},
    SamplingCapability: {"context": _SINCE_2025_11, "tools": _SINCE_2025_11},
    ElicitationCapability: {"form": _SINCE_2025_11, "url": _SINCE_2025_11},
    ServerCapabilities: {"completions": _SINCE_2025_03, "tasks": _ONLY_2025_11, "extensions": _SINCE_2026_07},
    Annotations: {"lastModified": _SINCE_2025_06},
    TextContent: _META_SINCE_2025_06,
    ImageContent: _META_SINCE_2025_06,
    AudioContent: _META_SINCE_2025_06,
    EmbeddedResource: _META_SINCE_2025_06,
    TextResourceContents: _META_SINCE_2025_06,
    BlobResourceContents: _META_SINCE_2025_06,
    Resource: _DEFINITION,
    ResourceTemplate: _DEFINITION,
    Prompt: _DEFINITION,
    Tool: _DEFINITION | {"annotations": _SINCE_2025_03, "outputSchema": _SINCE_2025_06, "execution": _ONLY_2025_11},
    PromptArgument: {"title": _SINCE_2025_06},
    PromptReference: {"title": _SINCE_2025_06},
    CompleteRequestParams: {"context": _SINCE_2025_06},
    InputResponseRequestParams: _ROUND,
    CallToolRequestParams: {"task": _ONLY_2025_11},
    CallToolResult: {"structuredContent": _SINCE_2025_06},
    Root: _META_SINCE_2025_06,
    SamplingMessage: {"meta": _SINCE_2025_11},
    CreateMessageResult: {"meta": _ALWAYS},  # it was a result before it was a message
    CreateMessageRequestParams: {
        "tools": _SINCE_2025_11,
        "toolChoice": _SINCE_2025_11,
        "task": _ONLY_2025_11,
        "meta": _LEGACY,
    },
    ElicitRequestParams: {"task": _ONLY_2025_11, "meta": _LEGACY},
    ElicitRequestURLParams: {"task": _ONLY_2025_11, "meta": _LEGACY, "elicitationId": _LEGACY},
    ElicitResult: {"meta": _LEGACY},
    ListRootsResult: {"meta": _LEGACY},
    ProgressNotificationParams: {"message": _SINCE_2025_03},
    Result: {"resultType": _SINCE_2026_07, "ttlMs": _SINCE_2026_07, "cacheScope": _SINCE_2026_07},
}
"""The members that not every revision knows; a type has its bases' too."""

META_KEYS: Final[dict[str, Span]] = {
    PROTOCOL_VERSION_KEY: _SINCE_2026_07,
    CLIENT_CAPABILITIES_KEY: _SINCE_2026_07,
    CLIENT_INFO_KEY: _SINCE_2026_07,
    LOG_LEVEL_KEY: _SINCE_2026_07,
    SERVER_INFO_KEY: _SINCE_2026_07,
    SUBSCRIPTION_ID_KEY: _SINCE_2026_07,
    RELATED_TASK_KEY: _ONLY_2025_11,
}
"""The keys of a message's `_meta` that not every revision knows."""

REWRITES: Final[dict[type[Any], tuple[tuple[Revision, Callable[[Any], Any]], ...]]] = {
    ResourceLink: ((V2025_06_18, rewrites.link_as_text),),
    AudioContent: ((V2025_03_26, rewrites.note),),
    ToolUseContent: ((V2025_11_25, rewrites.note),),
    ToolResultContent: ((V2025_11_25, rewrites.note), (V2026_07_28, rewrites.structured_as_object)),
    CallToolResult: ((V2025_06_18, rewrites.structured_as_text), (V2026_07_28, rewrites.structured_as_object)),
    Tool: ((V2026_07_28, rewrites.structured_schema),),
    CreateMessageRequestParams: ((V2025_11_25, rewrites.one_block_each),),
    SamplingMessage: ((V2025_11_25, rewrites.one_block),),
    CreateMessageResult: ((V2025_11_25, rewrites.one_block),),
}
"""How a value is reworded, the first that applies, for readers older than the revision named."""

FILLED: Final[dict[str, Any]] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""What a result of 2026-07-28 must have, with the value that promises least."""

_RESULTS: Final = (Result, InputRequiredResult)
_MESSAGES: Final = (RequestParams, NotificationParams, *_RESULTS)

T = TypeVar("T")
Step: TypeAlias = Callable[[Any], Any]


class _Plan:
    """What to do to the values of one type for one reader."""

    __slots__ = ("revision", "rewrite", "steps")

    def __init__(self, revision: Revision, rewrite: Step | None, steps: tuple[tuple[str, Any, Step], ...]) -> None:
        self.revision = revision
        self.rewrite = rewrite
        self.steps = steps  # (member, how it reads when it is not there, what to do when it is)

    def __call__(self, value: Any) -> Any:
        if self.rewrite is not None and (new := self.rewrite(value)) is not value:
            if type(new) is not type(value):
                return shape(new, self.revision)
            value = new
        changes: dict[str, Any] = {}
        for name, absent, step in self.steps:
            member = getattr(value, name)
            if member is not absent and (new := step(member)) is not member:
                changes[name] = new
        return replace(value, **changes) if changes else value


_plans: Final[dict[Revision, dict[type[Any], _Plan | None]]] = {revision: {} for revision in REVISIONS}


def shape(value: T, revision: Revision) -> T:
    """Return `value` as readers of `revision` know it; the same object if it is so already.

    Args:
        value: Params, a result, or a part of one.  What is no wire type is left as it is.
            Only a content block may become one of another type.
        revision: One of `REVISIONS`.
    """
    plans = _plans[revision]
    try:
        plan = plans[type(value)]
    except KeyError:
        plan = plans[type(value)] = _make_plan(type(value), revision)
    return value if plan is None else plan(value)


def complete(result: T, revision: Revision, server_info: Implementation | None = None) -> T:
    """Return the server's `result` as readers of `revision` must get it: shaped, nothing missing.

    Args:
        result: A `Result`, or the mapping of one's members (which is not shaped).
        revision: One of `REVISIONS`.
        server_info: Goes into the `_meta` of a 2026-07-28 result that does not name a server.
    """
    result = shape(result, revision)
    if revision not in MODERN:
        return result
    kind: Any = type(result)
    filled = _filled(kind)
    if filled is None:
        if isinstance(result, dict):
            return cast("T", _complete_members(cast("dict[str, Any]", result), server_info))
        return result
    changes = {name: value for name, value in filled if getattr(result, name) is None}
    if server_info is not None:
        meta = cast("Result", result).meta
        if meta is None:
            changes["meta"] = {SERVER_INFO_KEY: server_info}
        elif SERVER_INFO_KEY not in meta:
            changes["meta"] = {**meta, SERVER_INFO_KEY: server_info}
    return replace(cast("Any", result), **changes) if changes else result


@cache
def _filled(kind: type[Any]) -> tuple[tuple[str, Any], ...] | None:
    """The members that a result of this kind must have; None for what is no result."""
    if not issubclass(kind, _RESULTS):
        return None
    return tuple((name, value) for name, value in FILLED.items() if name in kind.__struct_fields__)


def _complete_members(members: dict[str, Any], server_info: Implementation | None) -> dict[str, Any]:
    whole = {"resultType": FILLED["resultType"], **members}
    if server_info is not None:
        whole["_meta"] = {SERVER_INFO_KEY: server_info, **(members.get("_meta") or {})}
    return whole


def _make_plan(kind: type[Any], revision: Revision) -> _Plan | None:
    if not issubclass(kind, Wire):
        return None
    rewrite = next((step for before, step in REWRITES.get(kind, ()) if revision < before), None)
    spans: dict[str, Span] = {}
    for base in reversed(kind.__mro__):
        spans |= MEMBERS.get(base, {})
    steps: list[tuple[str, Any, Step]] = []
    for field in msgspec.structs.fields(kind):
        first, last = spans.get(field.name, _ALWAYS)
        if not first <= revision <= last:
            steps.append((field.name, field.default, partial(_drop, field.default)))
        elif field.name == "meta" and issubclass(kind, _MESSAGES):
            steps.append((field.name, field.default, partial(_drop_keys, _foreign_keys(revision))))
        elif any(_make_plan(part, revision) for part in _parts(field.type)):
            steps.append((field.name, field.default, partial(_shape_parts, revision)))
    return _Plan(revision, rewrite, tuple(steps)) if rewrite or steps else None


def _drop(absent: Any, _member: Any) -> Any:
    return absent


def _foreign_keys(revision: Revision) -> frozenset[str]:
    return frozenset(key for key, (first, last) in META_KEYS.items() if not first <= revision <= last)


def _drop_keys(foreign: frozenset[str], meta: dict[str, Any]) -> dict[str, Any] | None:
    if foreign.isdisjoint(meta):
        return meta
    return {key: value for key, value in meta.items() if key not in foreign} or None


def _shape_parts(revision: Revision, member: Any) -> Any:
    """Shape a member that is a wire type, or a list or mapping of them."""
    if isinstance(member, Part):
        page: Part[Any] = cast("Any", member)
        if (written := page.written(revision, partial(shape, revision=revision))) is not None:
            return written
    if isinstance(member, list):
        parts: list[Any] = cast("Any", member)
        shaped = [shape(part, revision) for part in parts]
        return parts if all(map(is_, shaped, parts)) else shaped
    if isinstance(member, dict):
        named: dict[str, Any] = cast("Any", member)
        remade = {name: shape(part, revision) for name, part in named.items()}
        return named if all(map(is_, remade.values(), named.values())) else remade
    return shape(member, revision)


def _parts(hint: Any) -> Iterator[type[Wire]]:
    """Every wire type that a member annotated with `hint` may hold."""
    if isinstance(hint, type) and issubclass(hint, Wire):
        yield hint
    elif isinstance(hint, type) and issubclass(hint, Choice):
        yield from cast("list[type[Wire]]", hint.__subclasses__())
    else:
        for part in get_args(hint):
            yield from _parts(part)
