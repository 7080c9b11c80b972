"""Tagged types, choices and members that people write by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dedalus_mcp import types
from dedalus_mcp.types.wire import Choice, Wire, dec_hook, from_members, members_of

TAGGED: list[tuple[Any, str, str, dict[str, Any]]] = [
    (types.TextContent, "type", "text", {"text": "x"}),
    (types.ImageContent, "type", "image", {"data": "", "mimeType": "image/png"}),
    (types.AudioContent, "type", "audio", {"data": "", "mimeType": "audio/wav"}),
    (types.ResourceLink, "type", "resource_link", {"uri": "x:", "name": "n"}),
    (types.EmbeddedResource, "type", "resource", {"resource": types.TextResourceContents(uri="x:", text="")}),
    (types.ToolUseContent, "type", "tool_use", {"id": "1", "name": "n", "input": {}}),
    (types.ToolResultContent, "type", "tool_result", {"toolUseId": "1", "content": []}),
    (types.PromptReference, "type", "ref/prompt", {"name": "n"}),
    (types.ResourceTemplateReference, "type", "ref/resource", {"uri": "x:"}),
    (types.ElicitRequestURLParams, "mode", "url", {"message": "m", "url": "https://x"}),
    (types.PingRequest, "method", "ping", {}),
    (types.CallToolRequest, "method", "tools/call", {"params": types.CallToolRequestParams(name="n")}),
    (types.InitializedNotification, "method", "notifications/initialized", {}),
    (types.InputRequiredResult, "resultType", "input_required", {"requestState": "s"}),
]


@pytest.mark.parametrize(("cls", "name", "tag", "members"), TAGGED, ids=lambda value: getattr(value, "__name__", None))
def test_a_constructor_takes_its_own_tag_and_no_other(cls: Any, name: str, tag: str, members: dict[str, Any]) -> None:
    value = cls(**members)

    assert cls(**{name: tag}, **members) == value
    assert getattr(value, name) == tag
    assert msgspec.json.decode(msgspec.json.encode(value))[name] == tag
    with pytest.raises(TypeError, match=f"{cls.__name__} has {name}='{tag}', not 'wrong'"):
        cls(**{name: "wrong"}, **members)


def test_a_constructor_still_refuses_what_it_does_not_have() -> None:
    with pytest.raises(TypeError, match="txt"):
        types.TextContent(type="text", txt="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError):
        types.TextContent("x")  # type: ignore[call-arg, arg-type]  # pyright: ignore[reportCallIssue]


def test_blocks_match_by_class_and_by_tag() -> None:
    block: types.ContentBlock = types.TextContent(text="x")

    match block:
        case types.TextContent(type="text", text=text):
            assert text == "x"
        case _:
            pytest.fail("a text block matches")


def test_a_choice_takes_only_objects() -> None:
    with pytest.raises(msgspec.ValidationError, match="Expected `object`"):
        msgspec.json.decode(b'{"contents": [5]}', type=types.ReadResourceResult, dec_hook=dec_hook)


def test_the_hook_leaves_other_types_to_others() -> None:
    with pytest.raises(NotImplementedError, match="no wire type"):
        dec_hook(complex, {})
    with pytest.raises(NotImplementedError):
        Choice.choose({})


def test_members_written_by_hand_are_checked_by_name_and_type() -> None:
    class Point(Wire, frozen=True, kw_only=True):
        x: int
        y: int = 0

    assert from_members(members_of({"x": 1}, Point), Point) == Point(x=1)
    with pytest.raises(TypeError, match="Point has no 'z'; it has x, y"):
        from_members({"x": 1, "z": 2}, Point)
    with pytest.raises(TypeError, match=r"Point: Expected `int`, got `str` - at `\$\.x`"):
        from_members({"x": "1"}, Point)
    with pytest.raises(TypeError, match="Point: Object missing required field `x`"):
        from_members({}, Point)
    with pytest.raises(TypeError, match="expected Point or a mapping of its members, not int"):
        members_of(5, Point)


def test_a_choice_that_is_decoded_already_is_converted_as_well() -> None:
    contents = {"uri": "a:", "text": "t"}

    assert dec_hook(types.ResourceContents, contents) == types.TextResourceContents(uri="a:", text="t")


def test_a_content_that_is_left_out_is_an_empty_array_of_its_own() -> None:
    first, second = types.CallToolResult(), types.CallToolResult()

    assert first.content == []
    assert first.content is not second.content
