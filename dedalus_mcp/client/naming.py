"""What is called how in a group: the name of the server, two underscores, and the server's own name.

No two names are the same, and no list is needed to know whose a name is: a server's name has no two
underscores in a row, and none at its end.

Layer: L4; no I/O.
"""

from __future__ import annotations

import re

__all__ = ("in_group", "parted", "server_name")

SEPARATOR = "__"

MAX_NAME = 64
"""Characters of a server's name: models take names of tools with no more than that in all."""


def server_name(name: str) -> str:
    """Return the name of a server with no character that models do not take in names of tools.

    Raises:
        ValueError: Nothing is left of it, or it is too long.
    """
    cleaned = re.sub(r"__+", "_", re.sub(r"[^A-Za-z0-9_-]", "_", name)).strip("_")
    if not cleaned or len(cleaned) > MAX_NAME:
        raise ValueError(f"a server's name has 1 to {MAX_NAME} letters, digits, '-' and '_', not {name!r:.80}")
    return cleaned


def in_group(server: str, name: str) -> str:
    """Return what a group calls what the server calls `name`."""
    return f"{server}{SEPARATOR}{name}"


def parted(name: str) -> tuple[str, str]:
    """Return the server that a name of a group is about, and what that server calls it.

    Raises:
        LookupError: It is no name of a group.
    """
    server, separator, own = name.partition(SEPARATOR)
    if not separator or not server or not own:
        raise LookupError(f"names in a group are 'server{SEPARATOR}name', not {name!r:.80}")
    return server, own
