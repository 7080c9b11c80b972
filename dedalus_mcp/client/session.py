"""What a legacy server holds for a client between two requests: that is lost with the session.

Layer: L4; no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dedalus_mcp.types import (
    LoggingLevel,
    RequestParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from dedalus_mcp.types.method import Method
from dedalus_mcp.types.methods import LOGGING_SET_LEVEL, RESOURCES_SUBSCRIBE

__all__ = ("Held",)


class Held:
    """The requests that make a new session what the last one was: the log level and the subscriptions."""

    def __init__(self) -> None:
        self._level: SetLevelRequestParams | None = None
        self._subscribed: dict[str, SubscribeRequestParams] = {}

    def __iter__(self) -> Iterator[tuple[Method[Any, Any], Any]]:
        if self._level is not None:
            yield LOGGING_SET_LEVEL, self._level
        for params in list(self._subscribed.values()):
            yield RESOURCES_SUBSCRIBE, params

    @property
    def level(self) -> LoggingLevel | None:
        """The log level that was asked for; None where none was."""
        return None if self._level is None else self._level.level

    @property
    def uris(self) -> list[str]:
        """The resources that are subscribed to."""
        return list(self._subscribed)

    def note(self, params: RequestParams) -> None:
        """Take the params of a request that succeeded."""
        match params:
            case SetLevelRequestParams():
                self._level = params
            case SubscribeRequestParams():
                self._subscribed[params.uri] = params
            case UnsubscribeRequestParams():
                self._subscribed.pop(params.uri, None)
            case _:
                pass
