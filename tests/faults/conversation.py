"""The conversation that is cut, and a server that remembers what it did.

initialize or discover ── a tool with progress ── a tool that asks ── a resource ── close
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from dedalus_mcp import Context, DedalusError, MCPClient, MCPServer, resource, tool, types

__all__ = ("EXPECTED", "Ledger", "Outcome", "Person", "converse", "make")

Outcome = str | DedalusError

EXPECTED = {"told": "told", "asked": "reserved sure", "read": "text"}
"""What each call of a conversation returns where nothing goes wrong."""


class Ledger:
    """What a server has done: effects that must not happen twice, and the handlers that are at work.

    Attributes:
        effects: How often each happened.
        inside: How many handlers of each kind are running.
    """

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()
        self.inside: Counter[str] = Counter()

    @asynccontextmanager
    async def at_work(self, what: str) -> AsyncGenerator[None]:
        """Note that a handler runs, and that this has an effect."""
        self.effects[what] += 1
        self.inside[what] += 1
        try:
            yield
        finally:
            self.inside[what] -= 1

    @property
    def running(self) -> list[str]:
        """The handlers that run now."""
        return sorted(+self.inside)

    @property
    def twice(self) -> list[str]:
        """What has happened more than once."""
        return sorted(what for what, count in self.effects.items() if count > 1)


def make(ledger: Ledger) -> MCPServer:
    """A server whose tools have effects, which it keeps count of."""
    server = MCPServer("faults")

    @tool
    async def tell(ctx: Context, name: str) -> str:
        async with ledger.at_work(f"{name} told"):
            for step in (1, 2):
                await ctx.report_progress(step, total=2)
            return "told"

    @tool
    async def ask(ctx: Context, name: str) -> str:
        async def reserve() -> str:
            ledger.effects[f"{name} reserved"] += 1
            return "reserved"

        async with ledger.at_work(f"{name} asked"):
            done = await ctx.step("reserve", reserve)
            sure = await ctx.confirm(f"{name}?")
            ledger.effects[f"{name} answered"] += 1
            return f"{done} {'sure' if sure else 'not sure'}"

    @resource("memo://text")
    async def memo() -> str:
        return "text"

    server.collect(tell, ask, memo)
    return server


class Person:
    """Who answers, and remembers how often which question came."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    async def __call__(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked[params.message] += 1
        await anyio.lowlevel.checkpoint()
        properties = getattr(params.requestedSchema, "properties", None) or params.requestedSchema["properties"]
        return types.ElicitResult(action="accept", content=dict.fromkeys(properties, True))


async def converse(client: MCPClient, name: str) -> dict[str, Outcome]:
    """Make every call of a conversation, whatever became of those before; return what each came to."""

    async def told() -> str:
        return (await client.call_tool("tell", {"name": name}, progress=lambda _: None, raise_on_error=True)).text

    async def asked() -> str:
        return (await client.call_tool("ask", {"name": name}, raise_on_error=True)).text

    async def read() -> str:
        return (await client.read_resource("memo://text")).text

    calls: dict[str, Callable[[], Awaitable[str]]] = {"told": told, "asked": asked, "read": read}
    return {what: await _outcome(call) for what, call in calls.items()}


async def _outcome(call: Callable[[], Awaitable[str]]) -> Outcome:
    try:
        return await call()
    except DedalusError as error:
        return error
