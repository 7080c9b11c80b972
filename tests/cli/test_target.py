"""What a TARGET stands for."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dedalus_mcp import MCPServer, StdioServer, StreamableHttp
from dedalus_mcp.cli.exits import Misuse
from dedalus_mcp.cli.target import add_target, opened


def target(*argv: str, command: list[str] | None = None) -> Any:
    parser = argparse.ArgumentParser()
    add_target(parser, command=command)
    return opened(parser.parse_args(argv))


def test_a_url_is_reached_over_http_with_headers_whose_secrets_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DESK_KEY", "s3cret")

    found = target("https://example.com/mcp", "--header", "X-Key: ${DESK_KEY}", "--header", "X-Other:1")

    assert isinstance(found, StreamableHttp)
    assert found.url == "https://example.com/mcp"
    assert found.headers == {"x-key": "s3cret", "x-other": "1"}
    assert found.auth is None


@pytest.mark.parametrize("options", [[], ["--bearer", "other"], ["--bearer", "${DESK_TOKEN}"]])
def test_a_token_comes_from_the_environment_or_an_option(options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEDALUS_MCP_TOKEN", "t0ken")
    monkeypatch.setenv("DESK_TOKEN", "t1ken")

    found = target("https://example.com/mcp", *options)

    assert type(found.auth).__name__ == "BearerAuth"
    assert "ken" not in repr(found.auth)


def test_a_file_is_run_by_this_interpreter_with_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "api.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONLY_HERE", "1")

    found = target("api.py:server", "--env", "MORE=2", "--cwd", os.sep)

    assert isinstance(found, StdioServer)
    assert (found.command, found.args) == (
        sys.executable,
        ("-m", "dedalus_mcp", "run", f"{tmp_path / 'api.py'}:server"),
    )
    assert (found.env["ONLY_HERE"], found.env["MORE"], found.cwd) == ("1", "2", os.sep)


def test_so_is_a_module() -> None:
    assert target("pkg.mod:api").args[-1] == "pkg.mod:api"


def test_a_command_is_one_text_or_all_that_follows_two_dashes() -> None:
    quoted = target("uvx 'a server' --root .", "--env", "A=1=2")
    after = target(command=["uvx", "a server", "--root", "."])

    assert (quoted.command, quoted.args) == (after.command, after.args) == ("uvx", ("a server", "--root", "."))
    assert (quoted.env, after.env) == ({"A": "1=2"}, {})


def test_a_variable_without_a_value_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_KEY", "s3cret")

    assert target("server", "--env", "DESK_KEY").env == {"DESK_KEY": "s3cret"}


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = tmp_path / "mcp.json"
    path.write_text(
        '{"mcpServers": {"files": {"command": "uvx", "args": ["files"], "env": {"ROOT": "${DESK_ROOT}"}},'
        ' "search": {"url": "https://example.com/mcp", "headers": {"X-Key": "1"}}}}'
    )
    monkeypatch.setenv("DESK_ROOT", "/srv")
    return str(path)


def test_an_entry_of_a_hosts_configuration_is_taken_as_the_host_takes_it(configuration: str) -> None:
    files, search = target(f"{configuration}:files"), target(f"{configuration}:search")

    assert (files.command, files.args, files.env) == ("uvx", ("files",), {"ROOT": "/srv"})
    assert (search.url, search.headers) == ("https://example.com/mcp", {"x-key": "1"})


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("nothing", [], "has no server 'nothing'; there are files, search"),
        ("files", ["--env", "A=1"], "--env goes with a command or a file"),
        ("files", ["--bearer", "x"], "--bearer goes with a URL"),
    ],
)
def test_one_that_is_not_there_is_named_with_those_that_are(
    name: str, options: list[str], said: str, configuration: str
) -> None:
    with pytest.raises(Misuse, match=said):
        target(f"{configuration}:{name}", *options)


def test_a_user_may_sign_in_by_browser_and_the_token_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("DEDALUS_MCP_TOKEN", "another")

    found = target("https://example.com/mcp", "--sign-in")

    assert type(found.auth).__name__ == "AuthorizationCodeAuth"
    with pytest.raises(Misuse, match="say either"):
        target("https://example.com/mcp", "--sign-in", "--bearer", "x")


def test_what_is_no_text_is_taken_as_it_is() -> None:
    server = MCPServer("desk")

    assert opened(argparse.Namespace(target=server)) is server


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["https://"], "legal are http:// and https:// URLs"),
        (["https://example.com:x/"], "port"),
        (["https://example.com", "--header", "nothing"], "'NAME: VALUE'"),
        (["https://example.com", "--header", "X: ${NOT_THERE}"], "NOT_THERE is not set"),
        (["https://example.com", "--header", "a b: 1"], "header"),
        (["https://example.com", "--bearer", "two words"], "printable ASCII without spaces"),
        (["https://example.com", "--env", "A=1"], "--env goes with a command or a file"),
        (["server", "--header", "A: 1"], "--header goes with a URL"),
        (["server", "--bearer", "x"], "--bearer goes with a URL"),
        (["server", "--sign-in"], "--sign-in goes with a URL"),
        (["not/there.json:files"], "no file 'not/there.json'"),
        (["127.0.0.1:8000/mcp"], "is no command; a URL begins with http:// or https://"),
        (["localhost"], "a URL begins with http://"),
        (["server", "--env", "=1"], "NAME=VALUE"),
        (["server", "--env", "NOT_THERE"], "no such variable"),
        (["not/there.py"], "no file 'not/there.py'"),
        (["'"], "cannot be read"),
        (["  "], "the command is empty"),
    ],
)
def test_what_is_no_target_is_refused_with_what_is_legal(argv: list[str], said: str) -> None:
    with pytest.raises(Misuse, match=said):
        target(*argv)


def test_no_error_has_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEDALUS_MCP_TOKEN", "very secret")

    with pytest.raises(Misuse) as caught:
        target("https://example.com")
    assert "secret" not in str(caught.value)
