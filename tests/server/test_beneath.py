"""Files beneath a directory: whatever the path says and whatever lies there, nothing else is opened."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedalus_mcp.server.beneath import (
    MAX_DEPTH,
    entries,
    entries_by_name,
    entries_by_segment,
    opened,
    opened_anywhere,
    opened_by_name,
    opened_by_segment,
)

Open = Callable[[Path, Sequence[str]], BinaryIO]

both = pytest.mark.parametrize("open_it", [opened_by_segment, opened_by_name])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with a few files, and a secret beside it."""
    inside = tmp_path.resolve() / "root"
    (inside / "sub" / "deep").mkdir(parents=True)
    (inside / "a.txt").write_text("a")
    (inside / "sub" / "deep" / "b").write_text("b")
    (tmp_path / "secret").write_text("secret")
    return inside


def read(open_it: Open, root: Path, path: str) -> str:
    with open_it(root, path.split("/")) as file:
        return file.read().decode()


# None: our own errors, which name no file of the system.
ABSENT = (None, errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)


def refusal(open_it: Open, root: Path, path: str) -> OSError:
    try:
        file = open_it(root, path.split("/"))
    except OSError as error:
        return error
    file.close()
    pytest.fail(f"{path!r} was opened")


@both
def test_what_is_there_is_opened(open_it: Open, root: Path) -> None:
    assert read(open_it, root, "a.txt") == "a"
    assert read(open_it, root, "sub/deep/b") == "b"


@both
@pytest.mark.parametrize(
    "path",
    ["../secret", "sub/../../secret", "..", ".", "", "/etc/passwd", "a.txt/", "sub//deep/b", "./a.txt", "sub/./deep/b",
     "a.txt\0", "a.txt/x", "sub", "none", "x" * 300, "\ud800", "/".join(["sub"] * 100)],
    ids=ascii,
)  # fmt: skip
def test_any_other_path_is_no_file(open_it: Open, root: Path, path: str) -> None:
    """RES-18."""
    assert refusal(open_it, root, path).errno in ABSENT


@both
def test_links_lead_nowhere(open_it: Open, root: Path) -> None:
    """RES-18: to a file or a directory, outside or inside, absolute or relative, or round in a circle."""
    (root / "file").symlink_to(root.parent / "secret")
    (root / "folder").symlink_to(root.parent)
    (root / "up").symlink_to("..")
    (root / "inner").symlink_to("sub")
    (root / "circle").symlink_to("circle")
    (root / "gone").symlink_to("nowhere")

    for path in ("file", "folder/secret", "up/secret", "inner/deep/b", "circle", "circle/x", "gone"):
        assert refusal(open_it, root, path).errno in ABSENT


@both
def test_only_regular_files_are_opened(open_it: Open, root: Path) -> None:
    """A pipe that nobody writes to would be waited for."""
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(root)  # the path of a socket is short
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        for name in ("pipe", "socket", "sub"):
            with pytest.raises(FileNotFoundError, match="no regular file"):
                open_it(root, [name])


def test_a_device_is_not_opened() -> None:
    with pytest.raises(FileNotFoundError, match="no regular file"):
        opened(Path("/dev"), ["null"])
    with pytest.raises(FileNotFoundError, match="no regular file"):
        opened_anywhere(Path("/dev/null"))


def test_a_file_that_became_a_pipe_meanwhile_is_not_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was looked at and what is opened may be two; neither waits, and nothing stays open."""
    before = (root / "a.txt").stat()
    os.mkfifo(root / "pipe")
    descriptors = len(list(Path("/dev/fd").iterdir()))

    def look(*_args: object, **_settings: object) -> os.stat_result:
        return before

    monkeypatch.setattr(os, "stat", look)

    with pytest.raises(FileNotFoundError, match="no regular file"):
        opened(root, ["pipe"])
    monkeypatch.undo()
    assert len(list(Path("/dev/fd").iterdir())) == descriptors


def test_a_drive_or_a_stream_is_no_name_where_files_are_opened_by_name(root: Path) -> None:
    (root / "a:b").write_text("x")
    (root / "a\\b").write_text("x")

    for name in ("a:b", "a\\b"):
        assert read(opened, root, name) == "x"
        with pytest.raises(FileNotFoundError):
            opened_by_name(root, [name])


def test_directories_in_each_other_are_counted(root: Path) -> None:
    inner = root
    for _ in range(MAX_DEPTH):
        inner /= "d"
    inner.mkdir(parents=True)
    (inner / "f").write_text("too deep")
    (inner.parent / "f").write_text("deep")

    assert read(opened, root, "/".join(["d"] * (MAX_DEPTH - 1) + ["f"])) == "deep"
    with pytest.raises(FileNotFoundError):
        opened(root, ["d"] * MAX_DEPTH + ["f"])


def test_nothing_stays_open_when_a_path_ends_early(root: Path) -> None:
    descriptors = len(list(Path("/dev/fd").iterdir()))

    for path in ("sub/none/x", "sub/deep/none", "a.txt/x"):
        assert refusal(opened, root, path).errno in ABSENT

    assert len(list(Path("/dev/fd").iterdir())) == descriptors


@pytest.mark.parametrize("list_it", [entries_by_segment, entries_by_name])
def test_entries_are_files_and_directories_and_nothing_else(list_it: Any, root: Path) -> None:
    (root / "link").symlink_to("a.txt")
    (root / "up").symlink_to("..")
    os.mkfifo(root / "pipe")

    assert sorted(list_it(root, [])) == [("a.txt", False, 1), ("sub", True, 0)]
    assert sorted(list_it(root, ["sub", "deep"])) == [("b", False, 1)]
    with pytest.raises((NotADirectoryError, FileNotFoundError)):
        list(list_it(root, ["up"]))


def test_this_system_can_hold_directories_open() -> None:
    assert opened is opened_by_segment
    assert entries is entries_by_segment


names = st.one_of(st.sampled_from(["..", ".", "", "sub", "deep", "up", "a.txt", "secret", "/", "\\", "~"]), st.text())


@both
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(segments=st.lists(names, max_size=6))
def test_no_path_gives_the_secret_beside_it(open_it: Open, root: Path, segments: list[str]) -> None:
    """RES-18: it is a file from inside, or an error of the system."""
    if not (root / "up").is_symlink():
        (root / "up").symlink_to("..")
    try:
        file = open_it(root, segments)
    except OSError:
        return
    with file:
        assert file.read() in (b"a", b"b")
