"""Tokens in files: nobody else reads them, nothing is half written, and processes do not get in each other's way."""

from __future__ import annotations

import multiprocessing
import os
import sys
from pathlib import Path

import anyio
import pytest

from dedalus_mcp.client.auth import file_storage
from dedalus_mcp.client.auth.failures import AuthError
from dedalus_mcp.client.auth.file_storage import MAX_FILE, FileTokenStorage
from dedalus_mcp.client.auth.login import alone, load, save
from dedalus_mcp.client.auth.metadata import ClientInformation

posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no modes on Windows")
KEY = "token https://host/mcp"


@pytest.fixture
def storage(tmp_path: Path) -> FileTokenStorage:
    return FileTokenStorage(tmp_path / "tokens")


def only(storage: FileTokenStorage) -> Path:
    (path,) = storage.directory.iterdir()
    return path


async def test_what_is_saved_is_there_for_the_next_one(storage: FileTokenStorage) -> None:
    await storage.save(KEY, b'{"a": "\xc3\xbc"}')
    await storage.save("another", b"")

    again = FileTokenStorage(str(storage.directory))
    assert await again.load(KEY) == b'{"a": "\xc3\xbc"}'
    assert await again.load("another") == b""
    assert await again.load("a third") is None


async def test_nothing_is_there_before_anything_is_saved(storage: FileTokenStorage) -> None:
    assert await storage.load(KEY) is None
    await storage.save(KEY, None)
    assert await storage.load(KEY) is None


async def test_what_is_forgotten_is_gone(storage: FileTokenStorage) -> None:
    await storage.save(KEY, b"1")
    await storage.save(KEY, None)

    assert await storage.load(KEY) is None
    assert list(storage.directory.iterdir()) == []


@posix
async def test_only_the_user_can_read_it(storage: FileTokenStorage) -> None:
    """AUTH-47."""
    old = os.umask(0)
    try:
        await storage.save(KEY, b"1")
        async with storage.lock(KEY):
            pass
    finally:
        os.umask(old)

    assert storage.directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in storage.directory.iterdir()} == {0o600}


@posix
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o601], ids=oct)
async def test_a_file_that_others_can_use_is_refused(storage: FileTokenStorage, mode: int) -> None:
    """AUTH-47: and left as it is, since nobody knows who has read it."""
    await storage.save(KEY, b"1")
    only(storage).chmod(mode)

    with pytest.raises(PermissionError, match=f"can be used by others .its mode is {mode:04o}"):
        await storage.load(KEY)

    assert only(storage).stat().st_mode & 0o777 == mode


@posix
@pytest.mark.parametrize("mode", [0o755, 0o750, 0o707], ids=oct)
async def test_a_directory_that_others_can_use_is_refused(storage: FileTokenStorage, mode: int) -> None:
    """AUTH-47."""
    await storage.save(KEY, b"1")
    storage.directory.chmod(mode)

    with pytest.raises(PermissionError):
        await storage.load(KEY)
    with pytest.raises(PermissionError):
        await storage.save(KEY, b"2")


@posix
async def test_what_belongs_to_another_user_is_refused(
    storage: FileTokenStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await storage.save(KEY, b"1")
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)

    with pytest.raises(PermissionError, match="belongs to another user"):
        await storage.load(KEY)


@posix
async def test_a_link_is_not_followed(storage: FileTokenStorage, tmp_path: Path) -> None:
    await storage.save(KEY, b"1")
    elsewhere = tmp_path / "elsewhere"
    path = only(storage)
    path.rename(elsewhere)
    path.symlink_to(elsewhere)

    with pytest.raises(OSError, match="symbolic links"):
        await storage.load(KEY)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"key":"another","value":"MQ=="}', b'{"key":1}'])
async def test_a_file_that_is_none_of_ours_holds_nothing(storage: FileTokenStorage, content: bytes) -> None:
    await storage.save(KEY, b"1")
    only(storage).write_bytes(content)

    assert await storage.load(KEY) is None


async def test_a_file_without_end_is_not_read_to_its_end(storage: FileTokenStorage) -> None:
    await storage.save(KEY, b"1")
    only(storage).write_bytes(b" " * (MAX_FILE + 1))

    with pytest.raises(OSError, match="longer than"):
        await storage.load(KEY)


async def test_a_save_that_fails_leaves_what_was_there_and_nothing_else(
    storage: FileTokenStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await storage.save(KEY, b"old")

    def full(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        await storage.save(KEY, b"new")
    monkeypatch.undo()

    assert await storage.load(KEY) == b"old"
    assert only(storage).suffix == ".json"


async def test_a_storage_that_fails_is_an_error_of_authorization(storage: FileTokenStorage) -> None:
    """B136: it is told, and not hidden."""
    storage.directory.write_bytes(b"a file")
    information = ClientInformation(client_id="me")

    with pytest.raises(AuthError, match="the token storage cannot be read"):
        await load(storage, KEY, ClientInformation)
    with pytest.raises(AuthError, match="the token storage cannot be written"):
        await save(storage, KEY, information)
    with pytest.raises(AuthError, match="the token storage cannot be locked"):
        async with alone(storage, KEY):
            pass


async def test_what_cannot_be_understood_any_more_is_as_good_as_nothing(storage: FileTokenStorage) -> None:
    await storage.save(KEY, b'{"client_id": 3}')

    assert await load(storage, KEY, ClientInformation) is None


async def test_an_error_while_alone_stays_what_it_is(storage: FileTokenStorage) -> None:
    with pytest.raises(AuthError, match="mine"):
        async with alone(storage, KEY):
            raise AuthError("mine")


@posix
async def test_one_waits_for_the_other(storage: FileTokenStorage) -> None:
    order: list[str] = []
    inside, leave = anyio.Event(), anyio.Event()

    async def first() -> None:
        async with FileTokenStorage(storage.directory).lock(KEY):
            inside.set()
            await leave.wait()
            order.append("first")

    async def second() -> None:
        await inside.wait()
        leave.set()
        async with storage.lock(KEY):
            order.append("second")

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(second)
            group.start_soon(first)

    assert order == ["first", "second"]


@posix
async def test_whoever_waits_too_long_is_told(storage: FileTokenStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_storage, "LOCK_SECONDS", 0.01)

    async with storage.lock(KEY):
        with pytest.raises(AuthError, match="cannot be locked: another process has held it"):
            async with alone(FileTokenStorage(storage.directory), KEY):
                pass


def hammer(directory: str, letter: bytes) -> None:
    async def work() -> None:
        storage = FileTokenStorage(directory)
        for _ in range(50):
            await storage.save(KEY, letter * 20_000)
            found = await storage.load(KEY)
            assert found is not None
            assert len(found) == 20_000
            assert len(set(found)) == 1

    anyio.run(work)


def test_two_processes_never_see_half_of_anything(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=hammer, args=(str(tmp_path / "tokens"), letter)) for letter in (b"a", b"b")]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)

    assert [process.exitcode for process in processes] == [0, 0]


def test_what_is_kept_is_not_shown(tmp_path: Path) -> None:
    assert repr(FileTokenStorage(tmp_path)) == f"FileTokenStorage({str(tmp_path)!r})"
