"""What a handler logs: the part of `Context` that is about log messages.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from dedalus_mcp.session import Terms
from dedalus_mcp.types import LoggingLevel, LoggingMessageNotificationParams
from dedalus_mcp.types.methods import MESSAGE

__all__ = ("LEVELS", "LoggingCall", "Logs")

LEVELS: tuple[LoggingLevel, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
_SEVERITY = {level: rank for rank, level in enumerate(LEVELS)}


class LoggingCall(Protocol):
    """The call that logs: see `Context` for what each member is."""

    @property
    def terms(self) -> Terms:
        """What holds between server and client."""
        ...

    def hears(self, level: LoggingLevel) -> bool:
        """Whether the client wants to hear of that level."""
        ...

    async def tell(self, method: str, params: Any) -> None:
        """Send a notice that belongs to this call; None for one that nobody wants."""
        ...

    async def log(self, level: LoggingLevel, message: str, *, logger: str | None = None, data: Any = None) -> None:
        """Send a log message."""
        ...


class Logs:
    """The part of `Context` that logs."""

    __slots__ = ()

    def hears(self: LoggingCall, level: LoggingLevel) -> bool:
        """Whether the client wants to hear of that level."""
        threshold = self.terms.log_level
        return threshold is not None and _SEVERITY[level] >= _SEVERITY[threshold]

    async def log(
        self: LoggingCall, level: LoggingLevel, message: str, *, logger: str | None = None, data: Any = None
    ) -> None:
        """Send a log message to the client, unless its threshold is higher.

        Args:
            level: One of the eight syslog levels.
            message: For people; sent as the member ``msg``.
            logger: The name of the logger.
            data: More members beside ``msg`` if it is a mapping, else the member ``data``.

        Raises:
            ValueError: There is no such level.
            LocalProtocolError: `data` is not JSON.
        """
        if level not in _SEVERITY:
            raise ValueError(f"no log level {level!r}; legal are {', '.join(LEVELS)}")
        if not self.hears(level):
            await self.tell(MESSAGE.name, None)
            return
        members: dict[str, Any] = {"msg": message}
        if isinstance(data, Mapping):
            members = {**data, "msg": message}
        elif data is not None:
            members["data"] = data
        await self.tell(MESSAGE.name, LoggingMessageNotificationParams(level=level, logger=logger, data=members))

    async def debug(self: LoggingCall, message: str, *, logger: str | None = None, data: Any = None) -> None:
        """Send a log message at level "debug"."""
        await self.log("debug", message, logger=logger, data=data)

    async def info(self: LoggingCall, message: str, *, logger: str | None = None, data: Any = None) -> None:
        """Send a log message at level "info"."""
        await self.log("info", message, logger=logger, data=data)

    async def notice(self: LoggingCall, message: str, *, logger: str | None = None, data: Any = None) -> None:
        """Send a log message at level "notice"."""
        await self.log("notice", message, logger=logger, data=data)

    async def warning(self: LoggingCall, message: str, *, logger: str | None = None, data: Any = None) -> None:
        """Send a log message at level "warning"."""
        await self.log("warning", message, logger=logger, data=data)

    async def error(self: LoggingCall, message: str, *, logger: str | None = None, data: Any = None) -> None:
        """Send a log message at level "error"."""
        await self.log("error", message, logger=logger, data=data)

    async def critical(self: LoggingCall, message: str, *, logger: str | None = None, data: Any = None) -> None:
        """Send a log message at level "critical"."""
        await self.log("critical", message, logger=logger, data=data)
