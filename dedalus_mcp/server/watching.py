"""Resources of other servers that somebody here wants to hear of: those servers are asked to tell.

    the first listener ──▶ watched, elsewhere ──▶ the last one leaves ──▶ watched no more

Layer: L4.
"""

from __future__ import annotations

import logging

import anyio

from dedalus_mcp.errors import DedalusError, McpError
from dedalus_mcp.excerpt import excerpt
from dedalus_mcp.jsonrpc.loops import PerLoop
from dedalus_mcp.jsonrpc.tasks import Tasks
from dedalus_mcp.server.changes import Change
from dedalus_mcp.server.resources import Resources

__all__ = ("Watching",)

logger = logging.getLogger("dedalus_mcp")


class _Watch:
    """One resource that is watched, or about to be."""

    __slots__ = ("begun", "ended", "error")

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.ended = anyio.Event()
        self.error: McpError | None = None


class Watching:
    """What one server watches elsewhere.

    Args:
        resources: Its resources, which know where each of them is.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._tasks = Tasks()
        self._watches: PerLoop[dict[str, _Watch]] = PerLoop(dict)

    def want(self, change: Change) -> None:
        """Somebody listens for a change now, and nobody did before."""
        if change.uri is not None and self._resources.unlisted:
            watch = self._watches.here()[change.uri] = _Watch()
            uri = change.uri
            self._tasks.start(lambda: self._keep(uri, watch), detached=True)

    def leave(self, change: Change) -> None:
        """Nobody listens for it any more."""
        if change.uri is not None and (watch := self._watches.here().pop(change.uri, None)) is not None:
            watch.ended.set()

    async def begun(self, uri: str) -> None:
        """Return once a resource is watched, if it is elsewhere.

        Raises:
            McpError: The server that has it does not tell of it.
        """
        watch = self._watches.here().get(uri)
        if watch is not None:
            await watch.begun.wait()
            if watch.error is not None:
                raise watch.error

    async def _keep(self, uri: str, watch: _Watch) -> None:
        try:
            async with self._resources.watched(uri):
                watch.begun.set()
                await watch.ended.wait()
        except McpError as error:
            watch.error = error
        except (DedalusError, OSError) as error:
            logger.warning("a resource elsewhere is not watched any more: %s", excerpt(error))
        finally:
            watch.begun.set()
