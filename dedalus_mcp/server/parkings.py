"""Where the parked calls of a server are, in each event loop.

What asks in rounds is loaded here, at the first question of 2026-07-28: most programs never get there.

Layer: L4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dedalus_mcp.jsonrpc.loops import PerLoop
from dedalus_mcp.server.config import ParkingConfig
from dedalus_mcp.server.seal import Seal

if TYPE_CHECKING:
    from dedalus_mcp.server.parking import Parking

__all__ = ("Parkings",)


class Parkings(PerLoop["Parking"]):
    """The parked calls of one server; a `Parking` for each event loop.

    Args:
        config: The bounds.
        server: The server's name.
    """

    def __init__(self, config: ParkingConfig, server: str) -> None:
        super().__init__(self._open)
        self._config = config
        self._server = server
        self._seal: Seal | None = None

    def seal_under(self, keys: Sequence[bytes | str]) -> None:
        """Seal states under these keys, from the next event loop on; not at all if there are none.

        Raises:
            ValueError: A key is too short.
            ImportError: The extra `seal` is not installed.
        """
        self._seal = Seal(keys) if keys else None

    def _open(self) -> Parking:
        from dedalus_mcp.server.parking import Parking  # noqa: PLC0415 - loaded where it is used

        return Parking(self._config, self._server, self._seal)
