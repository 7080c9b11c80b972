"""The server in a file or a module of yours.

    server.py        the one `MCPServer` that the file has
    server.py:api    the one of that name
    pkg.mod:api      likewise, in a module that can be imported

Layer: L6.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from dedalus_mcp.cli.exits import Misuse
from dedalus_mcp.server.server import MCPServer

__all__ = ("file_of", "load_server")

MAX_NAMED = 20
"""Names that an error lists."""


def load_server(given: str) -> MCPServer:
    """Import the code and return its server.

    Args:
        given: See above.

    Raises:
        Misuse: There is no such file, module or server, or several; the text names those that there are.
        Exception: What the code raised.
    """
    place, name = _split(given)
    module = _import_file(Path(place)) if place.endswith(".py") else _import_module(place)
    return _named(module, place, name) if name else _only(module, place)


def file_of(given: str) -> Path | None:
    """Return the file that is meant; None for a module."""
    place, _ = _split(given)
    return Path(place) if place.endswith(".py") else None


def _split(given: str) -> tuple[str, str]:
    place, colon, name = given.rpartition(":")
    if not colon or given.endswith(".py"):  # a drive has a colon too
        return given, ""
    return place, name


def _import_file(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise Misuse(f"there is no file {str(path)!r}")
    sys.path.insert(0, str(path.parent))  # as Python has it for a program
    name = path.stem
    if name in sys.modules or name in sys.stdlib_module_names or not name.isidentifier():
        name = f"served_{name}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "it is a file with Python's suffix"
    assert spec.loader is not None, "likewise"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # annotations are looked up there
    spec.loader.exec_module(module)
    return module


def _import_module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise Misuse(f"{name!r:.200} is no module; a file's name ends with .py")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise Misuse(f"there is no module {name!r}; a file's name ends with .py") from None


def _named(module: ModuleType, place: str, name: str) -> MCPServer:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, MCPServer):
        return found
    if found is None:
        raise Misuse(f"{place} has no {name!r}; {_list_of(module)}")
    raise Misuse(f"{name!r} in {place} is {type(found).__name__}, no MCPServer; {_list_of(module)}")


def _only(module: ModuleType, place: str) -> MCPServer:
    servers = _servers(module)
    if len(servers) == 1:
        return next(iter(servers.values()))
    if not servers:
        raise Misuse(f"{place} has no MCPServer among its globals: make one there, or say `python {place}` instead")
    raise Misuse(f"{place} has several servers; {_list_of(module)}: say {place}:{next(iter(servers))}")


def _servers(module: ModuleType) -> dict[str, MCPServer]:
    """The servers of a module, each under its first name."""
    found: dict[int, tuple[str, MCPServer]] = {}
    for name, value in vars(module).items():
        if isinstance(value, MCPServer):
            found.setdefault(id(value), (name, value))
    return dict(found.values())


def _list_of(module: ModuleType) -> str:
    names = list(_servers(module))[:MAX_NAMED]
    return f"its servers: {', '.join(names)}" if names else "it has no server"
