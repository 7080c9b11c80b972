"""Recorded conversations: their text, and either side of them played again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from dedalus_mcp import Context, MCPClient, MCPServer, StreamableHttp, tool
from dedalus_mcp.testing import REVISIONS, Recorder, check_conversation, raw_client, replayed_server
from dedalus_mcp.testing.conversation import Conversation, Frame
from tests.interaction.reach import script

LEGACY = "2025-11-25"
MODERN = "2026-07-28"


@tool
async def deploy(name: str, ctx: Context) -> str:
    await ctx.report_progress(1)
    return f"{name} is deployed" if await ctx.confirm("Sure?") else "no"


def server_of(answer: str = "is deployed") -> MCPServer:
    server = MCPServer("deployer", version="1")

    @tool(name="deploy", description="Deploys.")
    async def changed(name: str, ctx: Context) -> str:
        await ctx.report_progress(1)
        return f"{name} {answer}" if await ctx.confirm("Sure?") else "no"

    server.collect(changed)
    return server


async def yes(params: Any) -> dict[str, bool]:
    return {"confirm": True}


async def deployed(target: Any, revision: str, name: str = "web") -> str:
    async with MCPClient.connect(target, revision=revision, elicitation=yes) as client:
        return (await client.call_tool("deploy", {"name": name}, progress=lambda _: None)).text


async def recorded(path: Path, revision: str) -> Path:
    recorder = Recorder(server_of())
    await deployed(recorder, revision)
    recorder.conversation.write(path)
    return path


ASKING = pytest.mark.parametrize("revision", REVISIONS[2:])


@ASKING
async def test_a_server_that_does_the_same_again_passes(revision: str, tmp_path: Path) -> None:
    path = await recorded(tmp_path / "talk.txt", revision)

    again = await check_conversation(path, server_of())

    assert [frame.sender for frame in again.connections[0]] == [
        frame.sender for frame in Conversation.read(path).connections[0]
    ]


@ASKING
async def test_a_client_that_does_the_same_again_is_served_without_the_server(revision: str, tmp_path: Path) -> None:
    path = await recorded(tmp_path / "talk.txt", revision)

    async with replayed_server(path) as target:
        assert await deployed(target, revision) == "web is deployed"


@ASKING
async def test_a_server_that_says_something_else_is_shown_by_line(revision: str, tmp_path: Path) -> None:
    path = await recorded(tmp_path / "talk.txt", revision)
    last = len(path.read_text().splitlines())

    with pytest.raises(AssertionError) as caught:
        await check_conversation(path, server_of("is gone"))

    text = str(caught.value)
    assert text.startswith(f"{path}:{last} differs (- expected, + got):\n")
    assert '"text": "web is deployed"' in text
    assert '"text": "web is gone"' in text


@ASKING
async def test_a_client_that_says_something_else_is_shown_by_line(revision: str, tmp_path: Path) -> None:
    path = await recorded(tmp_path / "talk.txt", revision)

    with pytest.raises(AssertionError, match=r'-      "name": "web"\n\+      "name": "shop"'):
        async with replayed_server(path) as target:
            await deployed(target, revision, "shop")


@ASKING
async def test_a_file_changes_when_that_is_said_and_only_then(revision: str, tmp_path: Path) -> None:
    path = await recorded(tmp_path / "talk.txt", revision)
    path.write_text("# what the tool asks\n\n# in two lines\n\n" + path.read_text())
    before = path.read_text()

    with pytest.raises(AssertionError):
        await check_conversation(path, server_of("is gone"))
    assert path.read_text() == before

    await check_conversation(path, server_of("is gone"), update=True)
    assert path.read_text().startswith("# what the tool asks\n\n# in two lines\n→ ")
    assert "web is gone" in path.read_text()
    await check_conversation(path, server_of("is gone"))


async def test_what_each_side_makes_up_is_only_used_in_the_same_places(tmp_path: Path) -> None:
    """Another client counts its requests and tokens as it likes; in arguments and results, numbers are numbers."""
    path = tmp_path / "talk.txt"
    path.write_text(
        '→ {"jsonrpc":"2.0","id":1,"method":"tools/call",'
        '"params":{"_meta":{"progressToken":2},"name":"t","arguments":{"id":1,"progressToken":2}}}\n'
        '← {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}\n'
        '← {"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        '→ {"jsonrpc":"2.0","id":1,"result":{"id":1}}\n'
        '→ {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n'
        '← {"jsonrpc":"2.0","id":1,"result":{"id":1}}\n'
    )
    async with replayed_server(path) as target, raw_client(target) as raw:
        meta = {"progressToken": "t"}
        arguments = {"id": 1, "progressToken": 2}
        await raw.say(
            {"id": "a", "method": "tools/call", "params": {"_meta": meta, "name": "t", "arguments": arguments}}
        )
        await raw.expect({"method": "notifications/progress", "params": {"progressToken": "t", "progress": 1}})
        await raw.expect({"id": 1, "method": "ping"})
        await raw.say({"id": 1, "result": {"id": 1}})
        await raw.say({"method": "notifications/cancelled", "params": {"requestId": "a"}})
        await raw.expect({"id": "a", "result": {"id": 1}})


async def test_what_a_person_leaves_open_is_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text(
        "# a comment\n\n"
        '-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
        '"clientInfo":{"name":"c","version":"1"}}}\n'
        '<- {"id":1,"result":{"protocolVersion":"2025-11-25","...":"..."},"...":"..."}\n'
        '-> {"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
        '<- {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"deploy","...":"..."},"..."]}}\n'
    )

    await check_conversation(path, server_of())


async def test_frames_that_are_no_json_are_played_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text('→ {"jsonrpc":\n← {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"..."}}\n')

    await check_conversation(path, server_of())


async def test_batches_are_played_as_one_frame(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    recorder = Recorder(server_of())
    async with raw_client(recorder) as raw:
        await raw.open("2025-03-26")
        await raw.say([{"jsonrpc": "2.0", "id": id, "method": "ping"} for id in (1, 2)])
        await raw.hear()
    recorder.conversation.write(path)

    await check_conversation(path, server_of())
    async with replayed_server(path) as target, raw_client(target) as raw:
        await raw.open("2025-03-26")
        await raw.say([{"jsonrpc": "2.0", "id": id, "method": "ping"} for id in (8, 9)])
        assert [reply["id"] for reply in await raw.hear()] == [8, 9]


async def test_each_connection_is_recorded_and_played_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    recorder = Recorder(server_of())
    for _ in range(2):
        await deployed(recorder, LEGACY)
    recorder.conversation.write(path)

    assert path.read_text().count("\n---\n") == 1
    await check_conversation(path, server_of())
    async with replayed_server(path) as target:
        for _ in range(2):
            await deployed(target, LEGACY)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_any_transport_can_be_recorded(tmp_path: Path) -> None:
    """A child process here; what it says is then what the client is told without it."""
    path = tmp_path / "talk.txt"
    recorder = Recorder(script("tests.interaction.server"))
    async with MCPClient.connect(recorder) as client:
        listed = await client.list_tools()
    recorder.conversation.write(path)

    async with replayed_server(path) as target, MCPClient.connect(target) as client:
        assert await client.list_tools() == listed


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("revision", [LEGACY, MODERN])
async def test_what_was_said_over_http_is_said_in_memory_too(revision: str, tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    web = httpx.ASGITransport(server_of().asgi_app())
    async with httpx.AsyncClient(transport=web) as http_client:
        recorder = Recorder(StreamableHttp("http://127.0.0.1/mcp", http_client=http_client))
        async with MCPClient.connect(recorder, revision=revision) as client:
            await client.list_tools()
    recorder.conversation.write(path)

    assert recorder.never_silent  # it says of itself what its target does
    if revision == MODERN:
        await check_conversation(path, server_of())
    async with replayed_server(path) as target, MCPClient.connect(target, revision=revision) as client:
        assert [each.name for each in (await client.list_tools()).tools] == ["deploy"]


async def test_what_comes_after_the_last_line_is_told(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    ping = '→ {"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    path.write_text(f'{ping}{ping}← {{"jsonrpc":"2.0","id":1,"result":{{}}}}\n')

    with pytest.raises(AssertionError, match=r'talk.txt: after its last line came \{"jsonrpc": "2.0", "id": 1'):
        await check_conversation(path, server_of())


async def test_what_does_not_come_is_told_by_line(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text('← {"jsonrpc":"2.0","id":1,"result":{}}\n')

    with pytest.raises(AssertionError, match=r"talk.txt:1: no message came within 0.01 s"):
        await check_conversation(path, server_of(), patience=0.01)


async def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "missing.txt"
    with pytest.raises(FileNotFoundError):
        await check_conversation(path, server_of(), update=True)
    with pytest.raises(FileNotFoundError):
        replayed_server(path)

    assert not path.exists()


def test_a_text_is_read_as_it_was_written() -> None:
    odd = '{"a":"\u2028\u0085"}'
    conversation = Conversation([[Frame("client", odd), Frame("server", "{}")], [Frame("client", "[")]])

    read = Conversation.parse(conversation.text)

    assert read.text == conversation.text == f"→ {odd}\n← {{}}\n---\n→ [\n"


@pytest.mark.parametrize("line", ["{}", "=> {}", "→{}"], ids=repr)
def test_a_line_that_is_none_is_told(line: str, tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text(f"# words\n{line}\n")

    with pytest.raises(ValueError, match=r"talk.txt: line 2: expected '→ frame'"):
        Conversation.read(path)


@pytest.mark.parametrize("text", ["", "# words\n", "---\n---\n"])
async def test_a_file_that_checks_nothing_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ValueError, match=r"empty\.txt: there is no frame in it"):
        await check_conversation(path, server_of())
    with pytest.raises(ValueError, match=r"empty\.txt: there is no frame in it"):
        replayed_server(path)


def test_a_file_may_begin_as_some_editors_begin_theirs(tmp_path: Path) -> None:
    path = tmp_path / "marked.txt"
    path.write_text("→ {}\n", encoding="utf-8-sig")

    assert Conversation.read(path).connections == [[Frame("client", "{}", 1)]]


async def test_what_is_expected_and_no_json_is_told(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text('→ {"jsonrpc":"2.0","id":1,"method":"ping"}\n← {"a":\n')

    with pytest.raises(ValueError, match=r"\.txt: line 2: this is no JSON"):
        await check_conversation(path, server_of())
