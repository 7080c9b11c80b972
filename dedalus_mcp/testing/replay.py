"""Recorded conversations, played again: one side from the text, the other one live.

    await check_conversation(Path("talk.txt"), server)                        the client's side is played
    async with replayed_server(Path("talk.txt")) as target, MCPClient.connect(target) as client: ...

What is made up anew in each run need not be the same, only used in the same places: the ids of
requests, tokens of progress, states of calls that ask in rounds, ids of pages to visit.

Layer: L6.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.testing import expected
from dedalus_mcp.testing.conversation import Connection, Conversation, Frame, Sender, read_frame
from dedalus_mcp.testing.names import Names
from dedalus_mcp.testing.raw import PATIENCE, RawPeer, scripted_server
from dedalus_mcp.testing.recording import Recorder
from dedalus_mcp.transport import Target

__all__ = ("check_conversation", "replayed_server")


async def check_conversation(
    path: Path | str, target: Connectable, *, update: bool = False, patience: float = PATIENCE
) -> Conversation:
    """Play the client's side of a recorded conversation, and see to it that the server says what it said then.

    Args:
        path: The file.
        target: The server, as `MCPClient.connect` takes it.
        update: Write the file anew, with what the server says now, instead of comparing.  What was left
            open (``"..."``) is written out, too.
        patience: How long to wait for each frame, in seconds.

    Returns:
        What was said now.

    Raises:
        AssertionError: The server says something else; the text names the line, and shows the difference.
        OSError: There is no such file.
        ValueError: It is no conversation.
    """
    path = Path(path)
    recorder = Recorder(target)
    for connection in Conversation.read(path).connections:
        raw = RawPeer(await recorder.open(), patience=patience)
        try:
            await _Part("client", connection, path, tolerant=update).play(raw)
        finally:
            await raw.close()
    if update:
        recorder.conversation.write(path)
    return recorder.conversation


def replayed_server(path: Path | str, *, patience: float = PATIENCE) -> AbstractAsyncContextManager[Target]:
    """Give a target for real clients that plays the server's side of a recorded conversation.

    Args:
        path: The file.  To write it (anew), connect to a `Recorder` of the real server.
        patience: How long to wait for each frame, in seconds.

    Raises:
        AssertionError: The client says something else; the text names the line, and shows the difference.
        OSError: There is no such file.
        ValueError: It is no conversation.
    """
    path = Path(path)
    connections = Conversation.read(path).connections
    parts = [partial(_Part("server", connection, path).play) for connection in connections]
    return scripted_server(*parts, patience=patience)


class _Part:
    """One side of a recorded connection.

    Args:
        sender: Which side.
        frames: What both sides said.
        path: Where that stands.
        tolerant: Whether the other side may say something else, as long as it answers.
    """

    def __init__(self, sender: Sender, frames: Connection, path: Path, *, tolerant: bool = False) -> None:
        self._sender = sender
        self._frames = frames
        self._path = path
        self._tolerant = tolerant
        self._names = Names()
        self._taken: list[Any] = []  # of what the other side said, where it may say something else

    async def play(self, raw: RawPeer) -> None:
        """Say what this side said, and compare what the other one says.

        Raises:
            AssertionError: It says something else, or more.
        ValueError: What it is expected to say is no JSON.
        """
        for frame in self._frames:
            if frame.sender == self._sender:
                await raw.say(self._renewed(frame))
            elif self._tolerant:
                await self._hear_like(raw, self._expected(frame), frame)
            else:
                then, got = self._expected(frame), await self._hear(raw, frame)
                self._names.learn(then, got)
                expected.check(self._names.theirs(then), got, self._at(frame))
        if raw.unread and not self._tolerant:
            raise AssertionError(f"{self._path}: after its last line came {expected.named(raw.unread[0])}")

    async def _hear(self, raw: RawPeer, frame: Frame) -> Any:
        try:
            return await raw.hear()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise AssertionError(f"{self._at(frame)}: {error or 'the connection is over'}") from None
        except AssertionError as error:
            raise AssertionError(f"{self._at(frame)}: {error}") from None

    async def _hear_like(self, raw: RawPeer, then: Any, frame: Frame) -> None:
        """Wait for the reply to the same call, or for a call of the same method; not for a notice."""
        if not expected.is_object(then) or "id" not in then:
            return
        while (got := self._like(raw.heard, then)) is None:
            await self._hear(raw, frame)
        self._taken.append(got)
        self._names.learn(then, got)

    def _like(self, heard: list[Any], then: dict[Any, Any]) -> Any:
        method = then.get("method")
        for got in heard:
            alike = expected.is_object(got) and "id" in got and got.get("method") == method
            if alike and (method is not None or got["id"] == then["id"]) and got not in self._taken:
                return got
        return None

    def _expected(self, frame: Frame) -> Any:
        try:
            return read_frame(frame)
        except ValueError as error:
            raise ValueError(f"{self._path}: {error}") from None

    def _renewed(self, frame: Frame) -> Any:
        """Return a frame of ours, with what the other side made up as it is now; what is no JSON, as it is."""
        try:
            message = read_frame(frame)
        except ValueError:
            return frame.text.encode()
        return self._names.ours(message)

    def _at(self, frame: Frame) -> str:
        return f"{self._path}:{frame.line}"
