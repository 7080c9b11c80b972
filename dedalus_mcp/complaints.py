"""What one peer does wrong, again and again, in as many lines of a log as somebody may want to read.

    1st ... MAX_EACH-th ──▶ a line for each        then ──▶ one each time there are twice as many

Layer: L0; imports the standard library only.
"""

from __future__ import annotations

import logging

__all__ = ("MAX_EACH", "Complaints")

logger = logging.getLogger("dedalus_mcp")

MAX_EACH = 20
"""Faults of one peer that have a line each: what is wrong shows in fewer, and a flood would fill disks."""


class Complaints:
    """The faults of one peer.  Whoever takes its messages owns it."""

    __slots__ = ("_count", "_next")

    def __init__(self) -> None:
        self._count = 0
        self._next = 1  # the number of the fault that is told next

    def tell(self, text: str, *values: object) -> None:
        """Log a fault as a warning, or count it.

        Args:
            text: As loggers take it.
            values: What stands in it, clipped by the caller.
        """
        self._count += 1
        if self._count < self._next:
            return
        if self._count < MAX_EACH:
            self._next += 1
            logger.warning(text, *values)
        else:
            self._next *= 2
            logger.warning(f"{text} (number %d of such; next is told of number %d)", *values, self._count, self._next)  # noqa: G004 - the text is ours
