"""`RootGuard`: what is within roots, by the rules of the file system and not by the look of a path."""

from __future__ import annotations

import ntpath
import os
from pathlib import Path

import pytest

from dedalus_mcp.server.roots import RootGuard
from dedalus_mcp.types import Root


def guard(*uris: str) -> RootGuard:
    return RootGuard([Root(uri=uri) for uri in uris])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "my root"
    (root / "inner").mkdir(parents=True)
    (tmp_path / "my root and more").mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "back").symlink_to(root / "inner")
    (root / "loop").symlink_to(root / "loop")
    return root


@pytest.mark.parametrize(
    "path", ["", "inner", "inner/new/file", "inner/..", "out/my root/inner", "back/x", "loop", "..a"]
)
def test_what_is_inside_is_let_through(path: str, root: Path) -> None:
    """ROOT-08."""
    assert guard(root.as_uri()).within(root / path)
    assert guard(root.as_uri()).within(f"{root}/{path}")


@pytest.mark.parametrize(
    "path", ["..", "../other", "inner/../../x", "out", "out/x", "../my root and more", "../my root and more/x"]
)
def test_what_leads_outside_is_not(path: str, root: Path) -> None:
    """ROOT-08: by `..`, by a link, or by a name that begins alike."""
    assert not guard(root.as_uri()).within(root / path)


def test_the_path_that_comes_back_is_the_one_that_was_checked(root: Path) -> None:
    assert guard(root.as_uri()).real(root / "back" / "x") == os.path.realpath(root / "inner" / "x")


@pytest.mark.parametrize(
    "path", ["", "\0", "a\0b", "file:", "file://", "file:///%00", "file:///%ff", "file://["], ids=repr
)
def test_what_is_no_path_is_within_nothing(path: str) -> None:
    assert not guard("file:///").within(path)


def test_percent_signs_are_decoded_in_uris_alone_and_once(root: Path) -> None:
    inside = guard(root.as_uri())

    assert "%20" in root.as_uri()
    assert inside.within(f"{root.as_uri()}/inner")
    assert inside.within(f"FILE://localhost{root.as_uri().removeprefix('file://')}/x")
    assert not inside.within(f"{root.as_uri()}/%2e%2e/x")
    assert not inside.within(f"{root.as_uri()}/..%2fx")
    assert inside.within(f"{root.as_uri()}/%252e%252e/x")
    assert inside.within(root / "%2e%2e" / "x")
    assert not inside.within(str(root).replace(" ", "%20"))


def test_a_root_may_be_a_file_the_disk_or_one_of_several(root: Path) -> None:
    file = root / "file"
    file.touch()

    assert guard(file.as_uri()).within(file)
    assert not guard(file.as_uri()).within(root)
    assert guard("file:///").within(root)
    assert guard("file:///nowhere", root.as_uri() + "/").within(root / "x")


@pytest.mark.parametrize(
    "uri", ["https://example.com/", "file://server/share", "", "no uri", "file:relative", "file://["]
)
def test_what_is_no_local_directory_is_no_root(uri: str, tmp_path: Path) -> None:
    """ROOT-02."""
    assert not guard(uri).within(tmp_path)
    assert not guard().within(tmp_path)


def test_case_counts_where_the_file_system_says_so(root: Path) -> None:
    assert not guard(root.as_uri()).within(str(root).upper())


@pytest.mark.parametrize(
    ("uri", "path", "inside"),
    [
        ("file:///C:/Users/me", "C:\\Users\\me\\a.txt", True),
        ("file:///c%3A/Users/me", "C:/users/ME", True),
        ("file:///C:/Users/me/", "c:\\users\\me\\..\\me\\x", True),
        ("file:///C:/Users/me", "C:\\Users\\me\\..\\you", False),
        ("file:///C:/Users/me", "C:\\Users\\me2", False),
        ("file:///C:/Users/me", "D:\\Users\\me", False),
        ("file:///C:/Users/me", "file:///C:/Users/me/a", True),
        ("file:///C:/", "C:\\anything", True),
        ("file://server/share", "\\\\SERVER\\share\\x", True),
        ("file://server/share", "\\\\server\\other", False),
        ("file:///Users/me", "C:\\Users\\me", False),
    ],
)
def test_windows_has_drives_shares_and_no_case(uri: str, path: str, inside: bool) -> None:
    assert RootGuard([Root(uri=uri)], ntpath).within(path) is inside
