"""What readers of each revision get: every cell of the table of differences."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dedalus_mcp import types
from dedalus_mcp.types.listed import Listed
from dedalus_mcp.types.meta import CLIENT_INFO_KEY, PROTOCOL_VERSION_KEY, RELATED_TASK_KEY, SERVER_INFO_KEY
from dedalus_mcp.types.revisions import LATEST, LATEST_LEGACY, LEGACY, MODERN, REVISIONS, complete, shape
from tests.types.published import LETTERS

SERVER = types.Implementation(name="s", version="1", title="S")
ICONS = [types.Icon(src="x:")]
TEXT = types.TextContent(text="t", meta={"k": 1}, annotations=types.Annotations(priority=1, lastModified="now"))
META = {"k": 1}

# A value, a path into it, and the revisions whose readers get what is there.
CELLS: list[tuple[Any, str, str]] = [
    (types.Result(resultType="complete"), "resultType", "E"),
    (types.ListToolsResult(tools=[], ttlMs=5, cacheScope="public"), "ttlMs", "E"),
    (types.ListToolsResult(tools=[], ttlMs=5, cacheScope="public"), "cacheScope", "E"),
    (types.ReadResourceResult(contents=[], ttlMs=5, cacheScope="public"), "ttlMs", "E"),
    (types.Result(meta={SERVER_INFO_KEY: {"name": "s", "version": "1"}}), f"_meta {SERVER_INFO_KEY}", "E"),
    (types.RequestParams(meta={PROTOCOL_VERSION_KEY: LATEST, "k": 1}), f"_meta {PROTOCOL_VERSION_KEY}", "E"),
    (types.RequestParams(meta={PROTOCOL_VERSION_KEY: LATEST, "k": 1}), "_meta k", "ABCDE"),
    (types.RequestParams(meta={CLIENT_INFO_KEY: {}}), "_meta", "E"),
    (types.RequestParams(meta={"progressToken": 1}), "_meta progressToken", "ABCDE"),
    (types.NotificationParams(meta={RELATED_TASK_KEY: {"taskId": "1"}}), "_meta", "D"),
    (types.ServerCapabilities(extensions={"x/y": {}}), "extensions", "E"),
    (types.ClientCapabilities(extensions={"x/y": {}}), "extensions", "E"),
    (types.ServerCapabilities(completions=types.CompletionsCapability()), "completions", "BCDE"),
    (types.ServerCapabilities(tasks=types.ServerTasksCapability()), "tasks", "D"),
    (types.ClientCapabilities(tasks=types.ClientTasksCapability()), "tasks", "D"),
    (types.ClientCapabilities(elicitation=types.ElicitationCapability()), "elicitation", "CDE"),
    (
        types.ClientCapabilities(elicitation=types.ElicitationCapability(url=types.Capability())),
        "elicitation url",
        "DE",
    ),
    (types.ClientCapabilities(sampling=types.SamplingCapability(tools=types.Capability())), "sampling tools", "DE"),
    (types.ClientCapabilities(roots=types.RootsCapability(listChanged=True)), "roots listChanged", "ABCD"),
    (types.Implementation(name="n", version="1", title="t"), "title", "CDE"),
    (types.Implementation(name="n", version="1", description="d"), "description", "DE"),
    (types.Implementation(name="n", version="1", websiteUrl="u"), "websiteUrl", "DE"),
    (types.Implementation(name="n", version="1", icons=ICONS), "icons", "DE"),
    (types.Tool(name="n", inputSchema={}, title="t"), "title", "CDE"),
    (types.Tool(name="n", inputSchema={}, meta=META), "_meta", "CDE"),
    (types.Tool(name="n", inputSchema={}, icons=ICONS), "icons", "DE"),
    (types.Tool(name="n", inputSchema={}, outputSchema={"type": "object"}), "outputSchema", "CDE"),
    (types.Tool(name="n", inputSchema={}, annotations=types.ToolAnnotations(title="t")), "annotations", "BCDE"),
    (types.Tool(name="n", inputSchema={}, execution=types.ToolExecution()), "execution", "D"),
    (
        types.Tool(name="n", inputSchema={"properties": {"a": {"x-mcp-header": "A"}}}),
        "inputSchema properties a",
        "ABCDE",
    ),
    (types.Prompt(name="n", title="t", meta=META), "title", "CDE"),
    (types.Prompt(name="n", title="t", meta=META), "_meta", "CDE"),
    (types.Prompt(name="n", icons=ICONS), "icons", "DE"),
    (types.Prompt(name="n", arguments=[types.PromptArgument(name="a", title="t")]), "arguments 0 title", "CDE"),
    (types.Resource(name="n", uri="x:", title="t"), "title", "CDE"),
    (types.Resource(name="n", uri="x:", meta=META), "_meta", "CDE"),
    (types.Resource(name="n", uri="x:", icons=ICONS), "icons", "DE"),
    (types.ResourceTemplate(name="n", uriTemplate="x:", title="t", meta=META), "title", "CDE"),
    (types.ResourceTemplate(name="n", uriTemplate="x:", icons=ICONS), "icons", "DE"),
    (types.CallToolResult(content=[TEXT]), "content 0 _meta", "CDE"),
    (types.CallToolResult(content=[TEXT]), "content 0 annotations lastModified", "CDE"),
    (types.CallToolResult(content=[TEXT]), "content 0 annotations priority", "ABCDE"),
    (types.CallToolResult(structuredContent={"a": 1}), "structuredContent", "CDE"),
    (types.CallToolResult(structuredContent=None), "structuredContent", "CDE"),
    (
        types.ReadResourceResult(contents=[types.TextResourceContents(uri="x:", text="", meta=META)]),
        "contents 0 _meta",
        "CDE",
    ),
    (
        types.GetPromptResult(messages=[types.PromptMessage(role="user", content=TEXT)]),
        "messages 0 content _meta",
        "CDE",
    ),
    (types.ProgressNotificationParams(progressToken=1, progress=1, message="m"), "message", "BCDE"),
    (types.CallToolRequestParams(name="n", task=types.TaskMetadata()), "task", "D"),
    (types.CallToolRequestParams(name="n", requestState="s"), "requestState", "E"),
    (types.GetPromptRequestParams(name="n", inputResponses={}), "inputResponses", "E"),
    (
        types.CompleteRequestParams(
            ref=types.PromptReference(name="n", title="t"), argument=types.CompletionArgument(name="a", value="v")
        ),
        "ref title",
        "CDE",
    ),
    (
        types.CompleteRequestParams(
            ref=types.PromptReference(name="n"),
            argument=types.CompletionArgument(name="a", value="v"),
            context=types.CompletionContext(),
        ),
        "context",
        "CDE",
    ),
    (types.ListRootsResult(roots=[types.Root(uri="file:///", meta=META)]), "roots 0 _meta", "CDE"),
    (types.ElicitRequestURLParams(message="m", url="u", elicitationId="e"), "elicitationId", "ABCD"),
    (types.ElicitRequestParams(message="m", requestedSchema={}, task=types.TaskMetadata()), "task", "D"),
    (types.ElicitRequestParams(message="m", requestedSchema={}, meta=META), "_meta", "ABCD"),
    (types.CreateMessageRequestParams(messages=[], maxTokens=1, tools=[]), "tools", "DE"),
    (types.CreateMessageRequestParams(messages=[], maxTokens=1, toolChoice=types.ToolChoice()), "toolChoice", "DE"),
    (types.SamplingMessage(role="user", content=TEXT, meta=META), "_meta", "DE"),
    (types.CreateMessageResult(role="user", content=TEXT, model="m", meta=META), "_meta", "ABCDE"),
    (
        types.InputRequiredResult(
            inputRequests={
                "a": types.ElicitRequest(params=types.ElicitRequestURLParams(message="m", url="u", elicitationId="e"))
            }
        ),
        "inputRequests a params elicitationId",
        "ABCD",
    ),
]


def at(value: Any, path: str) -> tuple[Any, ...]:
    """What is there at the path, on the wire: nothing, or one thing."""
    found: Any = msgspec.json.decode(msgspec.json.encode(value))
    for step in path.split():
        try:
            found = found[int(step) if isinstance(found, list) else step]
        except KeyError:
            return ()
    return (found,)


@pytest.mark.parametrize(("value", "path", "known"), CELLS, ids=[f"{type(v).__name__}-{path}" for v, path, _ in CELLS])
def test_a_member_is_written_for_the_revisions_that_know_it(value: Any, path: str, known: str) -> None:
    got = "".join(letter for letter, revision in LETTERS.items() if at(shape(value, revision), path))

    assert got == known


@pytest.mark.parametrize("revision", LEGACY[2:])
def test_a_plain_tool_result_is_the_same_object(revision: str) -> None:
    result = types.CallToolResult(content=[types.TextContent(text="a")], structuredContent={"a": 1}, meta={"k": 1})

    assert shape(result, revision) is result
    assert complete(result, revision, SERVER) is result


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_is_no_wire_type_is_left_as_it_is(revision: str) -> None:
    values: list[Any] = [None, {"icons": []}, [1], "x", types.UnknownContent(type="hologram")]
    for value in values:
        assert shape(value, revision) is value


def test_unknown_blocks_and_open_objects_pass_for_every_reader() -> None:
    """B121: an unknown content type is carried as a raw block."""
    block = types.UnknownContent(type="hologram", icons=[1])
    result = types.CallToolResult(content=[block], meta={"k": {"icons": 1}})

    for revision in REVISIONS:
        assert msgspec.json.decode(msgspec.json.encode(shape(result, revision))) == {
            "content": [{"type": "hologram", "icons": [1]}],
            "_meta": {"k": {"icons": 1}},
        }


def test_blocks_that_a_reader_does_not_know_are_text() -> None:
    link = types.ResourceLink(uri="file:///a", name="a", annotations=types.Annotations(priority=1), icons=ICONS)
    audio = types.AudioContent(data="", mimeType="audio/wav", meta=META)
    result = types.CallToolResult(content=[link, audio])
    kinds = {revision: [block.type for block in shape(result, revision).content] for revision in REVISIONS}

    assert kinds == {
        "2024-11-05": ["text", "text"],
        "2025-03-26": ["text", "audio"],
        "2025-06-18": ["resource_link", "audio"],
        "2025-11-25": ["resource_link", "audio"],
        "2026-07-28": ["resource_link", "audio"],
    }
    text = shape(result, "2024-11-05").content[0]
    assert text == types.TextContent(text="a: file:///a", annotations=types.Annotations(priority=1))


def test_a_list_keeps_the_parts_that_are_fine() -> None:
    plain, rich = types.Tool(name="a", inputSchema={}), types.Tool(name="b", inputSchema={}, icons=ICONS)
    shaped = shape(types.ListToolsResult(tools=[plain, rich]), "2025-06-18")

    assert shaped.tools[0] is plain
    assert shaped.tools[1] == types.Tool(name="b", inputSchema={})


def test_a_modern_result_gets_what_it_must_have() -> None:
    assert complete(types.ListToolsResult(tools=[]), LATEST, SERVER) == types.ListToolsResult(
        tools=[], resultType="complete", ttlMs=0, cacheScope="private", meta={SERVER_INFO_KEY: SERVER}
    )
    assert complete(types.ReadResourceResult(contents=[], ttlMs=5, cacheScope="public"), LATEST) == (
        types.ReadResourceResult(contents=[], resultType="complete", ttlMs=5, cacheScope="public")
    )
    assert complete(types.CallToolResult(meta={"k": 1}), LATEST, SERVER) == types.CallToolResult(
        resultType="complete", meta={"k": 1, SERVER_INFO_KEY: SERVER}
    )


@pytest.mark.parametrize(
    "cls",
    [
        types.DiscoverResult,
        types.ListToolsResult,
        types.ListPromptsResult,
        types.ListResourcesResult,
        types.ListResourceTemplatesResult,
        types.ReadResourceResult,
    ],
)
def test_the_results_that_are_kept_say_for_how_long(cls: type[types.Result]) -> None:
    """2026-07-28, server/utilities/caching: six results are cacheable."""
    assert {"ttlMs", "cacheScope"} <= set(cls.__struct_fields__)


def test_a_result_that_asks_first_is_not_kept() -> None:
    """2026-07-28, caching: never on `input_required`."""
    ask = complete(types.InputRequiredResult(requestState="s"), LATEST, SERVER)

    assert msgspec.json.decode(msgspec.json.encode(ask)) == {
        "resultType": "input_required",
        "requestState": "s",
        "_meta": {SERVER_INFO_KEY: {"name": "s", "version": "1", "title": "S"}},
    }


def test_a_server_that_is_named_already_stays_named() -> None:
    result = types.Result(resultType="complete", meta={SERVER_INFO_KEY: {"name": "other", "version": "2"}})

    assert complete(result, LATEST, SERVER) is result
    assert complete(types.Result(resultType="complete"), LATEST) == types.Result(resultType="complete")


def test_a_mapping_is_completed_for_modern_readers_alone() -> None:
    members = {"x": 1, "_meta": {"k": 1}}

    assert complete(members, LATEST, SERVER) == {
        "resultType": "complete",
        "x": 1,
        "_meta": {SERVER_INFO_KEY: SERVER, "k": 1},
    }
    assert complete({"resultType": "custom"}, LATEST) == {"resultType": "custom"}
    assert complete(members, LATEST_LEGACY, SERVER) is members


def test_what_a_client_answers_is_not_completed() -> None:
    """2026-07-28: the values of `inputResponses` are no results and carry no `resultType`."""
    answer = types.ElicitResult(action="cancel")

    assert complete(answer, LATEST, SERVER) is answer


def test_a_revision_that_is_none_is_an_error() -> None:
    with pytest.raises(KeyError):
        shape(types.Result(), "2023-01-01")


def test_revisions_are_in_order_of_age() -> None:
    assert list(REVISIONS) == sorted(REVISIONS) == list(LETTERS.values())
    assert (*LEGACY, *MODERN) == REVISIONS
    assert types.LATEST_PROTOCOL_VERSION == LATEST == "2026-07-28"
    assert types.DEFAULT_NEGOTIATED_VERSION == "2025-03-26"


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_page_of_a_list_that_stays_is_shaped_as_that_list(revision: str) -> None:
    """The first time as any list, later as the bytes that were kept."""
    tools = [types.Tool(name=f"t{number}", title="A", inputSchema={"type": "object"}) for number in range(3)]
    listed = Listed(tools, msgspec.json.encode)
    plain = msgspec.json.encode(shape(types.ListToolsResult(tools=tools), revision))

    shaped = [shape(types.ListToolsResult(tools=listed.part(0, 3)), revision) for _ in range(2)]

    assert [msgspec.json.encode(each) for each in shaped] == [plain, plain]
    assert all(isinstance(each, msgspec.Raw) for each in shaped[1].tools)
