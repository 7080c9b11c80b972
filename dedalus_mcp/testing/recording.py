"""Keeps what is said on a transport, whatever it is.

    recorder = Recorder(StdioServer("python", ["server.py"]))     or a URL, or an MCPServer
    async with MCPClient.connect(recorder) as client: ...
    recorder.conversation.write(Path("talk.txt"))

Layer: L6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dedalus_mcp.client.connecting import Connectable
from dedalus_mcp.reaching import open_target
from dedalus_mcp.testing.conversation import Connection, Conversation, Frame, Sender
from dedalus_mcp.transport import Duplex, Received

__all__ = ("Recorder",)


class Recorder:
    """A target that is another one, and keeps every frame.

    Args:
        target: What `MCPClient.connect` takes.

    Attributes:
        conversation: What was said so far.
    """

    def __init__(self, target: Connectable) -> None:
        self._target: Any = open_target(target)
        self.conversation = Conversation([])

    async def open(self) -> Duplex:
        """Make a new connection.

        Raises:
            OSError: It cannot be made.
        """
        duplex = await self._target.open()
        self.conversation.connections.append([])
        return _Recorded(duplex, self.conversation.connections[-1])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)  # what a target may say of itself


class _Recorded:
    """The client's end of a connection that is kept."""

    def __init__(self, duplex: Duplex, frames: Connection) -> None:
        self._duplex: Any = duplex
        self._frames = frames

    async def receive(self) -> Sequence[Received]:
        received: Sequence[Received] = await self._duplex.receive()
        self._keep("server", [frame for frame in received if isinstance(frame, bytes)])
        return received

    async def send(self, frames: Sequence[bytes]) -> None:
        self._keep("client", frames)
        await self._duplex.send(frames)

    async def aclose(self) -> None:
        await self._duplex.aclose()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._duplex, name)

    def _keep(self, sender: Sender, frames: Sequence[bytes]) -> None:
        for frame in frames:
            text = frame.decode("utf-8", "backslashreplace").replace("\r", "\\r").replace("\n", "\\n")
            self._frames.append(Frame(sender, text))
