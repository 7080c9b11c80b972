"""A scripted server of 2026-07-28 that asks back, and what it says.

async with playing(asks(name=form()), said("hi"), elicitation=...) as play:
    await play.client.call_tool("greet")
    play.calls                            what arrived, in order
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from dedalus_mcp import MCPClient
from tests.interaction.raw import Message, Raw, Scripted
from tests.interaction.reach import Heard
from tests.interaction.scripts import agree, opened, text

__all__ = ("MODERN", "Play", "asks", "form", "page", "playing", "roots", "said", "sample")

MODERN = "2026-07-28"
CARRIERS = ("tools/call", "prompts/get", "resources/read")


class Play:
    """One conversation.

    Attributes:
        client: The real client.
        raw: The scripted server's end.
        notices: What arrived besides the requests that can carry rounds.
        moments: When each of those arrived.
    """

    client: MCPClient
    raw: Raw

    def __init__(self) -> None:
        self.arriving = Heard[Message]()
        self.notices: list[Message] = []
        self.moments: list[float] = []

    @property
    def calls(self) -> list[Message]:
        """The requests that can carry rounds, in order."""
        return self.arriving.values

    async def call(self, number: int) -> Message:
        """Return that request, the first is 1, once it has arrived."""
        return (await self.arriving.wait(number))[number - 1]

    @property
    def params(self) -> list[Message]:
        """The params of the calls."""
        return [call["params"] for call in self.calls]


def asks(state: str | None = None, /, **questions: Message) -> Message:
    """A result that asks these questions first."""
    result: Message = {"resultType": "input_required"}
    if questions:
        result["inputRequests"] = questions
    return result if state is None else {**result, "requestState": state}


def said(words: str) -> Message:
    """The result of a tool."""
    return text(MODERN, words)


def form(message: str = "?", **properties: Any) -> Message:
    """A question to the user; for a text named "value", if not said otherwise."""
    schema = {"type": "object", "properties": properties or {"value": {"type": "string"}}}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def page(url: str = "https://example.com/") -> Message:
    """A page for the user to visit."""
    return {"method": "elicitation/create", "params": {"mode": "url", "message": "?", "url": url}}


def sample(said: str = "?", **members: Any) -> Message:
    """A question to the model."""
    message = {"role": "user", "content": {"type": "text", "text": said}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 10, **members}}


def roots() -> Message:
    """A question for the roots."""
    return {"method": "roots/list"}


@asynccontextmanager
async def playing(*outcomes: Message | None, **settings: Any) -> AsyncGenerator[Play]:
    """Connect a client to a server that gives these results to its requests; None is no answer."""
    play = Play()

    async def server(raw: Raw) -> None:
        play.raw = raw
        await opened(raw, MODERN)
        left = list(outcomes)
        while True:
            try:
                message = await raw.hear()
            except anyio.ClosedResourceError:  # by the test
                return
            if message.get("method") == "server/discover":  # a ping
                await raw.say({"id": message["id"], "result": agree(MODERN)})
                continue
            if message.get("method") not in CARRIERS:
                play.notices.append(message)
                continue
            play.moments.append(anyio.current_time())
            play.arriving(message)
            outcome = left.pop(0)
            if outcome is not None:
                await raw.say({"id": message["id"], "result": outcome})

    async with anyio.create_task_group() as group:
        async with MCPClient.connect(Scripted(group, server), revision=MODERN, **settings) as play.client:
            yield play
        group.cancel_scope.cancel()
