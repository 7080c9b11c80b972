"""What the families promise beyond their schemas."""

from __future__ import annotations

import msgspec
import pytest

from dedalus_mcp import types
from dedalus_mcp.types.methods import ELICITATION_CREATE, RESOURCES_READ, TASKS_GET, TOOLS_LIST


def test_an_icon_is_made_of_a_mapping_with_url() -> None:
    icon = types.Icon(src="https://example.com/icon.png")

    assert types.Icon.of({"type": "url", "url": "https://example.com/icon.png"}) == icon
    assert types.Icon.of({"src": "https://example.com/icon.png"}) == icon
    assert types.Icon.of(icon) is icon
    assert types.Icon.of({"src": "x:", "mimeType": "image/png", "sizes": ["any"], "theme": "dark"}).theme == "dark"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"type": "emoji", "src": "x:"}, "an icon's type is 'url', not 'emoji'"),
        ({"src": "x:", "colour": 1}, "Icon has no 'colour'; it has src, mimeType, sizes, theme"),
        ({"url": "x:", "src": "x:"}, "both `src` and `url`"),
        ({"url": 5}, "Expected `str`, got `int`"),
        ({}, "missing required field `src`"),
        ("x:", "expected Icon or a mapping of its members, not str"),
    ],
)
def test_what_is_no_icon_is_refused_in_words(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        types.Icon.of(wrong)


def test_a_prompt_argument_is_made_of_a_mapping() -> None:
    argument = types.PromptArgument(name="language", required=False)

    assert types.PromptArgument.of({"name": "language", "required": False}) == argument
    assert types.PromptArgument.of(argument) is argument
    with pytest.raises(TypeError, match="PromptArgument has no 'requird'"):
        types.PromptArgument.of({"name": "n", "requird": True})


def test_a_form_reads_as_form_and_writes_no_mode() -> None:
    params = types.ElicitRequestParams(message="Deploy?", requestedSchema={"type": "object", "properties": {}})

    assert params.mode == "form"
    assert types.ElicitRequestParams(mode="form", message="m", requestedSchema={}).message == "m"
    assert b"mode" not in msgspec.json.encode(params)
    with pytest.raises(TypeError, match="has mode='form', not 'url'"):
        types.ElicitRequestParams(mode="url", message="m", requestedSchema={})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_the_mode_of_an_elicitation_picks_its_type() -> None:
    form = types.ElicitRequestParams(message="m", requestedSchema={})
    url = types.ElicitRequestURLParams(message="m", url="u", elicitationId="e")
    decode = ELICITATION_CREATE.decode_params

    assert decode(b'{"message":"m","requestedSchema":{}}') == form
    assert decode(b'{"mode":null,"message":"m","requestedSchema":{}}') == form
    assert decode(b'{"mode":"form","message":"m","requestedSchema":{}}') == form
    assert decode(b'{"mode":"url","message":"m","url":"u","elicitationId":"e"}') == url
    with pytest.raises(msgspec.ValidationError, match="legal are 'form' and 'url'"):
        decode(b'{"mode":"sms","message":"m"}')


@pytest.mark.parametrize(
    "answer", [b'{"action":"cancel","content":null}', b'{"action":"cancel"}', b'{"action":"decline","content":{}}']
)
def test_an_answer_without_content_is_read_however_it_is_written(answer: bytes) -> None:
    """B014: null and missing content are the same."""
    result = ELICITATION_CREATE.decode_result(answer)

    assert result.action in ("cancel", "decline")
    assert not result.content


def test_an_answer_keeps_floats_and_lists() -> None:
    result = ELICITATION_CREATE.decode_result(b'{"action":"accept","content":{"a":1,"b":1.5,"c":["x"],"d":true}}')

    assert msgspec.json.encode(result) == b'{"action":"accept","content":{"a":1,"b":1.5,"c":["x"],"d":true}}'


def test_resource_contents_are_told_apart_by_what_they_hold() -> None:
    result = RESOURCES_READ.decode_result(b'{"contents":[{"uri":"a:","text":"t"},{"uri":"b:","blob":"YQ=="}]}')

    assert result.contents == [
        types.TextResourceContents(uri="a:", text="t"),
        types.BlobResourceContents(uri="b:", blob="YQ=="),
    ]
    with pytest.raises(msgspec.ValidationError, match="`text` or `blob`"):
        RESOURCES_READ.decode_result(b'{"contents":[{"uri":"a:"}]}')


def test_schemas_survive_unchanged() -> None:
    """B121: what a schema holds is kept, known or not."""
    tools = b'{"tools":[{"name":"n","inputSchema":{"$schema":"s","x-foo":[null],"enumNames":["a"],"type":"object"}}]}'

    assert msgspec.json.encode(TOOLS_LIST.decode_result(tools).tools[0].inputSchema) == (
        b'{"$schema":"s","x-foo":[null],"enumNames":["a"],"type":"object"}'
    )


def test_a_task_kept_for_ever_says_so() -> None:
    task = b'{"taskId":"1","status":"working","createdAt":"t","lastUpdatedAt":"t","ttl":null}'

    assert msgspec.json.encode(TASKS_GET.decode_result(task)) == task


def test_a_capability_without_settings_is_there() -> None:
    capabilities = msgspec.json.decode(b'{"logging":{},"tools":{}}', type=types.ServerCapabilities)

    assert capabilities.logging
    assert capabilities.tools
    assert capabilities.completions is None
    assert msgspec.json.encode(capabilities) == b'{"logging":{},"tools":{}}'


def test_structured_content_tells_null_from_absent() -> None:
    """2026-07-28, server/tools: structured content is any JSON value, null too."""
    null, absent = types.CallToolResult(structuredContent=None), types.CallToolResult()

    assert msgspec.json.encode(null) == b'{"content":[],"structuredContent":null}'
    assert msgspec.json.encode(absent) == b'{"content":[]}'
    assert msgspec.json.decode(msgspec.json.encode(null), type=types.CallToolResult) == null != absent
