"""Serving over HTTP as a program: its settings; what it does with them is tested on a real process."""

from __future__ import annotations

import pytest

from dedalus_mcp.run import Hosted
from dedalus_mcp_transports.http_serve import DEFAULT_PORT, HttpServer, port_of_environment
from dedalus_mcp_transports.http_settings import HttpSettings
from tests.interaction.server import make


@pytest.mark.parametrize(("said", "port"), [("", DEFAULT_PORT), ("8080", 8080), ("0", 0), ("65535", 65535)])
def test_the_port_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch, said: str, port: int) -> None:
    monkeypatch.setenv("PORT", said)

    assert port_of_environment() == port


@pytest.mark.parametrize("said", ["x", "-1", "65536", "80 80", "²"])
def test_a_port_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("PORT", said)

    with pytest.raises(ValueError, match="PORT is a port number"):
        port_of_environment()


def test_only_this_machine_is_served_unless_it_is_said() -> None:
    """HTTP-03."""
    assert HttpServer().host == "127.0.0.1"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_settings_that_contradict_each_other_are_told() -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        await HttpServer(port=0, settings=HttpSettings(json_only=True, always_stream=True)).serve(Hosted(make()))
