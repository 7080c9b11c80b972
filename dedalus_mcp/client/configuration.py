"""The servers of a configuration as desktop hosts have it: `{"mcpServers": {name: entry}}`.

    {"command": "npx", "args": [...], "env": {...}, "cwd": "..."}       a program to start
    {"url": "https://...", "headers": {...}, "type": "http" | "sse"}    a server at a URL

`${NAME}`, `${env:NAME}` and `${NAME:-default}` stand for environment variables in `command`, `args`,
`env`, `url` and `headers`.  Members of other programs are left alone.

Layer: L4.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import msgspec

from dedalus_mcp.schema.shapes import is_array

__all__ = ("HttpEntry", "ServerEntry", "StdioEntry", "entry_of", "read_configuration")

MAX_FILE = 1 << 20
"""Bytes of a configuration: more is another file, given by mistake."""

_VARIABLE = re.compile(
    r"\$\{(?:(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|(?P<other>[^}]*)\}?)"
)


@dataclass(frozen=True, slots=True)
class StdioEntry:
    """A server that is a program."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)  # may hold secrets, as `headers` may
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class HttpEntry:
    """A server at a URL; `sse` if it is known to have the transport of 2024-11-05 alone."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    sse: bool = False


ServerEntry: TypeAlias = StdioEntry | HttpEntry


def read_configuration(
    source: Mapping[str, Any] | str | os.PathLike[str], variables: Mapping[str, str] | None = None
) -> dict[str, ServerEntry]:
    """Read a configuration, all of it or none.

    Args:
        source: The path of a JSON file, or what is in one.
        variables: What `${NAME}` stands for; the environment if not given.

    Returns:
        The entries by name, without those that are `disabled`.

    Raises:
        OSError: The file cannot be read.
        ValueError: Something in it is not legal; the text names the entry and the field.
    """
    where = "the configuration"
    if isinstance(source, str | os.PathLike):
        where = f"{os.fspath(source)!r:.200}"
        source = _loaded(Path(source), where)
    servers = source.get("mcpServers")
    if not _is_object(servers):
        raise ValueError(f"{where} has no object 'mcpServers'")
    return {
        name: entry_of(entry, f"mcpServers.{name}", variables)
        for name, entry in servers.items()
        if not (_is_object(entry) and entry.get("disabled") is True)
    }


def entry_of(given: Any, where: str, variables: Mapping[str, str] | None = None) -> ServerEntry:
    """Return one entry, checked and with its variables replaced.

    Args:
        given: Its members.
        where: What errors call it.
        variables: See `read_configuration`.

    Raises:
        ValueError: A field is not legal; the text names it.
    """
    if not _is_object(given):
        raise ValueError(f"{where:.200}: an object with 'command' or 'url', not {given!r:.40}")
    entry = _Reading(given, where, os.environ if variables is None else variables)
    if ("command" in given) == ("url" in given):
        found = ", ".join(f"{name!r:.40}" for name in list(given)[:8]) or "nothing"
        raise ValueError(f"{where:.200}: one of 'command' and 'url', not {found}")
    kind = entry.optional("type")
    legal = ("stdio",) if "command" in given else ("http", "streamable-http", "streamableHttp", "sse")
    if kind is not None and kind not in legal:
        raise ValueError(f"{where:.200}.type: {' or '.join(map(repr, legal))}, not {kind!r:.40}")
    if "command" in given:
        return StdioEntry(
            command=entry.expanded("command", entry.text("command")),
            args=tuple(entry.expanded(f"args[{index}]", each) for index, each in enumerate(entry.texts("args"))),
            env={name: entry.expanded(f"env.{name}", value) for name, value in entry.members("env").items()},
            cwd=entry.optional("cwd"),
        )
    url = entry.expanded("url", entry.text("url"))
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{where:.200}.url: it begins with http:// or https://")
    headers = {name: entry.expanded(f"headers.{name}", value) for name, value in entry.members("headers").items()}
    return HttpEntry(url=url, headers=headers, sse=kind == "sse")


class _Reading:
    """One entry, as it is read: every fault is told with its place, and no value but one clipped to a word."""

    def __init__(self, given: Mapping[str, Any], where: str, variables: Mapping[str, str]) -> None:
        self._given = given
        self._where = where
        self._variables = variables

    def text(self, name: str) -> str:
        value = self._given[name]
        if not isinstance(value, str) or not value:
            raise self._fault(name, "a string that is not empty", value)
        return value

    def optional(self, name: str) -> str | None:
        return self.text(name) if name in self._given else None

    def texts(self, name: str) -> list[str]:
        value = self._given.get(name, [])
        if not is_array(value):
            raise self._fault(name, "an array of strings", value)
        return [self._each(f"{name}[{index}]", item) for index, item in enumerate(value)]

    def members(self, name: str) -> dict[str, str]:
        value = self._given.get(name, {})
        if not _is_object(value):
            raise self._fault(name, "an object of strings", value)
        return {key: self._each(f"{name}.{key}", item) for key, item in value.items()}

    def expanded(self, place: str, text: str) -> str:
        return _VARIABLE.sub(self._variable(place), text)

    def _variable(self, place: str) -> Callable[[re.Match[str]], str]:
        def value(found: re.Match[str]) -> str:
            name, default = found.group("name"), found.group("default")
            if not name:
                raise ValueError(
                    f"{self._where:.200}.{place:.80}: {found[0]!r:.60} is not known here; "
                    "legal are ${NAME}, ${env:NAME} and ${NAME:-default}"
                )
            if name in self._variables:
                return self._variables[name]
            if default is None:
                raise ValueError(f"{self._where:.200}.{place:.80}: the variable {name:.60} is not set")
            return default

        return value

    def _each(self, place: str, value: object) -> str:
        if not isinstance(value, str):
            raise self._fault(place, "a string", value)
        return value

    def _fault(self, place: str, legal: str, value: object) -> ValueError:
        return ValueError(f"{self._where:.200}.{place:.80}: {legal}, not {type(value).__name__}")


def _loaded(path: Path, where: str) -> Mapping[str, Any]:
    with path.open("rb") as file:
        text = file.read(MAX_FILE + 1)
    if len(text) > MAX_FILE:
        raise ValueError(f"{where} has more than {MAX_FILE} bytes, which is the limit")
    try:
        value: Any = msgspec.json.decode(text.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"{where} is not JSON: {error!s:.160}") from None
    if not _is_object(value):
        raise ValueError(f"{where} is no JSON object")
    return value


def _is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)
