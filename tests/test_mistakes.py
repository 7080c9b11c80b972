"""The usual mistakes are refused where they are made, and the text says what is legal instead."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from dedalus_mcp import (
    Directory,
    MCPClient,
    MCPClientGroup,
    McpError,
    MCPServer,
    ResourceNotFound,
    StdioServer,
    StreamableHttp,
    SyncMCPClient,
    prompt,
    resource,
    resource_template,
    tool,
)
from dedalus_mcp.client.auth import (
    AuthConfigError,
    AuthorizationCodeAuth,
    BearerAuth,
    ClientCredentialsAuth,
    LoopbackRedirect,
)
from dedalus_mcp.testing import Recorder, check_conversation, mock_context

URL = "http://127.0.0.1:1/mcp"
MAKE: Any = MCPServer  # what is wrong for a type checker is what is tested
CLIENT: Any = MCPClient
SYNC: Any = SyncMCPClient
CONNECT: Any = MCPClient.connect
GROUP: Any = MCPClientGroup
STDIO: Any = StdioServer
TOOL: Any = tool


class Desk:
    """Has a method that is a tool of its objects."""

    @tool
    def book(self, seat: int) -> int:
        return seat


def plain() -> None:
    """Is not decorated."""


def collect(*given: Any) -> None:
    MCPServer("s").collect(*given)


def serve_files(template: str) -> None:
    collect(resource_template("files", uri_template=template)(Directory("/")))


def credentials(**options: Any) -> Any:
    return ClientCredentialsAuth(client_id="me", **options)


def answering(answers: Any) -> None:
    with mock_context(answers=answers):
        pass


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a server's name": (lambda: MAKE(5), TypeError, "name is a string, not 5"),
    "a version": (lambda: MAKE("s", version=1.0), TypeError, "version is a string, not 1.0"),
    "instructions": (lambda: MAKE("s", instructions=["a"]), TypeError, "instructions is a string, not"),
    "a configuration": (lambda: MAKE("s", config={}), TypeError, r"config is a ServerConfig\(...\), not dict"),
    "a lifespan": (lambda: MAKE("s", lifespan=5), TypeError, "lifespan is a function that makes an async context"),
    "a function": (lambda: collect(plain), ValueError, "'plain' has no Dedalus MCP metadata. Decorate with @tool,"),
    "a module": (lambda: collect(asyncio), ValueError, r"'asyncio' has .* there is collect_from\(module\)"),
    "a list": (lambda: collect([plain]), ValueError, r"Collect its items: collect\(\*functions\)"),
    "another server": (lambda: collect(MCPServer("t")), ValueError, r"include\(server, prefix=...\)"),
    "a method of no object": (lambda: collect(Desk.book), TypeError, r"book\(\): nobody gives 'self'; register the"),
    "hints": (lambda: TOOL("t", annotations={"readOnly": True}), TypeError, "has no 'readOnly'; it has title, readO"),
    "a key of meta": (lambda: TOOL("t", meta={5: 1}), ValueError, "a key of meta is a name of .* not 5"),
    "a ttl": (lambda: resource("a://b", ttl="5"), TypeError, "a ttl is a number of seconds, not '5'"),  # type: ignore[arg-type]
    "a variable": (lambda: serve_files("a://{x}"), TypeError, "the URI has x, which are no parameters; it has path"),
    "an error without a code": (lambda: McpError("no"), TypeError, "McpError takes a code and a message, or an "),  # type: ignore[call-overload]
    "a missing resource": (lambda: ResourceNotFound("a://b"), TypeError, "ResourceNotFound takes a code and a mes"),  # type: ignore[call-overload]
    "who a client is": (lambda: CONNECT(URL, client_info="me"), TypeError, "client_info is an Implementation"),
    "a cache": (lambda: CONNECT(URL, cache=True), TypeError, r"cache is a MemoryCache\(\), another .* not True"),
    "a port": (lambda: StreamableHttp("http://127.0.0.1:x/mcp"), ValueError, "a port is a number from 0 to 65535"),
    "a header": (lambda: StreamableHttp(URL, headers={"a": 5}), TypeError, "the value of header 'a' is a string"),  # type: ignore[dict-item]
    "a token as such": (lambda: StreamableHttp(URL, auth="t0ken"), TypeError, r"such as BearerAuth\(token\), not str"),
    "a class": (lambda: StreamableHttp(URL, auth=BearerAuth), TypeError, "not the class BearerAuth"),
    "an argument": (lambda: STDIO("p", [5]), TypeError, r"args\[0\] is a string, not int"),
    "a variable of the environment": (lambda: STDIO("p", env={"A": 1}), TypeError, r"env\['A'\] is a string, not int"),
    "servers": (lambda: GROUP([URL]), TypeError, "servers are a mapping of targets by name, .* not list"),
    "a list of servers": (lambda: GROUP({"mcpServers": []}), ValueError, "no object 'mcpServers'"),
    "an entry": (lambda: GROUP({"a": {"comand": "p"}}), ValueError, "a: one of 'command' and 'url', not 'comand'"),
    "an empty entry": (lambda: GROUP({"a": {}}), ValueError, "a: one of 'command' and 'url', not nothing"),
    "settings": (lambda: GROUP({}, settings_of={}), TypeError, "settings_of is a function of a server's name, not"),
    "a storage": (lambda: credentials(client_secret="s", storage="tokens"), TypeError, "storage is a FileTokenStorage"),
    "a key": (lambda: credentials(private_key="pem"), TypeError, r"private_key= is a SigningKey\(...\), not str"),
    "a secret of nobody": (lambda: AuthorizationCodeAuth(client_secret="s"), AuthConfigError, "needs the client_id="),
    "a port to come back to": (lambda: LoopbackRedirect(port=-1), ValueError, "a port is a number from 0 to 65535"),
    "a client by its class": (lambda: CLIENT(URL), TypeError, r"made by connecting: MCPClient\.connect\(target, ...\)"),
    "a synchronous one": (lambda: SYNC(URL), TypeError, r"made by connecting: SyncMCPClient\.connect\(target, ...\)"),
    "one answer": (lambda: answering("eu"), TypeError, "answers are a list, or a plain function .* not 'eu'"),
    "a yes": (lambda: answering(True), TypeError, "answers are a list, or a plain function .* not True"),
    "one form": (lambda: answering({"region": "eu"}), TypeError, "answers are a list, or a plain function"),
}


@pytest.mark.parametrize(("make", "kind", "said"), MISTAKES.values(), ids=MISTAKES)
def test_what_is_given_wrongly_is_refused_at_once(make: Callable[[], Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        make()


async def test_a_lifespan_that_was_not_decorated_says_how() -> None:
    async def lifespan(server: MCPServer) -> AsyncGenerator[int]:
        yield 1

    with pytest.raises(TypeError, match=r"is no async context manager .* contextlib\.asynccontextmanager"):
        await MCPClient.connect(MAKE("s", lifespan=lifespan))


@pytest.mark.parametrize("wrong", ["seat", [1], 5])
async def test_arguments_that_are_no_mapping_are_refused_before_they_are_sent(wrong: Any) -> None:
    server = MCPServer("s")
    server.collect(Desk().book)

    async with MCPClient.connect(server) as client:
        with pytest.raises(TypeError, match="the arguments of 'book' are a mapping of values by name, not"):
            await client.call_tool("book", wrong)
        with pytest.raises(TypeError, match="the arguments of 'p' are a mapping"):
            await client.get_prompt("p", wrong)
        with pytest.raises(TypeError, match="ref is a PromptReference or a ResourceTemplateReference, not"):
            await client.complete(wrong, "city", "R")
        assert (await client.call_tool("book", {"seat": 7})).text == "7"


async def test_a_program_cannot_be_run_in_an_event_loop_and_the_text_says_what_can() -> None:
    with pytest.raises(RuntimeError, match=r"runs in this thread already: `await server\.serve\(...\)`"):
        MCPServer("s").run()


async def test_a_prompts_argument_is_not_blamed_for_being_a_string() -> None:
    @prompt
    def summarize(limit: int) -> list[tuple[str, str]]:
        return [("user", str(limit))]

    server = MCPServer("s")
    server.collect(summarize)

    with pytest.raises(McpError, match=r"^Invalid arguments: limit: expected an integer$"):
        await server.invoke_prompt("summarize", arguments={"limit": "ten"})


async def test_a_conversation_is_kept_under_a_path_or_its_text(tmp_path: Path) -> None:
    recorder = Recorder(MCPServer("s"))
    async with MCPClient.connect(recorder, revision="2025-11-25") as client:
        await client.ping()

    recorder.conversation.write(f"{tmp_path}/talk.txt")

    await check_conversation(f"{tmp_path}/talk.txt", MCPServer("s"))


def test_a_program_may_have_paths_among_its_arguments() -> None:
    assert STDIO(sys.executable, [Path("server.py")]).args == (Path("server.py"),)
