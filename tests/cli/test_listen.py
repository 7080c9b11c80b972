"""`dedalus-mcp listen`."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from dedalus_mcp import MCPServer, resource, types
from dedalus_mcp.cli import listen
from dedalus_mcp.cli.program import parsed
from dedalus_mcp.cli.talking import talking
from dedalus_mcp.cli.terminal import Terminal
from dedalus_mcp.reaching import InMemory
from dedalus_mcp.types.revisions import REVISIONS
from tests.cli.playing import terminal, written


@resource("desk://note")
def note() -> str:
    return "a note"


def served() -> MCPServer:
    server = MCPServer("desk")
    server.collect(note)
    return server


class Told(io.StringIO):
    """A file in memory that says when something is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.news = anyio.Event()

    def write(self, text: str, /) -> int:
        written = super().write(text)
        self.news.set()
        self.news = anyio.Event()
        return written


class Until:
    """What was written so far, and a way to wait for more."""

    def __init__(self, *argv: str) -> None:
        _, self.options = parsed(["listen", "@", *argv])
        self.terminal = Terminal(Told(), Told(), json=self.options.json)
        self.status: int | None = None

    @property
    def out(self) -> str:
        return written(self.terminal.out.file)

    async def says(self, text: str, *, err: bool = False) -> None:
        """Return when that was written."""
        file: Any = (self.terminal.err if err else self.terminal.out).file
        with anyio.fail_after(20):
            while text not in file.getvalue():
                await file.news.wait()

    async def run(self, target: Any) -> None:
        settings = listen.hearing(self.terminal)
        self.status = await talking(self.options, listen.listen, self.terminal, settings, target)


@asynccontextmanager
async def listening(target: Any, *argv: str) -> AsyncGenerator[Until]:
    until = Until(*argv)
    async with anyio.create_task_group() as group:
        group.start_soon(until.run, target)
        await until.says("Listening", err=True)
        yield until
        group.cancel_scope.cancel()


@pytest.mark.parametrize("revision", [REVISIONS[0], REVISIONS[-2], REVISIONS[-1]])
async def test_changes_are_told_as_they_come(revision: str) -> None:
    server = served()
    async with listening(server, "--resource", "desk://note", "--revision", revision) as until:
        await server.notify_resource_updated("desk://note")
        await until.says("desk://note has changed\n")
        await server.notify_resources_list_changed()
        await until.says("the list of resources has changed\n")


async def test_as_json_each_is_a_line_of_its_own() -> None:
    server = served()
    async with listening(server, "--json") as until:
        await server.notify_resources_list_changed()
        await until.says("\n")

    assert json.loads(until.out)["method"] == "notifications/resources/list_changed"


@pytest.mark.parametrize(
    ("data", "line"),
    [("a\x1bb", "a\\x1bb"), ({"msg": "two\nlines", "n": 1}, "two lines"), ({"n": [1]}, '{"n":[1]}'), (None, "null")],
)
def test_a_log_message_is_one_line(data: Any, line: str) -> None:
    there = terminal()
    hear: Any = listen.hearing(there).get("logging")

    hear(types.LoggingMessageNotificationParams(level="debug", data=data, logger="db"))

    assert written(there.out.file) == f"[debug db] {line}\n"


class Ending:
    """A server in memory whose connection can be ended from here; a `Target`."""

    def __init__(self, server: MCPServer) -> None:
        self._inner = InMemory(server)
        self.duplex: Any = None

    async def open(self) -> Any:
        self.duplex = await self._inner.open()
        return self.duplex


async def test_when_the_connection_is_lost_it_ends_with_3_and_says_why() -> None:
    target = Ending(served())
    until = Until("--revision", "2025-11-25")
    async with anyio.create_task_group() as group:
        group.start_soon(until.run, target)
        await until.says("Listening", err=True)
        await target.duplex.aclose()

    assert until.status == 3
    assert "error: " in written(until.terminal.err.file)


async def test_a_resource_that_cannot_be_listened_to_ends_it_with_1() -> None:
    until = Until("--resource", "desk://nothing", "--revision", "2025-11-25")

    with anyio.fail_after(20):
        await until.run(MCPServer("bare"))

    assert until.status == 1
