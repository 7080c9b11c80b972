"""Every wire type against the published schema of every revision that has it."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedalus_mcp import types
from dedalus_mcp.types.method import Payload
from dedalus_mcp.types.revisions import MEMBERS, REVISIONS, complete
from tests.types.published import ANY, LETTERS, TYPES, alternatives, fits, members, values

BOUNDED = settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# What a peer may leave out although a schema requires it: each is said in its type's docstring.
MAY_BE_ABSENT = {"_meta", "resultType", "ttlMs", "cacheScope", "elicitationId", "requestId"} | {
    "content of CallToolResult",
    "content of ToolResultContent",
    "params of ListToolsRequest",
    "params of ListPromptsRequest",
    "params of ListResourcesRequest",
    "params of ListResourceTemplatesRequest",
    "params of DiscoverRequest",
}
FIXED = {"type", "method", "mode"}  # the name of the type itself, told by whoever decodes it


def payload(name: str) -> Payload[Any]:
    return Payload(getattr(types, name))


def sent(value: Any) -> Any:
    """What arrives at the other side, as plain JSON."""
    return msgspec.json.decode(msgspec.json.encode(value))


def expected(value: Any) -> Any:
    """The same message without what means the same when it is left out."""
    if isinstance(value, dict):
        held: dict[str, Any] = cast("Any", value)
        left_out = (("isError", False), ("mode", "form"))
        return {name: expected(item) for name, item in held.items() if (name, item) not in left_out}
    if isinstance(value, list):
        items: list[Any] = cast("Any", value)
        return [expected(item) for item in items]
    return value


def test_every_type_of_every_schema_has_a_struct() -> None:
    missing = [name for name in TYPES if name not in types.__all__]

    assert missing == []


@pytest.mark.parametrize("name", TYPES)
def test_the_table_of_members_is_what_the_schemas_say(name: str) -> None:
    cls = getattr(types, name)
    spans = {member: span for base in reversed(cls.__mro__) for member, span in MEMBERS.get(base, {}).items()}
    field = dict(zip(cls.__struct_encode_fields__, cls.__struct_fields__, strict=True))

    for member in field.keys() & members(name, ANY).keys():
        first, last = spans.get(field[member], (REVISIONS[0], REVISIONS[-1]))
        published = {letter for letter in TYPES[name][0] if member in members(name, letter)}
        assert published == {letter for letter in TYPES[name][0] if first <= LETTERS[letter] <= last}, member


@pytest.mark.parametrize("name", TYPES)
@BOUNDED
@given(data=st.data())
def test_valid_messages_survive_unchanged(name: str, data: st.DataObject) -> None:
    for letter in TYPES[name][0]:
        message = data.draw(values(name, letter), label=letter)
        value = complete(payload(name).decode(msgspec.json.encode(message)), LETTERS[letter])

        assert sent(value) == expected(message)
        assert fits(expected(message), name, letter)


@pytest.mark.parametrize("name", TYPES)
@BOUNDED
@given(data=st.data())
def test_readers_of_every_revision_get_what_they_know_and_no_more(name: str, data: st.DataObject) -> None:
    message = data.draw(values(name, ANY))
    value = payload(name).decode(msgspec.json.encode(message))

    for letter in TYPES[name][0]:
        if letter == "C" and beyond_2025_06_18(name, message):
            continue
        assert fits(sent(complete(value, LETTERS[letter])), name, letter), letter


def beyond_2025_06_18(name: str, message: dict[str, Any]) -> bool:
    """Whether nothing in that revision can stand for the message: it is never sent to its readers."""
    match name:
        case "ElicitRequest":
            return bool(message["params"].get("mode") == "url")
        case "ElicitResult":
            return any(isinstance(value, list) for value in message.get("content", {}).values())
        case _:
            return False


@pytest.mark.parametrize("name", TYPES)
@settings(BOUNDED, max_examples=1)
@given(data=st.data())
def test_a_missing_required_member_is_refused(name: str, data: st.DataObject) -> None:
    message = data.draw(values(name, ANY))
    needed = {member for member, (required, _) in members(name, ANY).items() if required}

    for member in needed - FIXED - MAY_BE_ABSENT:
        if f"{member} of {name}" in MAY_BE_ABSENT:
            continue
        with pytest.raises(msgspec.ValidationError, match=member):
            payload(name).decode(msgspec.json.encode({key: value for key, value in message.items() if key != member}))


@pytest.mark.parametrize("name", TYPES)
@settings(BOUNDED, max_examples=1)
@given(data=st.data())
def test_a_member_of_the_wrong_type_is_refused(name: str, data: st.DataObject) -> None:
    message = data.draw(values(name, ANY))

    for member, (_, type_) in members(name, ANY).items():
        if (name, member) == ("ElicitRequestParams", "mode"):
            continue  # told by whoever decodes the type
        for value in wrong_values(type_):
            with pytest.raises(msgspec.ValidationError):
                payload(name).decode(msgspec.json.encode({**message, member: value}))


def wrong_values(type_: str) -> list[Any]:
    """Values that no revision takes; no objects where objects are taken, since those are open."""
    takes_objects = any(part in {"schema", "empty", "obj", "{obj}", *TYPES} for part in alternatives(type_))
    wrong = [5, "wrong", [5], True] if takes_objects else [5, "wrong", [5], {"wrong": 5}, True]
    return [value for value in wrong if not any(fits(value, type_, letter) for letter in ANY)]


@pytest.mark.parametrize("name", TYPES)
@settings(BOUNDED, max_examples=1)
@given(data=st.data())
def test_unknown_members_never_fail_a_decode(name: str, data: st.DataObject) -> None:
    """B121: unknown members are ignored."""
    message = data.draw(values(name, ANY))
    decode = payload(name).decode

    assert decode(msgspec.json.encode({**message, "x-unknown": [1, {}]})) == decode(msgspec.json.encode(message))
