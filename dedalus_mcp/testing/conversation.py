"""Conversations as text: a file that a person can read, edit and compare.

    # what the deploy tool asks
    → {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "deploy"}}
    ← {"jsonrpc": "2.0", "id": 1, "result": "..."}

One frame a line: `→` (or ``->``) from the client, `←` (or ``<-``) from the server.  Lines that begin
with `#` are comments, empty ones are nothing, and a line ``---`` begins another connection.  In what
is compared, ``"..."`` stands for any value; as a key, for any further members; at the end of a list,
for any further items.

Layer: L6.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dedalus_mcp.testing.expected import is_array, is_object

__all__ = ("Connection", "Conversation", "Frame", "read_frame")

Sender: TypeAlias = Literal["client", "server"]

ARROWS: dict[str, Sender] = {"→": "client", "->": "client", "←": "server", "<-": "server"}
BREAK = "---"
OPEN = "..."


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a conversation.

    Attributes:
        sender: Who sent it.
        text: Its JSON; or whatever it is, if it is none.
        line: Where it stands in the file; 0 for one that was just recorded.
    """

    sender: Sender
    text: str
    line: int = 0

    @property
    def arrow(self) -> str:
        """The direction."""
        return "→" if self.sender == "client" else "←"


Connection: TypeAlias = list[Frame]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said, on one connection after the other.

    Attributes:
        connections: The frames of each, in order.
    """

    connections: list[Connection]

    @classmethod
    def read(cls, path: Path | str) -> Conversation:
        """Read a file.

        Raises:
            OSError: It cannot be read.
            ValueError: It is no conversation; the text names the line.
        """
        try:
            conversation = cls.parse(Path(path).read_text(encoding="utf-8-sig"))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        if not conversation.connections:
            raise ValueError(f"{path}: there is no frame in it, so nothing would be checked")
        return conversation

    @classmethod
    def parse(cls, text: str) -> Conversation:
        """Read a text.

        Raises:
            ValueError: It is no conversation; the text names the line.
        """
        connections: list[Connection] = [[]]
        for number, line in enumerate(text.split("\n"), 1):  # not splitlines: JSON may hold other line breaks
            stripped = line.strip()
            if stripped == BREAK:
                connections.append([])
            elif stripped and not stripped.startswith("#"):
                arrow, _, frame = stripped.partition(" ")
                if arrow not in ARROWS:
                    raise ValueError(f"line {number}: expected '→ frame', '← frame', '---' or '# words': {line[:80]!r}")
                connections[-1].append(Frame(ARROWS[arrow], frame.strip(), number))
        return cls([connection for connection in connections if connection])

    @property
    def text(self) -> str:
        """The text of it, as `parse` reads it."""
        parts = ["\n".join(f"{frame.arrow} {frame.text}" for frame in frames) for frames in self.connections]
        return f"\n{BREAK}\n".join(parts) + "\n"

    def write(self, path: Path | str) -> None:
        """Write a file; the comments at the top of one that is there are kept.

        Raises:
            OSError: It cannot be written.
        """
        path = Path(path)
        head: list[str] = []
        if path.exists():
            for line in path.read_text(encoding="utf-8").split("\n"):
                if line.strip() and not line.strip().startswith("#"):
                    break
                head.append(line)
        while head and not head[-1].strip():
            head.pop()
        path.write_text("\n".join([*head, self.text]), encoding="utf-8")


def read_frame(frame: Frame) -> Any:
    """Return what is expected in a frame: its JSON, with `...` for each ``"..."``.

    Raises:
        ValueError: It is no JSON.
    """
    try:
        return _opened(json.loads(frame.text))
    except ValueError as error:
        raise ValueError(f"line {frame.line}: this is no JSON: {error}") from None


def _opened(value: Any) -> Any:
    if value == OPEN:
        return ...
    if is_object(value):
        return {(... if key == OPEN else key): _opened(item) for key, item in value.items()}
    if is_array(value):
        return [_opened(item) for item in value]
    return value
