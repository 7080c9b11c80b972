"""Serves a program in a child process, and starts it anew when a file beside it changes.

    start ──▶ serving ──a file changes──▶ told to end, waited for ──▶ start
                 └── it ends by itself, as one that cannot be imported does ──▶ waits for a change ──▶ start

Layer: L6; starts processes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

__all__ = ("changes_of", "serve_reloading")

POLL_SECONDS = 0.5
"""How often files are looked at."""
GRACE_SECONDS = 10.0
"""How long a program that is told to end may take, before it is killed: it drains its calls."""
MAX_FILES = 10_000
"""Files that are looked at, at most: what has more is no directory of a server's own code."""
SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})


def serve_reloading(command: Sequence[str], directory: Path) -> int:
    """Run a command until we are told to end (SIGINT, SIGTERM), anew after each change of a Python file.

    Args:
        command: The program and its arguments.
        directory: Whose files are looked at, and those of the directories in it.

    Returns:
        The exit code: 0.
    """
    told = threading.Event()

    def tell(number: int, frame: FrameType | None) -> None:
        told.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, tell)
    child = subprocess.Popen(command)
    try:
        seen = changes_of(directory)
        while not told.wait(POLL_SECONDS):
            now = changes_of(directory)
            if now != seen:
                seen = now
                sys.stderr.write("a file has changed: starting anew\n")
                _end(child)
                child = subprocess.Popen(command)
    finally:
        _end(child)
    return 0


def changes_of(directory: Path) -> dict[str, int]:
    """Return when each Python file was changed, in nanoseconds, by its path."""
    found: dict[str, int] = {}
    for path in _files(directory):
        try:
            found[path] = os.stat(path).st_mtime_ns  # noqa: PTH116 - ten thousand of them
        except OSError:  # it has gone meanwhile
            continue
        if len(found) >= MAX_FILES:
            break
    return found


def _files(directory: Path) -> Iterator[str]:
    for place, inner, names in os.walk(directory):
        inner[:] = [name for name in inner if not (name.startswith(".") or name in SKIPPED or name.endswith("venv"))]
        yield from (os.path.join(place, name) for name in names if name.endswith(".py"))  # noqa: PTH118 - likewise


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child: Ctrl-C has told it already, which does no harm."""
    child.terminate()
    try:
        child.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
