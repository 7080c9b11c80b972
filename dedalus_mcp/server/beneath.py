"""Files beneath a directory, opened so that no path leads out of it.

Every segment of the path is opened by itself, in the directory that the one before it opened, and
never through a link.  So links lead nowhere, and nothing that is renamed meanwhile does either.
Where the system cannot do that (Windows), the path is compared with what it resolves to, which a
change at the right moment can get round.

Only regular files are opened: no device, pipe or socket, which could hang or do something.

Layer: L4; blocks on the disk.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = (
    "entries",
    "entries_by_name",
    "entries_by_segment",
    "opened",
    "opened_anywhere",
    "opened_by_name",
    "opened_by_segment",
)

MAX_DEPTH = 64
"""Directories within each other; each is opened by itself."""

_BY_SEGMENT = hasattr(os, "O_NOFOLLOW") and os.open in os.supports_dir_fd and os.scandir in os.supports_fd
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)  # fmt: skip
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def opened_by_segment(root: Path, segments: Sequence[str]) -> BinaryIO:
    """Open a regular file.

    Args:
        root: The directory, resolved.
        segments: The names on the way to the file, at least one.

    Raises:
        OSError: There is no such file beneath the directory, or it cannot be opened.
    """
    *folders, name = _checked(segments)
    with _folder(root, folders) as folder:
        _regular(os.stat(name, dir_fd=folder, follow_symlinks=False), name)  # opening a device may do something
        return _file(os.open(name, _FILE | _NO_LINK, dir_fd=folder), name)


def opened_by_name(root: Path, segments: Sequence[str]) -> BinaryIO:
    """Do the same where directories cannot be held open.

    Raises:
        OSError: See `opened_by_segment`.
    """
    return opened_anywhere(_without_links(root, _checked(segments)))


def opened_anywhere(path: Path) -> BinaryIO:
    """Open a regular file, through links.

    Raises:
        OSError: There is none, or it cannot be opened.
    """
    _regular(path.stat(), path.name)
    return _file(os.open(path, _FILE), path.name)


def entries_by_segment(root: Path, folders: Sequence[str]) -> Iterator[tuple[str, bool, int]]:
    """Give what is in a directory: names, whether each is a directory, and their sizes; links and special files not.

    Args:
        root: The directory, resolved.
        folders: The names on the way from there.

    Raises:
        OSError: There is no such directory beneath it, or it cannot be read.
    """
    with _folder(root, folders) as folder:
        yield from _listed(folder)


def entries_by_name(root: Path, folders: Sequence[str]) -> Iterator[tuple[str, bool, int]]:
    """Do the same where directories cannot be held open.

    Raises:
        OSError: See `entries_by_segment`.
    """
    yield from _listed(_without_links(root, folders))


opened = opened_by_segment if _BY_SEGMENT else opened_by_name
entries = entries_by_segment if _BY_SEGMENT else entries_by_name


def _without_links(root: Path, segments: Sequence[str]) -> Path:
    path = root.joinpath(*segments)
    if any(mark in segment for segment in segments for mark in "\\:"):  # a drive, or a stream of a file
        raise FileNotFoundError(f"no such file: {path.name!r}")
    if os.path.normcase(os.path.realpath(path, strict=True)) != os.path.normcase(path):
        raise FileNotFoundError(f"a link: {path.name!r}")
    return path


def _listed(folder: int | Path) -> Iterator[tuple[str, bool, int]]:
    with os.scandir(folder) as found:
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                yield entry.name, True, 0
            elif entry.is_file(follow_symlinks=False):
                yield entry.name, False, entry.stat(follow_symlinks=False).st_size


def _checked(segments: Sequence[str]) -> Sequence[str]:
    if not 0 < len(segments) <= MAX_DEPTH or any(not _is_name(segment) for segment in segments):
        raise FileNotFoundError("no such file")
    return segments


def _is_name(segment: str) -> bool:
    try:
        os.fsencode(segment)
    except UnicodeError:
        return False
    return segment not in ("", ".", "..") and not any(mark in segment for mark in ("/", os.sep, "\0"))


@contextmanager
def _folder(root: Path, folders: Sequence[str]) -> Generator[int]:
    """Hold a directory open."""
    held = os.open(root, _FOLDER)
    try:
        for name in folders:
            inner = os.open(name, _FOLDER | _NO_LINK, dir_fd=held)
            os.close(held)
            held = inner
        yield held
    finally:
        os.close(held)


def _file(descriptor: int, name: str) -> BinaryIO:
    try:
        _regular(os.fstat(descriptor), name)  # it may be another one now
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _regular(status: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise FileNotFoundError(f"no regular file: {name!r}")
