"""`dedalus-mcp run`, and starting anew when a file changes."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from dedalus_mcp.cli import reloading
from dedalus_mcp.cli.program import main
from tests.sources import ROOT

SERVER = str(ROOT / "examples" / "deploy.py")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([SERVER, "--port", "80"], "--port goes with --transport http"),
        ([SERVER, "--host", "::1"], "--host goes with --transport http"),
        ([SERVER, "--reload"], "--reload goes with --transport http: over stdio the program is the connection"),
        ([SERVER, "--transport", "pigeon"], "--transport is one of stdio, http; not 'pigeon'"),
        ([SERVER, "--transport", "http", "--port", "70000"], "port is a number from 0 to 65535"),
        ([SERVER, "--transport", "http", "--path", "mcp"], "path"),
        (["not/there.py"], "there is no file"),
        (["not/there.py", "--transport", "http", "--reload"], "there is no file"),
    ],
)
def test_what_is_not_legal_ends_it_with_2(argv: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *argv]) == 2

    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert said in err


@pytest.mark.parametrize(
    ("keys", "said"), [("", "--workers needs a key"), ("short", "DEDALUS_MCP_STATE_KEYS: state_keys[0] has 5 bytes")]
)
def test_workers_without_a_key_end_it_with_2_and_no_traceback(
    keys: str, said: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEDALUS_MCP_STATE_KEYS", keys)

    assert main(["run", SERVER, "--transport", "http", "--workers", "2"]) == 2

    err = capfd.readouterr().err
    assert err.startswith(f"error: {said}")
    assert "Traceback" not in err


def test_an_address_that_is_taken_ends_it_with_1(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        assert main(["run", SERVER, "--transport", "http", "--port", port]) == 1

    assert "in use" in capfd.readouterr().err


def test_python_files_are_looked_at_and_nothing_else(tmp_path: Path) -> None:
    for name in ("a.py", "pkg/b.py", "pkg/c.txt", ".git/d.py", "__pycache__/e.py", ".venv/f.py", "venv/g.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")

    found = reloading.changes_of(tmp_path)

    assert {str(Path(path).relative_to(tmp_path)) for path in found} == {"a.py", str(Path("pkg/b.py"))}


def test_a_change_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    before = reloading.changes_of(tmp_path)
    (tmp_path / "b.py").write_text("")

    assert reloading.changes_of(tmp_path) != before


def test_no_more_files_are_looked_at_than_there_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reloading, "MAX_FILES", 2)
    for name in "abc":
        (tmp_path / f"{name}.py").write_text("")

    assert len(reloading.changes_of(tmp_path)) == 2
