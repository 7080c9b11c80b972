"""Tokens in files that nobody else can read.

    directory 0700 / one file 0600 for each key, replaced as a whole / one lock for each key

A file or directory that others could read, or that is somebody else's, is refused, not repaired: who
knows who has read it.  On Windows, what a directory allows is its own business.

Layer: L4.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
import msgspec

if sys.platform != "win32":
    import fcntl

__all__ = ("FileTokenStorage",)

MAX_FILE = 256 * 1024
"""Bytes of a file that is read; tokens have a few thousand."""

LOCK_SECONDS = 45.0
"""How long to wait for another process: twice as long as it takes to refresh a token at most."""

LOOK_SECONDS = 0.05

T = TypeVar("T")


class _Entry(msgspec.Struct):
    key: str
    value: bytes


class FileTokenStorage:
    """Keeps tokens in a directory, for several runs and processes of a program.

    Args:
        directory: Where; it is made if it is not there.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory).expanduser()

    def __repr__(self) -> str:
        return f"FileTokenStorage({str(self.directory)!r})"

    async def load(self, key: str) -> bytes | None:
        """See `TokenStorage`."""
        return await _in_thread(lambda: self._load(key))

    async def save(self, key: str, value: bytes | None) -> None:
        """See `TokenStorage`."""
        await _in_thread(lambda: self._save(key, value))

    @asynccontextmanager
    async def lock(self, key: str) -> AsyncGenerator[None]:
        """Keep other processes from renewing what is kept under a key.

        Raises:
            OSError: One of them does not come to an end.
        """
        descriptor = await _in_thread(lambda: self._lock_file(key))
        try:
            got = False
            with anyio.move_on_after(LOCK_SECONDS):
                while not (got := _locked(descriptor)):  # noqa: ASYNC110 - another process sets no event
                    await anyio.sleep(LOOK_SECONDS)
            if not got:
                raise TimeoutError(f"another process has held it for {LOCK_SECONDS:.3g} s")
            yield
        finally:
            os.close(descriptor)

    def _load(self, key: str) -> bytes | None:
        try:
            self._check_directory()
            descriptor = os.open(self._path(key), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            _check(os.fstat(descriptor), self._path(key))
            content = file.read(MAX_FILE + 1)
        if len(content) > MAX_FILE:
            raise OSError(f"{self._path(key)} is longer than {MAX_FILE} bytes")
        try:
            entry = msgspec.json.decode(content, type=_Entry)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None
        return entry.value if entry.key == key else None

    def _save(self, key: str, value: bytes | None) -> None:
        self._make_directory()
        path = self._path(key)
        if value is None:
            path.unlink(missing_ok=True)
            return
        descriptor, made = tempfile.mkstemp(dir=self.directory, prefix=".new-")  # 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(_Entry(key, value)))
                file.flush()
                os.fsync(file.fileno())
            Path(made).replace(path)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(made).unlink()
            raise

    def _lock_file(self, key: str) -> int:
        self._make_directory()
        return os.open(self._path(key).with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)

    def _make_directory(self) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._check_directory()

    def _check_directory(self) -> None:
        _check(self.directory.stat(), self.directory)

    def _path(self, key: str) -> Path:
        return self.directory / f"{sha256(key.encode()).hexdigest()}.json"


def _check(found: os.stat_result, path: Path) -> None:
    """Refuse what somebody else can read, or could have made."""
    if sys.platform == "win32":
        return
    if found.st_uid != os.geteuid():
        raise PermissionError(f"{path} belongs to another user")
    if found.st_mode & 0o077:
        raise PermissionError(f"{path} can be used by others (its mode is {found.st_mode & 0o777:04o})")


def _locked(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _in_thread(work: Callable[[], T]) -> T:
    # A thread of its own: what a program runs in threads must not keep its clients from their tokens (B143).
    return await anyio.to_thread.run_sync(work, limiter=anyio.CapacityLimiter(1))
