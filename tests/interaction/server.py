"""The server of the interaction tests.  Whatever happens in it can be seen over the wire.

A tool may wait (`hold`) until another call lets it go (`release`), and everything that happens is
told in a story that `until` waits for and `story` returns.  So a test of an interleaving is the
same in memory and with a child process, and needs no clock.

    python -m tests.interaction.server          serves on stdio
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec

from dedalus_mcp import (
    McpError,
    MCPServer,
    ServerConfig,
    ToolError,
    get_context,
    prompt,
    tool,
    types,
)

__all__ = ("YES_OR_NO", "Story", "make")

YES_OR_NO: dict[str, Any] = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


class Story:
    """What happened, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self._changed = anyio.Event()

    def tell(self, what: str) -> None:
        """Something happened."""
        self.told.append(what)
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, what: str) -> None:
        """Return when it has happened."""
        while what not in self.told:
            await self._changed.wait()


class Pair(msgspec.Struct):
    """Something structured."""

    a: int
    b: str = "b"


def make(config: ServerConfig | None = None, story: Story | None = None) -> MCPServer:
    """A server with a new story, or the given one."""
    story = story or Story()

    @asynccontextmanager
    async def lifespan(server: MCPServer) -> AsyncGenerator[str]:
        yield "alive"

    server = MCPServer("interaction", version="1", title="T", instructions="Use it.", config=config, lifespan=lifespan)
    server.collect(*PLAIN)
    with server.binding():
        _holding_tools(story)
        _story_tools(story)
        _asking_tools(_Asker(server), story)
        _many_asks(_Asker(server))
        _strange_asks(_Asker(server), story)
        _prompts(story)
    return server


@tool(title="Echo", annotations={"readOnlyHint": True}, icons=[{"src": "https://example.com/i.png"}], meta={"m": 1})
async def echo(text: str) -> str:
    """Say it again."""
    return text


@tool
async def pair(a: int) -> Pair:
    return Pair(a)


@tool
async def blocks() -> list[types.ContentBlock]:
    return [
        types.TextContent(text="t"),
        types.AudioContent(data="aGk=", mimeType="audio/wav"),
        types.ResourceLink(name="r", uri="file:///r", title="R"),
    ]


@tool
async def fail(how: str) -> str:
    if how == "protocol":
        raise McpError(-32050, "of its own", {"why": [1]})
    if how == "tool":
        raise ToolError("for the model")
    raise ValueError("secret internals")


@tool
async def logs(upto: int = 8) -> str:
    context = get_context()
    levels: list[types.LoggingLevel] = [
        "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
    ]  # fmt: skip
    for level in levels[:upto]:
        await context.log(level, f"at {level}", logger="tests", data={"a": [1]})
    return "logged"


@tool
async def progress(steps: int) -> str:
    context = get_context()
    for step in range(1, steps + 1):
        await context.report_progress(step, total=steps, message=f"step {step}")
    return "done"


PLAIN = (echo, pair, blocks, fail, logs, progress)


def _holding_tools(story: Story) -> None:
    async def held(key: str) -> str:
        story.tell(f"{key} began")
        try:
            await story.until(f"release {key}")
        except anyio.get_cancelled_exc_class():
            story.tell(f"{key} cancelled")
            raise
        finally:
            story.tell(f"{key} over")
        return key

    @tool
    async def hold(key: str) -> str:
        return await held(key)

    @tool
    async def hide(key: str) -> str:
        try:
            return await held(key)
        except anyio.get_cancelled_exc_class():
            return "nothing happened"  # as careless code does

    @tool
    async def rage(key: str) -> str:
        try:
            return await held(key)
        finally:
            raise ValueError("in its cleanup")

    @tool
    async def nest(key: str) -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(held, key)
            group.start_soon(held, f"{key}'s child")
        return key


def _story_tools(story: Story) -> None:
    @tool
    async def release(key: str) -> None:
        story.tell(f"release {key}")

    @tool
    async def until(what: str) -> None:
        await story.until(what)

    @tool(name="story")
    async def tell_all() -> list[str]:
        return story.told


class _Asker:
    """Asks the one question of these tests."""

    def __init__(self, server: MCPServer) -> None:
        self.server = server

    async def __call__(self, message: str, timeout: float | None = None) -> types.ElicitResult:
        params = types.ElicitRequestParams(message=message, requestedSchema=YES_OR_NO)
        return await self.server.request_elicitation(params, timeout=timeout)


def _asking_tools(question: _Asker, story: Story) -> None:
    @tool
    async def ask(message: str, timeout: float | None = None) -> str:
        try:
            result = await question(message, timeout)
        finally:
            story.tell(f"{message} over")
        return f"{result.action} {result.content}"

    @tool
    async def code(message: str, timeout: float | None = None) -> str:
        try:
            await question(message, timeout)
        except McpError as error:
            return f"{error.code} {error.message}"
        return "no error"


def _many_asks(question: _Asker) -> None:
    @tool
    async def ask_in_turn(times: int) -> list[bool]:
        return [bool((await question(f"question {number}")).content) for number in range(times)]

    @tool
    async def ask_at_once(times: int) -> list[str]:
        answers = [""] * times

        async def one(number: int) -> None:
            answers[number] = (await question(f"question {number}")).action

        async with anyio.create_task_group() as group:
            for number in range(times):
                group.start_soon(one, number)
        return answers


def _strange_asks(question: _Asker, story: Story) -> None:
    @tool
    async def ask_at_the_end(key: str) -> str:
        story.tell(f"{key} began")
        try:
            await story.until(f"release {key}")
        finally:
            try:
                await question("in the cleanup")
            except McpError as error:
                story.tell(f"{key} refused: {error.code}")
            finally:
                story.tell(f"{key} over")
        return key

    @tool
    async def ask_badly(schema: dict[str, Any]) -> str:
        params = types.ElicitRequestParams(message="?", requestedSchema=schema)
        try:
            await question.server.request_elicitation(params)
        except McpError as error:
            return f"{error.code} {error.message}"
        return "no error"

    @prompt("asking")
    async def asking(arguments: dict[str, str] | None) -> Any:
        return [("user", (await question("from a prompt")).action)]

    @tool
    async def visit(url: str) -> str:
        params = types.ElicitRequestURLParams(message="Go there", url=url, elicitationId="e1")
        return (await question.server.request_elicitation(params)).action


def _prompts(story: Story) -> None:
    @prompt(
        "greet",
        title="Greet",
        description="Say hello",
        icons=[{"src": "https://example.com/i.png"}],
        meta={"m": 1},
        arguments=[types.PromptArgument(name="name", title="Name"), types.PromptArgument(name="tone")],
    )
    def greet(arguments: dict[str, str] | None) -> Any:
        return [("user", f"Hello {(arguments or {}).get('name', 'you')}")]

    @prompt("strict", arguments=[{"name": name, "required": True} for name in ("a", "b", "c")])
    def strict(arguments: dict[str, str] | None) -> Any:
        story.tell("strict rendered")
        return [("user", "x")]

    @prompt("hold-prompt")
    async def hold_prompt(arguments: dict[str, str] | None) -> Any:
        story.tell("prompt began")
        try:
            await story.until("release prompt")
        finally:
            story.tell("prompt over")
        return []


if __name__ == "__main__":
    make().run()
