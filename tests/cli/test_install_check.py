"""An entry is tried as a host would start it, before it is written."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest

from dedalus_mcp.cli.exits import Misuse
from dedalus_mcp.cli.install import add_arguments, install
from dedalus_mcp.cli.install_check import fault_of
from tests.sources import PACKAGES

PATHS = "PYTHONPATH=" + os.pathsep.join(str(root) for root in PACKAGES.values())


def installed(file: Path, *arguments: str) -> str:
    parser = ArgumentParser()
    add_arguments(parser, None)
    config = file.with_name("config.json")
    return install(parser.parse_args([str(file), "--config", str(config), "--env", PATHS, *arguments]))


def test_a_server_that_starts_is_installed(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text("from dedalus_mcp import MCPServer\nserver = MCPServer('a')\n")

    assert "is written" in installed(file)


def test_a_file_without_a_server_is_not_installed_and_its_words_are_told(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text("")

    with pytest.raises(Misuse, match=r"--script, --no-check.*code 2\n.*no MCPServer"):
        installed(file)
    assert not (tmp_path / "config.json").exists()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("print('hello')", "hello"),
        ("raise SystemExit(3)", "code 3"),
        ("import time; time.sleep(60)", "within 2 s"),
        ("import os; assert os.getcwd() == os.path.abspath(os.sep) and 'SECRET' not in os.environ", None),
    ],
)
def test_what_is_wrong_is_told(code: str, why: str | None) -> None:
    entry = {"command": sys.executable, "args": ["-c", code]}
    fault = fault_of(entry, {**os.environ, "SECRET": "1"}, patience=2 if why and "2 s" in why else 20)

    if why is None:
        assert fault is None
    else:
        assert fault is not None
        assert why in fault
