"""The settings as keywords: the same names as the objects', and what is legal where a name is not."""

from __future__ import annotations

from typing import Any, get_args, get_origin, get_type_hints

import pytest

from dedalus_mcp import MCPServer
from dedalus_mcp.transport import Application
from dedalus_mcp_transports.http_options import (
    KEYS,
    AppOptions,
    ServeOptions,
    http_server,
    http_settings,
    keys_of_environment,
)
from dedalus_mcp_transports.http_security import TransportSecuritySettings
from dedalus_mcp_transports.http_serve import HttpServer
from dedalus_mcp_transports.http_settings import HttpSettings


def test_the_keywords_are_the_fields_of_the_objects() -> None:
    app, serve = get_type_hints(HttpSettings), get_type_hints(HttpServer)
    del serve["settings"]

    assert get_type_hints(AppOptions) == app
    assert get_type_hints(ServeOptions) == {**app, **serve}
    assert not [hint for hint in serve.values() if get_origin(hint) is list and not get_args(hint)]


def test_each_setting_reaches_its_object() -> None:
    server = http_server({"port": 1, "path": "/x", "json_only": True, "drain_seconds": 2.0})

    assert server == HttpServer(port=1, drain_seconds=2.0, settings=HttpSettings(path="/x", json_only=True))
    assert http_settings({"path": "/x"}) == HttpSettings(path="/x")


@pytest.mark.parametrize("make", [http_server, http_settings])
def test_a_strange_name_is_told_with_the_legal_ones(make: object) -> None:
    with pytest.raises(TypeError, match=r"Unsupported streamable HTTP settings: colour, shape; legal are .*\bpath, "):
        make({"shape": 1, "path": "/", "colour": 2})  # type: ignore[operator]


@pytest.mark.parametrize("wrong", [{"allowed_hosts": ["a"]}, "*", True, TransportSecuritySettings], ids=repr)
def test_what_is_no_security_settings_is_refused_at_once(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^http_security is TransportSecuritySettings\(...\), not"):
        MCPServer("test", http_security=wrong)
    with pytest.raises(TypeError, match=r"^security is TransportSecuritySettings\(...\), not"):
        http_settings({"security": wrong})


def test_where_to_listen_is_no_setting_of_an_application() -> None:
    with pytest.raises(TypeError, match="settings: port; legal are path, "):
        http_settings({"port": 1})


def test_keys_are_read_from_the_environment_in_their_order() -> None:
    keys = "a" * 32, "b" * 40

    assert keys_of_environment({KEYS: f" {keys[0]},{keys[1]},"}) == keys
    assert keys_of_environment({}) == keys_of_environment({KEYS: " "}) == ()


def test_a_key_in_the_environment_that_is_too_short_is_told_but_not_shown() -> None:
    with pytest.raises(ValueError, match=rf"^{KEYS}: state_keys\[1\] has 6 bytes") as caught:
        keys_of_environment({KEYS: f"{'a' * 32},secret"})

    assert "secret" not in str(caught.value)


def test_keys_said_nearest_to_the_application_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the settings, else those of the server, else those of the environment."""
    found: list[object] = []

    class Host(HttpServer, frozen=True):
        async def serve(self, application: Application) -> None:
            found.append(self.settings.state_keys)

    monkeypatch.setenv(KEYS, "e" * 32)
    of_server, of_settings = ["s" * 32], ["h" * 32]
    MCPServer("test").run(Host())
    MCPServer("test", state_keys=of_server).run(Host())
    MCPServer("test", state_keys=of_server).run(Host(settings=HttpSettings(state_keys=of_settings)))

    assert found == [("e" * 32,), of_server, of_settings]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", -1),
        ("port", 65536),
        ("workers", 0),
        ("drain_seconds", -1),
        ("log_level", "loud"),
        ("ssl_keyfile", "key.pem"),
    ],
)
def test_a_value_that_is_not_legal_is_told_by_name(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"^{name}"):
        http_server({name: value})
