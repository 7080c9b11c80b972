"""What a server did when it was asked, and what it said besides: nothing in it is trusted.

Layer: L6; no I/O.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

__all__ = ("Answer", "Heard", "items", "maybe_object", "members", "message_of", "said")

KEPT = 20
"""Odd frames that are kept: more tell nothing new."""


def members(value: object) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def maybe_object(value: object) -> Mapping[str, Any] | None:
    """Return a JSON object; None for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def items(value: object) -> Sequence[Any]:
    """Return a JSON array; an empty one for anything else."""
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def said(value: object, limit: int = 80) -> str:
    """Return a value of JSON in few words."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one message.

    Attributes:
        reply: The reply; None if none came.
        strays: Replies to nothing that was asked, or of unreadable ids, that came before.
        ended: Why the connection is over, if it is.
        status: The status of the HTTP response; None on other transports, or without one.
        headers: Its headers, by lower-case name.
        body: The start of a body that is no message.
        waited: Seconds that nothing came, where that was the end of patience.
    """

    reply: Mapping[str, Any] | None = None
    strays: tuple[Mapping[str, Any], ...] = ()
    ended: str | None = None
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    waited: float | None = None

    @property
    def result(self) -> Mapping[str, Any] | None:
        """The result, if it is one and an object."""
        return maybe_object((self.reply or {}).get("result"))

    @property
    def error(self) -> Mapping[str, Any] | None:
        """The error, if it is one and an object."""
        return maybe_object((self.reply or {}).get("error"))

    @property
    def code(self) -> object:
        """The error's code; None without an error."""
        return None if self.error is None else self.error.get("code")

    def __str__(self) -> str:
        if self.error is not None:
            words = f"error {said(self.code, 20)} {said(self.error.get('message'))}"
        elif self.reply is not None:
            words = f"result {said(self.reply['result'])}" if "result" in self.reply else said(self.reply)
        elif self.ended is not None:
            words = f"the connection ended: {self.ended}"
        elif self.waited is not None:
            words = f"nothing within {self.waited:g} s"
        else:
            nothing = "nothing" if self.status is None else "an empty body"
            words = self.body[:80].decode("utf-8", "backslashreplace") or nothing
        return words if self.status is None else f"HTTP {self.status}, {words}"


@dataclass(slots=True)
class Heard:
    """What a server said that nobody asked for, over all connections.

    Attributes:
        junk: Frames that are no JSON.
        wrong: Frames that are JSON, and no message of JSON-RPC.
        asked: Methods of requests that it made though it must not.
        frames: How many frames there were.
    """

    junk: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])
    frames: int = 0

    def take(self, frame: bytes) -> list[Mapping[str, Any]]:
        """Return the messages of a frame, and keep what is wrong with it."""
        self.frames += 1
        try:
            value: Any = msgspec.json.decode(frame)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            _keep(self.junk, frame[:200].decode("utf-8", "backslashreplace"))
            return []
        batch = items(value) or [value]
        found = [message for each in batch if (message := message_of(each)) is not None]
        if len(found) < len(batch):
            _keep(self.wrong, said(value))
        return found

    def refuse(self, method: object) -> None:
        """Keep a request that the server must not make."""
        _keep(self.asked, said(method))


def message_of(value: object) -> Mapping[str, Any] | None:
    """Return a value as a message of JSON-RPC 2.0; None if it is none."""
    message = members(value)
    if message.get("jsonrpc") != "2.0":
        return None
    if "method" in message:
        return message if isinstance(message["method"], str) and "result" not in message else None
    if ("result" in message) == ("error" in message) or ("result" in message and "id" not in message):
        return None
    if "error" in message:
        error = members(message["error"])
        code = error.get("code")
        if not isinstance(code, int) or isinstance(code, bool) or not isinstance(error.get("message"), str):
            return None
    return message


def _keep(where: list[str], text: str) -> None:
    if len(where) < KEPT:
        where.append(text)
