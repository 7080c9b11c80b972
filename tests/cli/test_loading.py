"""The server in a file or a module."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedalus_mcp.cli.exits import Misuse
from dedalus_mcp.cli.loading import file_of, load_server

ONE = "from dedalus_mcp import MCPServer\nserver = MCPServer('one')\n"
TWO = f"{ONE}again = server\nother = MCPServer('two')\nclass Inner:\n    deep = MCPServer('deep')\nnumber = 3\n"


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def file(folder: Path, text: str, name: str = "desk.py") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_the_one_server_of_a_file_is_found(tmp_path: Path) -> None:
    assert load_server(file(tmp_path, ONE)).name == "one"


@pytest.mark.parametrize(
    ("name", "server"), [("server", "one"), ("again", "one"), ("other", "two"), ("Inner.deep", "deep")]
)
def test_one_of_several_is_named(name: str, server: str, tmp_path: Path) -> None:
    assert load_server(f"{file(tmp_path, TWO)}:{name}").name == server


def test_of_several_none_is_guessed_and_all_are_named(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"has several servers; its servers: server, other: say .*desk\.py:server"):
        load_server(file(tmp_path, TWO))


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("x = 1\n", "", "has no MCPServer among its globals"),
        (TWO, ":number", "'number' in .*desk.py is int, no MCPServer; its servers: server, other"),
        (TWO, ":nothing", "desk.py has no 'nothing'; its servers: server, other"),
        ("x = 1\n", ":x.y", "desk.py has no 'x.y'; it has no server"),
    ],
)
def test_what_is_no_server_is_said_with_what_there_is(text: str, name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=said):
        load_server(f"{file(tmp_path, text)}{name}")


def test_a_file_finds_its_neighbours_and_its_own_annotations(tmp_path: Path) -> None:
    file(tmp_path, "WORD = 'hello'\n", "desk_words.py")
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom desk_words import WORD\n"
    text += "import typing\n@dataclass\nclass Point:\n    x: int\ntyping.get_type_hints(Point)\n"
    text += "from dedalus_mcp import MCPServer\nserver = MCPServer(WORD)\n"

    assert load_server(file(tmp_path, text)).name == "hello"


@pytest.mark.parametrize("name", ["json.py", "pytest.py", "my-server.py"])
def test_a_file_may_be_called_as_it_likes_and_replaces_no_module(name: str, tmp_path: Path) -> None:
    before = sys.modules.get(name.removesuffix(".py"))

    assert load_server(file(tmp_path, ONE, name)).name == "one"
    assert sys.modules.get(name.removesuffix(".py")) is before


def test_a_module_is_found_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deskpkg").mkdir()
    file(tmp_path / "deskpkg", "from deskpkg.words import WORD\n" + ONE.replace("'one'", "WORD"), "api.py")
    file(tmp_path / "deskpkg", "WORD = 'module'\n", "words.py")
    monkeypatch.chdir(tmp_path)

    assert load_server("deskpkg.api:server").name == "module"
    assert load_server("deskpkg.api").name == "module"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("not/there.py", "there is no file"),
        ("nowhere_at_all:server", "there is no module 'nowhere_at_all'"),
        ("json.nowhere:server", "there is no module 'json.nowhere'"),
        ("..:server", "is no module"),
        ("json", "has no MCPServer"),
    ],
)
def test_what_is_not_there_is_said(given: str, said: str) -> None:
    with pytest.raises(Misuse, match=said):
        load_server(given)


def test_what_the_code_raises_is_its_own(tmp_path: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match="nowhere_at_all"):
        load_server(file(tmp_path, "import nowhere_at_all\n"))


def test_the_file_of_a_target_is_known() -> None:
    assert file_of("a/desk.py:server") == file_of("a/desk.py") == Path("a/desk.py")
    assert file_of("deskpkg.api:server") is None
