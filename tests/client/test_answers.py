"""`Answers`: sampling and roots, declared and answered live, in every revision that has them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPClient
from dedalus_mcp.client.answers import Answers, legal
from dedalus_mcp.errors import ConnectionLost, ErrorData, McpError
from dedalus_mcp.types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestParams,
    ListRootsRequest,
    ListRootsResult,
    Root,
    TextContent,
)
from dedalus_mcp.types.revisions import LATEST_LEGACY, LEGACY, REVISIONS, shape
from tests.client.playing import playing, roots, said, sample
from tests.interaction.raw import Message, Raw, Scripted
from tests.interaction.scripts import opened

SPOKEN = CreateMessageResult(role="assistant", content=TextContent(text="hello"), model="m", stopReason="endTurn")


async def model(params: CreateMessageRequestParams) -> CreateMessageResult:
    return SPOKEN


async def replies(*questions: Message, revision: str = LATEST_LEGACY, **handlers: Any) -> tuple[Any, list[Any]]:
    """What a client with these handlers declares, and what it replies to these calls."""
    found: list[Any] = []
    declared: list[Any] = []
    done = anyio.Event()

    async def server(raw: Raw) -> None:
        await opened(raw, revision)
        declared.append(raw.heard[0]["params"]["capabilities"])
        for number, question in enumerate(questions):
            reply = await raw.call(number, question["method"], question.get("params"))
            found.append(reply.get("result", reply.get("error", {}).get("code")))
        done.set()
        await raw.hear()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            async with MCPClient.connect(Scripted(group, server), revision=revision, **handlers):
                await done.wait()
            group.cancel_scope.cancel()
    return declared[0], found


@pytest.mark.parametrize("revision", REVISIONS)
def test_capabilities_are_exactly_what_there_are_handlers_for(revision: str) -> None:
    """SAMP-01, ROOT-01, B020: in the words of the revision."""

    def declared(**handlers: Any) -> Any:
        return shape(Answers(**handlers).capabilities, revision)

    tools = revision >= LATEST_LEGACY
    assert declared().sampling is None
    assert declared().roots is None
    assert declared(sampling=model).sampling.tools is None
    assert (declared(sampling=model, sampling_tools=True).sampling.tools is not None) is tools
    assert declared(roots=[]).roots.listChanged is (True if revision in LEGACY else None)


@pytest.mark.parametrize("revision", LEGACY)
async def test_live_questions_are_answered_in_every_legacy_revision(revision: str) -> None:
    """SAMP-10: what the revision has no words for is reworded."""
    both = CreateMessageResult(role="assistant", content=[TextContent(text="a"), TextContent(text="b")], model="m")
    listed = [Root(uri="file:///a", name="A", meta={"k": 1})]

    def handler(params: CreateMessageRequestParams) -> CreateMessageResult:
        assert params.maxTokens == 10
        return both

    declared, (spoken, found) = await replies(sample(), roots(), revision=revision, sampling=handler, roots=listed)

    assert declared == {"sampling": {}, "roots": {"listChanged": True}}
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert spoken["content"] == (blocks if revision == LATEST_LEGACY else {"type": "text", "text": "a\n\nb"})
    metas = {"_meta": {"k": 1}} if revision >= "2025-06-18" else {}
    assert found == {"roots": [{"uri": "file:///a", "name": "A", **metas}]}


async def test_questions_without_a_handler_are_unknown_methods() -> None:
    """ROOT-04, B020: also those that are malformed."""
    declared, codes = await replies(sample(), roots(), {"method": "sampling/createMessage"})

    assert declared == {}
    assert codes == [-32601] * 3


def turn(role: str, *blocks: Message) -> Message:
    return {"role": role, "content": list(blocks)}


TEXT = {"type": "text", "text": "x"}
USE: Message = {"type": "tool_use", "id": "1", "name": "t", "input": {}}
RESULT: Message = {"type": "tool_result", "toolUseId": "1", "content": []}


@pytest.mark.parametrize(
    "messages",
    [
        [turn("user", RESULT, TEXT)],
        [turn("user", RESULT)],
        [turn("assistant", USE), turn("user", RESULT, TEXT)],
        [turn("assistant", USE), turn("user", TEXT)],
        [turn("assistant", USE), turn("user", {**RESULT, "toolUseId": "2"})],
        [turn("assistant", USE), turn("assistant", RESULT)],
        [turn("assistant", USE)],
        [turn("user", USE), turn("user", RESULT)],
    ],
    ids=["mixed", "uncalled", "mixed-answer", "unanswered", "other", "own", "last", "user"],
)
async def test_turns_that_are_not_balanced_never_reach_the_model(messages: list[Message]) -> None:
    """SAMP-07, SAMP-08, SAMP-12."""
    asked: list[Any] = []
    question = {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 1}}

    assert (await replies(question, sampling=asked.append))[1] == [-32602]
    assert asked == []


async def test_turns_that_are_balanced_reach_it() -> None:
    other = {**USE, "id": "2"}
    messages = [
        turn("user", TEXT),
        turn("assistant", TEXT, USE, other),
        turn("user", {**RESULT, "toolUseId": "2"}, RESULT),
    ]
    question = {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 1}}

    (reply,) = (await replies(question, sampling=model))[1]

    assert reply["model"] == "m"


async def test_tools_that_were_not_declared_are_refused() -> None:
    """SAMP-02."""
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    questions = [sample(tools=[tool]), sample(toolChoice={"mode": "none"})]

    assert (await replies(*questions, sampling=model))[1] == [-32602, -32602]
    declared, (first, _) = await replies(*questions, sampling=model, sampling_tools=True)
    assert declared == {"sampling": {"tools": {}}}
    assert first["model"] == "m"


async def test_a_user_who_refuses_is_told_of_by_an_error() -> None:
    """SAMP-12."""

    async def refuse(params: CreateMessageRequestParams) -> ErrorData:
        return ErrorData(-1, "User rejected sampling request")

    assert (await replies(sample(), sampling=refuse))[1] == [-1]


async def test_handlers_that_return_nonsense_are_logged_and_tell_the_server_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """ROOT-02, ROOT-04."""

    async def nonsense(*_: Any) -> Any:
        return ["https://example.com"]

    caplog.set_level(logging.ERROR)
    assert (await replies(sample(), roots(), sampling=nonsense, roots=nonsense))[1] == [-32603, -32603]
    assert "a sampling handler returned ['https://example.com']; legal: CreateMessageResult, ErrorData" in caplog.text
    assert "a root is a file: URI, not 'https://example.com'" in caplog.text


def test_roots_are_given_as_objects_uris_or_paths() -> None:
    """ROOT-02."""
    question = ListRootsRequest()
    found = legal(question, [Root(uri="file:///a"), "FILE:///b", Path("/c d/\u00e9"), Path("e")])

    assert isinstance(found, ListRootsResult)
    assert [root.uri for root in found.roots] == [
        "file:///a",
        "FILE:///b",
        Path("/c d/\u00e9").as_uri(),
        Path("e").absolute().as_uri(),
    ]
    assert [root.name for root in found.roots] == [None, None, "\u00e9", "e"]
    assert legal(question, found) is found
    assert legal(question, ()) == ListRootsResult(roots=[])


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("file:///a", TypeError),
        (Path("/a"), TypeError),
        (7, TypeError),
        ([7], TypeError),
        (["/a"], ValueError),
        ([Root(uri="https://a")], ValueError),
        (ListRootsResult(roots=[Root(uri="a")]), ValueError),
        (["file:///a/../etc"], ValueError),
        (["file:///a/%2E%2e/etc"], ValueError),
        (["file:///C:/a\\..\\etc"], ValueError),
        (["file:///a%00b"], ValueError),
        (["file:///a\nb"], ValueError),
        (["file:///%ff"], ValueError),
        (["file://[a/b"], ValueError),
        (["file://"], ValueError),
    ],
    ids=repr,
)
def test_what_is_no_root_is_refused(given: Any, error: type[Exception]) -> None:
    """ROOT-02, ROOT-06: where it is given, if it is given there."""
    with pytest.raises(error, match="root"):
        legal(ListRootsRequest(), given)
    if not isinstance(given, ListRootsResult):
        with pytest.raises(error, match="root"):
            MCPClient.connect("http://127.0.0.1:1/mcp", roots=given)


def test_tools_need_a_handler_that_takes_them() -> None:
    with pytest.raises(ValueError, match="sampling_tools"):
        Answers(sampling_tools=True)


def test_an_answer_is_one_to_its_own_question() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    form = ElicitRequest(params=ElicitRequestParams(message="?", requestedSchema=schema))
    asked = CreateMessageRequest(params=CreateMessageRequestParams(messages=[], maxTokens=1))

    with pytest.raises(TypeError, match="elicitation"):
        legal(form, SPOKEN)
    with pytest.raises(TypeError, match="sampling"):
        legal(asked, {"a": "b"})
    with pytest.raises(McpError, match="no"):
        legal(asked, ErrorData(-1, "no"))


def test_a_path_is_told_as_the_place_that_it_is(tmp_path: Path) -> None:
    """ROOT-06: links included, which no text shows."""
    (tmp_path / "inside" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "inside" / "deep")
    found = legal(ListRootsRequest(), [tmp_path / "link" / ".." / "x..y", "file:///a/..b/c../%2e"])

    assert isinstance(found, ListRootsResult)
    assert [root.uri for root in found.roots] == [
        (tmp_path.resolve() / "inside" / "x..y").as_uri(),
        "file:///a/..b/c../%2e",
    ]


async def test_servers_are_told_the_roots_that_are_given_at_that_moment_and_no_others() -> None:
    """ROOT-06: whoever gives them may look each time at what is there, and for whom."""
    given: list[list[Any]] = [["file:///a", "file:///b"], ["file:///b"], []]

    _, found = await replies(*[roots()] * 3, roots=lambda: given.pop(0))

    assert [[root["uri"] for root in each["roots"]] for each in found] == [
        ["file:///a", "file:///b"],
        ["file:///b"],
        [],
    ]


async def test_a_change_of_the_roots_is_told_and_the_new_ones_are_read() -> None:
    """ROOT-03: from the list that was given, or from what returns them."""
    listed = [Root(uri="file:///a")]
    for given in (listed, lambda: listed):
        del listed[1:]
        heard: list[Any] = []
        asked, told = anyio.Event(), anyio.Event()

        async def server(
            raw: Raw, heard: list[Any] = heard, asked: anyio.Event = asked, told: anyio.Event = told
        ) -> None:
            await opened(raw, LATEST_LEGACY)
            heard.append((await raw.call(1, "roots/list"))["result"])
            asked.set()
            heard.append(await raw.hear())
            heard.append((await raw.call(2, "roots/list"))["result"])
            told.set()
            await raw.hear()

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                target = Scripted(group, server)
                async with MCPClient.connect(target, revision=LATEST_LEGACY, roots=given) as client:
                    await asked.wait()
                    listed.append(Root(uri="file:///b"))
                    await client.notify_roots_list_changed()
                    await told.wait()
                with pytest.raises(ConnectionLost):
                    await client.notify_roots_list_changed()
                group.cancel_scope.cancel()

        first, notice, second = heard
        assert first == {"roots": [{"uri": "file:///a"}]}
        assert notice["method"] == "notifications/roots/list_changed"
        assert second == {"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]}


async def test_no_change_is_told_where_nobody_could_hear_of_it() -> None:
    """ROOT-03: 2026-07-28 has no such notice; a client without roots has nothing to tell."""
    with anyio.fail_after(20):
        async with playing(said("on"), roots=[]) as play:
            await play.client.notify_roots_list_changed()
            await play.client.call_tool("t")
        assert play.notices == []
        async with playing() as play:
            with pytest.raises(RuntimeError, match="no roots"):
                await play.client.notify_roots_list_changed()
