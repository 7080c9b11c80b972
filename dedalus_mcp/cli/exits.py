"""How the command line ends.

Layer: L6.
"""

from __future__ import annotations

__all__ = ("Misuse",)

DONE = 0
REFUSED = 1
"""The tool or the server answered with an error."""
MISUSED = 2
"""The command line is not legal, or an extra is missing."""
LOST = 3
"""The server could not be reached, did not answer in time, or went away."""
DECLINED = 4
"""A question of the server was declined or cancelled."""
INTERRUPTED = 130
"""By Ctrl-C, as shells have it: 128 and the number of the signal."""
BROKEN_PIPE = 141
"""Nobody reads what is written, likewise."""


class Misuse(ValueError):
    """The command line is not legal; the text says what is."""
