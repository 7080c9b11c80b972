"""The tutorial, followed to the letter: its files are written, its programs run, and they print what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.ports import free_port, wait_until_it_listens
from tests.sources import PACKAGES, ROOT
from tests.test_documents import Block, fenced

PAGE = ROOT / "docs" / "tutorial.md"
BLOCKS = list(fenced(PAGE, "python"))
END = "\nif __name__"
INSTALLED = f"import sys; sys.path[:0] = {[str(root) for root in PACKAGES.values()]}\n"  # servers inherit no PYTHONPATH


def followed(directory: Path, blocks: list[Block]) -> Path:
    """The files of a reader who has come so far."""
    written: dict[str, str] = {}
    for block in blocks:
        head, _, code = block.source.partition("\n")
        name, _, place = head.removeprefix("# ").partition(", ")
        above = written.get(name, "").rpartition(END)
        written[name] = {
            "": code,
            "above the last two lines": f"{above[0]}\n{code}{above[1]}{above[2]}",
            "instead of the last two lines": f"{above[0]}\n{code}",
        }[place]
    for name, source in written.items():
        (directory / name).write_text(INSTALLED + source)
    return directory


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a reader who has come to the end."""
    return followed(tmp_path_factory.mktemp("tutorial"), BLOCKS)


def program(directory: Path, *args: str, typed: str = "") -> str:
    """What a program prints, and what a person sees who types these lines."""
    done = subprocess.run(
        [sys.executable, *args],
        input=typed,
        capture_output=True,
        text=True,
        cwd=directory,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def printed() -> list[str]:
    """What the page says that its programs print."""
    return [block.source for block in fenced(PAGE, "text")][1:]


def test_the_client_prints_what_the_tutorial_says(tmp_path: Path) -> None:
    assert program(followed(tmp_path, BLOCKS[:2]), "client.py") == printed()[0]


def test_the_form_is_filled_in_as_the_tutorial_says(files: Path) -> None:
    shown = program(files, "form_client.py", typed="many\n6\n\n")
    typed = iter(["many\n", "6\n", "\n"])
    as_seen = re.sub(r"(?<=\)): ", lambda _: f": {next(typed)}", shown)

    assert re.sub(r" $", "", as_seen, flags=re.MULTILINE) == printed()[1]


def test_the_readers_own_tests_pass(files: Path) -> None:
    """Called as pytest calls them, which would take seconds to start."""
    tests = re.findall(r"^def (test_\w+)", (files / "test_cookbook.py").read_text(), re.MULTILINE)
    calls = "".join(f"test_cookbook.{name}()\n" for name in tests)

    assert len(tests) == 4
    assert program(files, "-c", f"import test_cookbook\n{calls}") == ""


def test_over_http_two_clients_share_the_cookbook(files: Path) -> None:
    port = free_port()
    client = (files / "http_client.py").read_text().replace("8000", str(port))
    served = [sys.executable, "cookbook.py", "--http"]
    with subprocess.Popen(served, cwd=files, env={**os.environ, "PORT": str(port)}) as server:
        try:
            wait_until_it_listens(server, port)
            assert program(files, "-c", client) == '["Dal","Pancakes"]\n'
        finally:
            server.terminate()
