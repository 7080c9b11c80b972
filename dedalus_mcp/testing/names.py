"""What one side of a conversation makes up anew in each run, and what it was in an earlier one.

Each side numbers its own requests and tokens, so the same number is two things: what the live side
made up is put where the recording has it, and nowhere else.

Layer: L6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from dedalus_mcp.testing.expected import is_array, is_object

__all__ = ("Names",)

Place: TypeAlias = tuple[str, ...]
"""The members that lead to a name."""

OPAQUE = frozenset({"elicitationId", "requestState", "taskId"})
"""The members that only servers make up, wherever they stand."""

OF_USERS = frozenset({"arguments", "content", "data", "structuredContent"})
"""The members that hold what is none of the protocol's business."""

ID: Place = ("id",)
TOKEN: Place = ("params", "_meta", "progressToken")
_REQUEST: Mapping[Place, str] = {ID: "id", TOKEN: "token"}
_REPLY: Mapping[Place, str] = {ID: "id"}
_PROGRESS: Mapping[Place, str] = {("params", "progressToken"): "token"}
_CANCELLED: Mapping[Place, str] = {("params", "requestId"): "id"}


class Names:
    """The names that the live side has given, by those that it gave when it was recorded."""

    def __init__(self) -> None:
        self._now: dict[tuple[str, str], str | int] = {}

    def learn(self, then: Any, now: Any) -> None:
        """The live side says `now` where the recording has `then`."""
        if is_array(then) and is_array(now):
            for one, other in zip(then, now, strict=False):
                self.learn(one, other)
        else:
            self._learn(then, now, _REQUEST if _is_request(then) else {}, ())

    def _learn(self, then: Any, now: Any, own: Mapping[Place, str], place: Place) -> None:
        if not (is_object(then) and is_object(now)):
            return
        for key, value in then.items():
            there, other = (*place, key), now.get(key)
            kind = own.get(there, key if key in OPAQUE else None)
            if kind is not None and isinstance(value, str | int) and isinstance(other, str | int):
                self._now.setdefault((kind, repr(value)), other)
            elif key not in OF_USERS:
                self._learn(value, other, own, there)

    def theirs(self, message: Any) -> Any:
        """Return what the live side said then, as it should be said now."""
        if is_array(message):
            return [self.theirs(item) for item in message]
        if _is_request(message):
            return self._put(message, _REQUEST, ())
        return self._put(message, _CANCELLED if _method(message) == "notifications/cancelled" else {}, ())

    def ours(self, message: Any) -> Any:
        """Return what the side that is played said then, as it should be said now."""
        if is_array(message):
            return [self.ours(item) for item in message]
        if _method(message) is None:
            return self._put(message, _REPLY, ())
        return self._put(message, _PROGRESS if _method(message) == "notifications/progress" else {}, ())

    def _put(self, value: Any, own: Mapping[Place, str], place: Place) -> Any:
        if is_array(value):
            return [self._put(item, own, place) for item in value]
        if not is_object(value):
            return value
        return {key: self._put_member(key, item, own, (*place, key)) for key, item in value.items()}

    def _put_member(self, key: Any, item: Any, own: Mapping[Place, str], place: Place) -> Any:
        kind = own.get(place, key if key in OPAQUE else None)
        if kind is not None and isinstance(item, str | int):
            return self._now.get((kind, repr(item)), item)
        return item if key in OF_USERS else self._put(item, own, place)


def _method(message: Any) -> Any:
    return message.get("method") if is_object(message) else None


def _is_request(message: Any) -> bool:
    return is_object(message) and "method" in message and "id" in message
