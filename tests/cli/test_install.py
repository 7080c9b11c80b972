"""`dedalus-mcp install`, by what stands in the file afterwards."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest

from dedalus_mcp.cli.exits import DONE, MISUSED, Misuse
from dedalus_mcp.cli.install import add_arguments, install, main
from dedalus_mcp.cli.install_hosts import HOSTS, configuration_of
from dedalus_mcp.client.configuration import StdioEntry, read_configuration


def run(*arguments: str, **variables: str) -> str:
    parser = ArgumentParser()
    add_arguments(parser, None)
    return install(parser.parse_args([*arguments, "--no-check"]), variables)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weather.py").touch()
    return tmp_path / "weather.py"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


def entries(config: Path) -> Any:
    return json.loads(config.read_text())["mcpServers"]


def test_the_entry_starts_the_server_from_anywhere(server: Path, config: Path) -> None:
    said = run("weather.py", "--config", str(config))

    assert entries(config) == {
        "weather": {"command": sys.executable, "args": ["-m", "dedalus_mcp", "run", str(server)]}
    }
    assert "'weather' is written in" in said
    assert isinstance(read_configuration(config)["weather"], StdioEntry)


def test_the_server_in_the_file_and_its_name_can_be_told(server: Path, config: Path) -> None:
    run("weather.py:other", "--config", str(config), "--name", "Weather!")

    assert entries(config)["Weather!"]["args"][-1] == f"{server}:other"


def test_a_file_that_runs_its_server_can_be_started_itself(server: Path, config: Path) -> None:
    run("weather.py", "--config", str(config), "--script")

    assert entries(config)["weather"]["args"] == [str(server)]


def test_variables_are_given_or_taken_from_here(server: Path, config: Path) -> None:
    run("weather.py", "--config", str(config), "--env", "A=b=c", "--env", "KEY", "--env", "E=", KEY="secret")

    assert entries(config)["weather"]["env"] == {"A": "b=c", "KEY": "secret", "E": ""}


def test_installing_twice_says_so_and_changes_nothing(server: Path, config: Path) -> None:
    run("weather.py", "--config", str(config))
    before = config.read_bytes()

    assert "already" in run("weather.py", "--config", str(config))
    assert config.read_bytes() == before
    assert "replaced" in run("weather.py:b", "--config", str(config))


def test_an_entry_is_removed_even_when_its_file_is_gone(server: Path, config: Path) -> None:
    run("weather.py", "--config", str(config))
    server.unlink()

    run("weather.py", "--config", str(config), "--remove")

    assert entries(config) == {}
    with pytest.raises(Misuse, match="has no 'weather'"):
        run("weather.py", "--config", str(config), "--remove")


def test_print_writes_nothing(server: Path, config: Path) -> None:
    said = run("weather.py", "--config", str(config), "--print")

    assert json.loads(said)["mcpServers"]["weather"]["command"] == sys.executable
    assert not config.exists()


def test_broken_json_is_left_alone_and_its_place_is_told(server: Path, config: Path) -> None:
    config.write_text('{\n  "mcpServers": {},\n}')

    for more in ((), ("--remove",)):
        with pytest.raises(Misuse, match=r"line [23], column \d+.*nothing was changed"):
            run("weather.py", "--config", str(config), *more)
    assert config.read_text() == '{\n  "mcpServers": {},\n}'


def test_the_interpreter_is_looked_up_and_its_link_is_kept(server: Path, config: Path, tmp_path: Path) -> None:
    (tmp_path / "python").symlink_to(sys.executable)

    run("weather.py", "--config", str(config), "--python", "./python")

    assert entries(config)["weather"]["command"] == str(tmp_path / "python")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["none.py", "--print"], "no file 'none.py'"),
        (["weather.py"], "--host .*vscode.*--config PATH"),
        (["weather.py", "--config", "nowhere/a.json"], "no directory"),
        (["weather.py", "--print", "--python", "no-such-python"], "no interpreter"),
        (["weather.py", "--print", "--env", "UNSET"], "UNSET=VALUE"),
        (["weather.py", "--print", "--env", "=1"], "NAME=VALUE"),
        (["weather.py", "--print", "--name", " "], "name"),
        (["weather.py:a", "--print", "--script"], "--script"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_is_legal(server: Path, arguments: list[str], why: str) -> None:
    with pytest.raises(Misuse, match=why):
        run(*arguments)


@pytest.mark.parametrize("odd", [["--name", "n\udcff"], ["--env", "A=\udcff"]], ids=["name", "value"])
def test_bytes_that_are_no_text_are_refused_and_nothing_is_written(server: Path, config: Path, odd: list[str]) -> None:
    with pytest.raises(Misuse, match="no UTF-8"):
        run(str(server), "--config", str(config), *odd)

    assert not config.exists()


def test_a_host_of_the_project_is_found_by_its_name(server: Path) -> None:
    run("weather.py", "--host", "claude-code")

    assert entries(server.parent / ".mcp.json")["weather"]["type"] == "stdio"


def test_a_host_can_have_its_configuration_elsewhere(server: Path, config: Path) -> None:
    run("weather.py", "--host", "vscode", "--config", str(config))

    assert json.loads(config.read_text())["servers"]["weather"]["type"] == "stdio"


def test_a_host_that_is_not_there_is_asked_after(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(server.parent))
    monkeypatch.setenv("USERPROFILE", str(server.parent))

    with pytest.raises(Misuse, match="is Cursor installed"):
        run("weather.py", "--host", "cursor")
    (server.parent / ".cursor").mkdir()
    run("weather.py", "--host", "cursor")

    assert "weather" in entries(server.parent / ".cursor" / "mcp.json")


@pytest.mark.parametrize("name", sorted(HOSTS))
@pytest.mark.parametrize("platform", ["darwin", "linux", "win32"])
def test_a_host_has_a_place(name: str, platform: str) -> None:
    if (name, platform) != ("claude-desktop", "linux"):
        assert configuration_of(name, platform, Path("home"), {"APPDATA": "roaming"}).suffix == ".json"


def test_a_host_without_a_known_place_says_what_to_give() -> None:
    with pytest.raises(LookupError, match="--config PATH"):
        configuration_of("claude-desktop", "linux", Path("home"), {})


def test_a_host_whose_variable_is_not_set_says_so() -> None:
    with pytest.raises(LookupError, match="APPDATA"):
        configuration_of("vscode", "win32", Path("home"), {})


def test_the_command_says_what_it_did_or_why_not(server: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = ArgumentParser()
    add_arguments(parser, None)

    assert main(parser.parse_args(["weather.py", "--print"])) == DONE
    assert main(parser.parse_args(["none.py", "--print"])) == MISUSED
    written = capsys.readouterr()
    assert "mcpServers" in written.out
    assert written.err == "error: there is no file 'none.py'\n"


def test_a_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        add_arguments(ArgumentParser(), ["python", "server.py"])
    assert "a file is installed" in capsys.readouterr().err
