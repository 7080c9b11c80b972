"""The configuration of desktop hosts: what is legal in it, and where what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.client.configuration import HttpEntry, StdioEntry, entry_of, read_configuration

VARIABLES = {"HOME": "/home/a", "TOKEN": "s3cret", "EMPTY": ""}


def entry(**members: Any) -> Any:
    return entry_of(members, "mcpServers.x", VARIABLES)


def test_a_program_and_a_url_are_read() -> None:
    found = read_configuration(
        {
            "mcpServers": {
                "files": {"command": "npx", "args": ["-y", "files"], "env": {"A": "b"}, "cwd": "/tmp"},
                "docs": {"url": "https://example.com/mcp", "headers": {"X-Key": "k"}, "type": "http"},
                "old": {"url": "http://localhost/sse", "type": "sse"},
                "off": {"command": "x", "disabled": True},
            },
            "theme": "dark",
        }
    )

    assert found == {
        "files": StdioEntry("npx", ("-y", "files"), {"A": "b"}, "/tmp"),
        "docs": HttpEntry("https://example.com/mcp", {"X-Key": "k"}),
        "old": HttpEntry("http://localhost/sse", sse=True),
    }


def test_variables_are_replaced_where_hosts_do_that() -> None:
    args = ["${env:TOKEN}", "${NONE:-d}", "$HOME", "a${EMPTY}b"]
    found = entry(command="${HOME}/bin/x", args=args, env={"T": "${TOKEN}"}, cwd="${HOME}")

    assert found == StdioEntry("/home/a/bin/x", ("s3cret", "d", "$HOME", "ab"), {"T": "s3cret"}, "${HOME}")
    found = entry(url="https://${NONE:-example.com}/mcp", headers={"Authorization": "Bearer ${TOKEN}"})
    assert found == HttpEntry("https://example.com/mcp", {"Authorization": "Bearer s3cret"})


def test_what_is_replaced_is_not_replaced_again() -> None:
    assert entry_of({"command": "${A}"}, "x", {"A": "${B}", "B": "never"}) == StdioEntry("${B}")


def test_secrets_do_not_show() -> None:
    shown = repr([entry(command="x", env={"T": "${TOKEN}"}), entry(url="https://e.com", headers={"K": "${TOKEN}"})])

    assert "s3cret" not in shown


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({}, "mcpServers.x: one of 'command' and 'url'"),
        ({"command": "a", "url": "https://e.com"}, "mcpServers.x: one of 'command' and 'url'"),
        ({"command": 7}, "mcpServers.x.command: a string that is not empty, not int"),
        ({"command": ""}, "mcpServers.x.command: a string that is not empty, not str"),
        ({"command": "a", "args": "-v"}, "mcpServers.x.args: an array of strings, not str"),
        ({"command": "a", "args": ["a", 7]}, "mcpServers.x.args[1]: a string, not int"),
        ({"command": "a", "env": ["a"]}, "mcpServers.x.env: an object of strings, not list"),
        ({"command": "a", "env": {"PORT": 80}}, "mcpServers.x.env.PORT: a string, not int"),
        ({"command": "a", "cwd": None}, "mcpServers.x.cwd: a string that is not empty, not NoneType"),
        ({"command": "a", "type": "http"}, "mcpServers.x.type: 'stdio', not 'http'"),
        ({"url": "https://e.com", "type": "stdio"}, "mcpServers.x.type: 'http' or "),
        ({"url": "https://e.com", "headers": {"K": None}}, "mcpServers.x.headers.K: a string, not NoneType"),
        ({"url": "ftp://e.com"}, "mcpServers.x.url: it begins with http:// or https://"),
        ({"command": "a", "env": {"T": "${NONE}"}}, "mcpServers.x.env.T: the variable NONE is not set"),
        ({"command": "a", "args": ["${input:key}"]}, "mcpServers.x.args[0]: '${input:key}' is not known here"),
        ({"command": "${"}, "mcpServers.x.command: '${' is not known here"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_what_is_not_legal_is_told_with_its_place(members: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=r"^mcpServers") as raised:
        entry(**members)

    assert str(raised.value).startswith(said)


@pytest.mark.parametrize("members", [7, None, "npx", ["npx"]])
def test_an_entry_is_an_object(members: Any) -> None:
    with pytest.raises(ValueError, match=r"mcpServers\.x: an object with 'command' or 'url'"):
        read_configuration({"mcpServers": {"x": members}})


@pytest.mark.parametrize("source", [{}, {"servers": {}}, {"mcpServers": []}])
def test_a_configuration_has_servers(source: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="has no object 'mcpServers'"):
        read_configuration(source)


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"mcpServers": {"a": {"command": "x"}}}).encode())

    assert read_configuration(path) == read_configuration(str(path)) == {"a": StdioEntry("x")}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is not JSON"),
        (b"[]", "is no JSON object"),
        (b"[" * 5000, "is not JSON"),
        (b" " * (1 << 21), "the limit"),
    ],
    ids=["cut", "list", "deep", "large"],
)
def test_a_file_that_is_none_is_told_by_its_name(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(content)

    with pytest.raises(ValueError, match=rf"mcp\.json' .*{said}"):
        read_configuration(path)
    with pytest.raises(FileNotFoundError):
        read_configuration(tmp_path / "none.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("${A:-b}") | st.just("https://e.com"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["command", "args", "env", "cwd", "url", "headers", "type"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(value=json_values)
def test_any_json_is_an_entry_or_a_value_error(value: Any) -> None:
    found: object
    try:
        found = entry_of(value, "x", {})
    except ValueError as error:
        found = str(error)

    assert isinstance(found, StdioEntry | HttpEntry) or str(found).startswith("x")
