"""What hostile bytes are thrown at: one module for each target, with a function of that name.

    target(data)    returns: the invariant held; raises: it did not

The invariant is that of the package: bytes from outside give a message, a named protocol error, or
nothing.  Never another exception, never a hang, never a dead connection, and never more memory than
a bound says.  Each module says what that means for its own part.

A target imports what it tests when it is loaded and not before: what guides a fuzzer has to be
woven into a module while that is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TypeAlias, cast

__all__ = ("CORPUS", "NAMES", "Target", "corpus", "load")

Target: TypeAlias = Callable[[bytes], None]

HERE = Path(__file__).parent
CORPUS = HERE.parent / "corpus"
"""Inputs worth keeping, in one folder for each target: by hand, and all that ever found a fault."""

NAMES = tuple(sorted(path.stem for path in HERE.glob("[a-z]*.py")))


def load(name: str) -> Target:
    """Import a target."""
    return cast("Target", import_module(f"{__name__}.{name}").target)


def corpus(name: str) -> list[bytes]:
    """Return the inputs of one target, in order."""
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
