"""`Prompts`: registered, listed, rendered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from types import MappingProxyType
from typing import Any

import anyio.lowlevel
import pytest

from dedalus_mcp import McpError, MCPServer, get_context, prompt
from dedalus_mcp.server.prompts import strings_only
from dedalus_mcp.types import TextContent
from tests.interaction.raw import serving

REQUIRED: list[dict[str, Any]] = [{"name": "b", "required": True}, {"name": "a", "required": True}, {"name": "c"}]


@prompt("echo", description="Repeat", arguments=REQUIRED)
def echo(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    return [("user", repr(sorted(arguments.items())))]


def renderer() -> Callable[[dict[str, str]], None]:
    def render(arguments: dict[str, str]) -> None: ...

    return render


def offering(*functions: Any) -> MCPServer:
    server = MCPServer("test")
    server.collect(*functions)
    return server


async def said(server: MCPServer, name: str, arguments: Any = None) -> str:
    (message,) = (await server.invoke_prompt(name, arguments=arguments)).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


async def test_a_prompt_is_rendered_with_its_arguments() -> None:
    assert await said(offering(echo), "echo", {"a": "1", "b": "2"}) == "[('a', '1'), ('b', '2')]"
    assert (await offering(echo).invoke_prompt("echo", arguments={"a": "", "b": ""})).description == "Repeat"


async def test_any_mapping_is_taken_and_the_renderer_may_change_its_own_copy() -> None:
    @prompt("p")
    def change(arguments: dict[str, str]) -> list[tuple[str, str]]:
        arguments["more"] = "x"
        return [("user", ",".join(arguments))]

    given = MappingProxyType({"a": "1"})
    assert await said(offering(change), "p", given) == "a,more"
    assert await said(offering(change), "p", None) == "more"


async def test_missing_required_arguments_are_named_all_at_once() -> None:
    """PROMPT-04."""
    with pytest.raises(McpError, match=r"^Missing required arguments: a, b$") as raised:
        await offering(echo).invoke_prompt("echo")
    assert raised.value.code == -32602


async def test_an_unknown_prompt_is_refused() -> None:
    """PROMPT-04."""
    with pytest.raises(McpError, match=r"^Prompt 'nope' is not registered$") as raised:
        await offering(echo).invoke_prompt("nope")
    assert raised.value.code == -32602


async def test_async_renderers_and_callable_objects_are_renderers() -> None:
    class Renderer:
        async def __call__(self, arguments: dict[str, str]) -> list[tuple[str, str]]:
            await anyio.lowlevel.checkpoint()
            return [("user", "object")]

    @prompt("later")
    async def later(arguments: dict[str, str]) -> list[tuple[str, str]]:
        await anyio.lowlevel.checkpoint()
        return [("user", "later")]

    server = offering(later, prompt("object")(Renderer()))
    assert await said(server, "later") == "later"
    assert await said(server, "object") == "object"


async def test_messages_may_come_one_by_one() -> None:
    """B032: from a generator, of either kind."""

    @prompt
    def plain(who: str) -> Iterator[tuple[str, str]]:
        yield "user", f"hello {who}"

    @prompt
    async def later(who: str) -> AsyncIterator[tuple[str, str]]:
        await anyio.lowlevel.checkpoint()
        yield "user", f"hello {who}"

    server = offering(plain, later)
    assert await said(server, "plain", {"who": "you"}) == "hello you"
    assert await said(server, "later", {"who": "you"}) == "hello you"


async def test_methods_of_every_kind_are_renderers() -> None:
    class Prompts:
        @prompt
        def bound(self, x: int) -> list[tuple[str, str]]:
            return [("user", repr(x))]

        @prompt
        @classmethod
        def of_class(cls, x: int) -> list[tuple[str, str]]:
            return [("user", repr(x))]

        @prompt
        @staticmethod
        def static(x: int) -> list[tuple[str, str]]:
            return [("user", repr(x))]

    server = offering(Prompts().bound, Prompts.of_class, Prompts.static)

    assert [await said(server, name, {"x": "5"}) for name in server.prompt_names] == ["5", "5", "5"]


async def test_a_raw_string_is_a_type_error_here_and_an_internal_error_on_the_wire(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """PROMPT-04, B032: the error names the prompt and what would be right, and the log has it, too."""

    @prompt("raw")
    def raw_string(arguments: dict[str, str]) -> Any:
        return "hi"

    server = offering(raw_string)
    with pytest.raises(TypeError, match=r"^Prompt renderer returned raw string; supply role \+ content\.$"):
        await server.invoke_prompt("raw")
    async with serving(server) as raw:
        await raw.open("2025-11-25")
        reply = await raw.call(1, "prompts/get", name="raw")

    assert reply["error"]["code"] == -32603
    assert "Prompt 'raw'" in reply["error"]["message"]
    assert "supply role + content" in reply["error"]["message"]
    assert "prompt 'raw' cannot be rendered" in caplog.text


async def test_a_renderers_own_error_tells_the_client_nothing(caplog: pytest.LogCaptureFixture) -> None:
    @prompt("broken")
    def broken(arguments: dict[str, str]) -> Any:
        raise TypeError("secret")

    async with serving(offering(broken)) as raw:
        await raw.open("2025-11-25")
        reply = await raw.call(1, "prompts/get", name="broken")

    assert reply["error"] == {"code": -32603, "message": "Internal error"}
    assert "secret" in caplog.text


async def test_a_renderer_has_the_context_and_its_own_protocol_errors_pass() -> None:
    @prompt("p")
    def fail(arguments: dict[str, str]) -> Any:
        raise McpError(-32001, get_context().request_id, {"x": 1})

    async with serving(offering(fail)) as raw:
        await raw.open("2025-11-25")
        reply = await raw.call("id", "prompts/get", name="p")

    assert reply["error"] == {"code": -32001, "message": "id", "data": {"x": 1}}


async def test_only_strings_are_taken_from_the_wire() -> None:
    """PROMPT-03."""
    strings_only(None)
    strings_only({"a": "1"})
    with pytest.raises(McpError, match="not so: 'b', 'c'") as raised:
        strings_only({"a": "1", "b": 2, "c": None})
    assert raised.value.code == -32602

    async with serving(offering(echo)) as raw:
        await raw.open("2025-11-25")
        reply = await raw.call(1, "prompts/get", name="echo", arguments={"a": 1, "b": "2"})
    assert reply["error"]["code"] == -32602


def test_prompts_are_listed_in_the_order_of_their_registration() -> None:
    server = offering(prompt("b")(renderer()), prompt("a")(renderer()))
    server.collect(prompt("b", title="new")(renderer()))

    assert [definition.name for definition in server.prompts.definitions] == ["b", "a"]
    assert server.prompts.definitions[0].title == "new"
    assert server.prompt_names == ["a", "b"]
    assert len(server.prompts) == 2


async def test_a_prompts_meta_is_meta_on_the_wire() -> None:
    async with serving(offering(prompt("m", meta={"a": 1})(renderer()))) as raw:
        await raw.open("2025-11-25")
        reply = await raw.call(1, "prompts/list")
    assert reply["result"]["prompts"] == [{"name": "m", "_meta": {"a": 1}}]
