"""A configuration is replaced as a whole, or not at all."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from dedalus_mcp.cli import install_file
from dedalus_mcp.cli.install_file import read_text, replace_text

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and links are those of POSIX")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read_text(tmp_path / "none.json") == ""


def test_text_is_read_as_it_was_written(tmp_path: Path) -> None:
    replace_text(tmp_path / "a.json", '{"ü": 1}\r\n')

    assert read_text(tmp_path / "a.json") == '{"ü": 1}\r\n'
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@posix
def test_the_mode_of_a_file_stays_and_a_new_one_is_its_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "old.json").touch(mode=0o640)
    (tmp_path / "old.json").chmod(0o640)

    replace_text(tmp_path / "old.json", "{}")
    replace_text(tmp_path / "new.json", "{}")

    assert (mode(tmp_path / "old.json"), mode(tmp_path / "new.json")) == (0o640, 0o600)


@posix
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").touch()
    (tmp_path / "link.json").symlink_to("real.json")

    replace_text(tmp_path / "link.json", "{}")

    assert (tmp_path / "link.json").is_symlink()
    assert read_text(tmp_path / "real.json") == "{}"


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    replace_text(tmp_path / "a.json", "old")

    with pytest.raises(UnicodeEncodeError):
        replace_text(tmp_path / "a.json", "\ud800")

    assert read_text(tmp_path / "a.json") == "old"
    assert len(list(tmp_path.iterdir())) == 1


@posix
def test_what_might_be_waited_for_without_end_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.json")

    for path in (tmp_path / "a.json", tmp_path):
        with pytest.raises(ValueError, match="no regular file"):
            read_text(path)


def test_what_is_no_configuration_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_bytes(b"{\xff}")
    with pytest.raises(ValueError, match="no UTF-8: byte 1"):
        read_text(tmp_path / "a.json")

    monkeypatch.setattr(install_file, "MAX_FILE", 2)
    with pytest.raises(ValueError, match="more than 2 bytes"):
        read_text(tmp_path / "a.json")
