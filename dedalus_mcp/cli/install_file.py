"""A configuration read and replaced as a whole: whoever reads it meanwhile sees the old one or the new one.

Layer: L6.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ("read_text", "replace_text")

MAX_FILE = 16 * 1024 * 1024
"""Bytes of a configuration: some hosts keep their history in it, and more is another file, given by mistake."""

NEW_MODE = 0o600
"""Who may read a file that is new: its owner, since entries hold keys."""


def read_text(path: Path) -> str:
    """Return the text of a file; empty if it is not there.

    Raises:
        OSError: It cannot be read.
        ValueError: It is too large, no UTF-8, or no regular file: a pipe might be waited for without end.
    """
    if path.exists() and not path.is_file():
        raise ValueError("it is no regular file")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE + 1)
    except FileNotFoundError:
        return ""
    if len(content) > MAX_FILE:
        raise ValueError(f"it has more than {MAX_FILE} bytes, which is the limit")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no UTF-8: byte {error.start}") from None


def replace_text(path: Path, text: str) -> None:
    """Write a file in one step; its mode stays, and a link stays a link.

    Raises:
        OSError: It cannot be written; the old one is there still.
    """
    real = Path(os.path.realpath(path))
    try:
        mode = stat.S_IMODE(real.stat().st_mode)
    except FileNotFoundError:
        mode = NEW_MODE
    descriptor, made = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")  # beside it: on one file system
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(made).chmod(mode)
        Path(made).replace(real)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(made).unlink()
        raise
