"""`dedalus-mcp call`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPServer, tool, types
from dedalus_mcp.cli.program import parsed
from dedalus_mcp.errors import AuthRequiredError
from dedalus_mcp.transport import Duplex
from dedalus_mcp.types.revisions import REVISIONS
from tests.cli.desk import desk
from tests.cli.playing import play


@tool
async def deploy(env: str, ctx: Context) -> str:
    """Deploy somewhere."""
    return f"deployed to {env}" if await ctx.confirm(f"Deploy to {env}?") else "not deployed"


@tool
async def pay(ctx: Context) -> str:
    """Send the user to a page."""
    return f"{await ctx.elicit_url('Pay here', 'https://example.com/pay')}"


@tool
async def where(ctx: Context) -> list[str]:
    """Say where the user works."""
    return [root.uri for root in await ctx.list_roots()]


def asking() -> MCPServer:
    """A server whose tools ask."""
    server = MCPServer("asking")
    server.collect(deploy, pay, where)
    return server


async def test_arguments_are_read_as_the_tools_schema_says_and_the_result_is_shown() -> None:
    played = await play(desk(), "call", "@", "add", "a=1", "b=2")

    assert (played.status, played.out, played.err) == (0, "3.0\n", "")


@pytest.mark.parametrize("revision", REVISIONS)
async def test_any_revision_can_be_spoken(revision: str) -> None:
    played = await play(desk(), "call", "@", "add", "a=1", "--revision", revision)

    assert (played.status, played.out, played.err) == (0, "2.5\n", "")


async def test_options_may_stand_anywhere() -> None:
    played = await play(desk(), "call", "--json", "@", "add", "--timeout", "5", "a=1", "--quiet", "b=2")

    assert json.loads(played.out)["structuredContent"] == {"result": 3}


async def test_json_is_the_whole_result_and_nothing_else() -> None:
    played = await play(desk(), "call", "@", "echo", "text=1", "count=2", "tags=x", "options={}", "--json")

    assert played.status == 0
    assert json.loads(played.out)["structuredContent"] == {
        "text": "1",
        "count": 2,
        "flag": False,
        "kind": "web",
        "tags": ["x"],
        "options": {},
    }


async def test_arguments_may_come_as_one_object_or_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "arguments.json"
    file.write_text('{"a": 40}')

    typed = await play(desk(), "call", "@", "add", "--json-arguments", '{"a": 1, "b": 1}')
    read = await play(desk(), "call", "@", "add", "--json-arguments", f"@{file}")

    assert (typed.out, read.out) == ("2.0\n", "41.5\n")


async def test_a_failed_tool_ends_the_program_with_1_and_its_words_obey_nobody() -> None:
    played = await play(desk(), "call", "@", "fail")

    assert (played.status, played.out, played.err) == (1, "", "error: no \\x1b[2Jluck\n")


async def test_a_prompt_that_there_is_not_is_named_with_those_that_there_are() -> None:
    played = await play(desk(), "prompt", "@", "gret")

    assert (played.status, played.out, played.err) == (2, "", "error: no prompt 'gret'; there are greet\n")


def test_only_what_must_be_there_is_said_to_be_missing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(["call", "server.py"])

    assert capsys.readouterr().err.endswith("error: the following arguments are required: TOOL\n")


async def test_so_does_an_error_of_the_server_which_is_json_where_json_was_asked_for() -> None:
    plain = await play(MCPServer("bare"), "prompt", "@", "nothing")
    as_json = await play(desk(), "call", "@", "nothing", "--json")

    assert (plain.status, plain.out, plain.err) == (1, "", "error: Method not found: prompts/get (-32601)\n")
    assert (as_json.status, json.loads(as_json.out)["error"]["code"]) == (1, -32602)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["add", "a=x"], "error: a: expected integer\n"),
        (["add", "b=1"], "error: a: required, expected integer\n"),
        (["add", "c=1", "a=1"], "error: c: no such argument; legal: a, b\n"),
        (["nothing", "a=1"], "error: no tool 'nothing'; there are add, echo, fail, work, picture_of\n"),
        (["nothing"], "error: no tool 'nothing'; there are add, echo, fail, work, picture_of\n"),
        (["add", "a=1", "--json-arguments", "{}"], "error: --json-arguments stands for all arguments"),
        (["add", "--json-arguments", "@/not/there"], "error: --json-arguments: "),
        (["echo", "text=\udcff"], "error: 'tools/call' holds half of a surrogate pair"),
        (["add", "--answer", "x"], "error: --answer is NAME=VALUE, not 'x'\n"),
        (["add", "--answer", "x=1", "--answer", "x=2"], "error: --answer x is given twice\n"),
    ],
)
async def test_what_is_not_legal_ends_it_with_2_and_is_explained(argv: list[str], said: str) -> None:
    played = await play(desk(), "call", "@", *argv)

    assert (played.status, played.out) == (2, "")
    assert played.err.startswith(said)


class Locked:
    """A target that refuses whoever comes."""

    async def open(self) -> Duplex:
        raise AuthRequiredError("[401] Unauthorized")


@pytest.mark.parametrize(
    ("options", "said"),
    [([], "the server wants a token: --sign-in"), (["--bearer", "x"], "the server refused the token that it got; ")],
)
async def test_whoever_is_not_let_in_hears_whether_a_token_was_missing_or_wrong(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEDALUS_MCP_TOKEN", raising=False)

    played = await play(Locked(), "call", "@", "add", *options)

    assert played.status == 3
    assert said in played.err


@pytest.mark.parametrize("revision", REVISIONS[2:])
async def test_questions_are_answered_at_the_terminal(revision: str) -> None:
    played = await play(
        asking(), "call", "@", "deploy", "env=eu", "--revision", revision, typed=["y", "maybe", "yes", ""]
    )

    assert (played.status, played.out) == (0, "deployed to eu\n")
    assert played.err.startswith("asking at @ asks:\n│ Deploy to eu?\nAnswer? [Y]es, [n]o, [c]ancel: ")


async def test_answers_may_be_given_beforehand() -> None:
    played = await play(asking(), "call", "@", "deploy", "env=eu", "--answer", "confirm=yes")

    assert (played.status, played.out) == (0, "deployed to eu\n")


@pytest.mark.parametrize("typed", [None, ["n"], ["c"], []])
async def test_a_question_that_is_declined_ends_it_with_4(typed: list[str] | None) -> None:
    played = await play(asking(), "call", "@", "deploy", "env=eu", typed=typed)

    assert (played.status, played.out) == (4, "not deployed\n")


async def test_a_page_is_not_opened_where_nobody_is() -> None:
    played = await play(asking(), "call", "@", "pay")

    assert played.status == 4
    assert "It wants to send you to example.com" in played.err


async def test_roots_are_told(tmp_path: Path) -> None:
    played = await play(asking(), "call", "@", "where", "--root", str(tmp_path))

    assert (played.status, tmp_path.as_uri() in played.out) == (0, True)


async def test_log_messages_are_lines_on_stderr_and_none_when_it_is_to_be_quiet() -> None:
    loud = await play(desk(), "call", "@", "work")
    quiet = await play(desk(), "call", "@", "work", "--quiet")
    high = await play(desk(), "call", "@", "work", "--log-level", "error")

    assert (loud.out, loud.err) == ("done\n", "[warning] half way\n")
    assert (quiet.err, high.err) == ("", "")


async def test_blocks_that_are_no_text_are_named_with_their_size() -> None:
    played = await play(desk(), "call", "@", "picture_of")

    assert played.out == "[image image/png, 1.2 kB]\nbelow\n"


async def test_no_answer_in_time_ends_it_with_3() -> None:
    @tool
    async def wait() -> None:
        await anyio.sleep_forever()

    server = MCPServer("slow")
    server.collect(wait)

    played = await play(server, "call", "@", "wait", "--timeout", "0.05")

    assert (played.status, played.out) == (3, "")
    assert played.err.startswith("error: no answer to 'tools/call' within ")


async def test_a_lost_connection_ends_it_with_3() -> None:
    class Broken:
        async def open(self) -> Any:
            raise ConnectionRefusedError("nobody there")

    played = await play(Broken(), "call", "@", "wait")

    assert (played.status, played.err) == (3, "error: nobody there\n")


async def test_a_result_that_breaks_the_tools_promise_is_shown_and_blamed() -> None:
    @tool(output_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    async def promise() -> types.CallToolResult:
        return types.CallToolResult(structuredContent={"n": "many"})

    server = MCPServer("liar")
    server.collect(promise)

    played = await play(server, "call", "@", "promise", "--json-arguments", "{}")

    assert played.status == 1
