"""The settings of serving streamable HTTP as keywords, for those who make no objects of them.

    server.asgi_app(path="/mcp", json_only=True)              `AppOptions`
    server.run("streamable-http", port=8080, path="/mcp")     `ServeOptions`

Layer: L5.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from dedalus_mcp_transports.event_log import EventLog
from dedalus_mcp_transports.http_security import TransportSecuritySettings
from dedalus_mcp_transports.http_serve import HttpServer
from dedalus_mcp_transports.http_settings import HttpSettings

__all__ = ("AppOptions", "ServeOptions", "http_server", "http_settings", "keys_of_environment")

KEYS = "DEDALUS_MCP_STATE_KEYS"


class AppOptions(TypedDict, total=False):
    """The fields of `HttpSettings`."""

    path: str
    sse_path: str | None
    json_only: bool
    always_stream: bool
    max_body: int
    max_head: int
    max_headers: int
    body_seconds: float
    stateless: bool
    state_keys: Sequence[bytes | str]
    max_sessions: int
    session_idle_seconds: float
    keep_alive_seconds: float
    event_log: Callable[[], EventLog] | None
    retry_milliseconds: int | None
    cors_origins: Sequence[str]
    principal: Callable[[Mapping[str, Any]], str | None]
    security: TransportSecuritySettings | None


class ServeOptions(AppOptions, total=False):
    """The fields of `HttpServer`, and those of its `HttpSettings` beside them."""

    host: str
    port: int | None
    uds: str | None
    fd: int | None
    ssl_certfile: str | os.PathLike[str] | None
    ssl_keyfile: str | os.PathLike[str] | None
    workers: int
    drain_seconds: float
    log_level: str


_OF_APP = HttpSettings.__struct_fields__
_OF_SERVER = tuple(name for name in HttpServer.__struct_fields__ if name != "settings")


def http_settings(options: Mapping[str, Any]) -> HttpSettings:
    """Make the settings of an application.

    Raises:
        TypeError: There is no such setting, and it names those that there are; or one is of the wrong kind.
        ValueError: A value is not legal.
    """
    _check(options, _OF_APP)
    return HttpSettings(**options)


def http_server(options: Mapping[str, Any]) -> HttpServer:
    """Make what serves, of the settings of both.

    Raises:
        TypeError: There is no such setting, and it names those that there are; or one is of the wrong kind.
        ValueError: A value is not legal.
    """
    _check(options, (*_OF_SERVER, *_OF_APP))
    settings = HttpSettings(**{name: value for name, value in options.items() if name in _OF_APP})
    return HttpServer(settings=settings, **{name: value for name, value in options.items() if name in _OF_SERVER})


def keys_of_environment(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Read `DEDALUS_MCP_STATE_KEYS`: keys separated by commas, the one that seals first.

    Raises:
        ValueError: A key is too short; it names the variable, and not the key.
    """
    keys = tuple(each.strip() for each in environment.get(KEYS, "").split(",") if each.strip())
    try:
        HttpSettings(state_keys=keys)
    except ValueError as error:
        raise ValueError(f"{KEYS}: {error}") from None
    return keys


def _check(options: Iterable[str], legal: Iterable[str]) -> None:
    strange = sorted(set(options).difference(legal))
    if strange:
        raise TypeError(f"Unsupported streamable HTTP settings: {', '.join(strange)}; legal are {', '.join(legal)}")
