"""The roots that a client tells its servers of: directories and files, by ``file:`` URI.

Layer: L4.
Source: MCP 2025-11-25 and 2026-07-28, client/roots.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from dedalus_mcp.types import ListRootsResult, Root

__all__ = ("RootLike", "RootsSource", "roots_result")

RootLike: TypeAlias = Root | str | os.PathLike[str]
"""A root; or its ``file:`` URI; or its path, where it is an `os.PathLike`."""

RootsSource: TypeAlias = (
    Sequence[RootLike] | Callable[[], Iterable[RootLike]] | Callable[[], Awaitable[Iterable[RootLike]]]
)
"""The roots, read again whenever a server asks; or a function that returns them."""


def roots_result(roots: Any) -> ListRootsResult:
    """Return roots as the answer to ``roots/list``.

    Raises:
        TypeError: That is no iterable of roots.
        ValueError: The URI of one is no ``file:`` URI (ROOT-02), or may lead elsewhere (ROOT-06).
    """
    if isinstance(roots, str | bytes | os.PathLike) or not isinstance(roots, Iterable):
        raise TypeError(f"roots are an iterable of Root, URI or path, not {roots!r:.80}")
    listed = cast("Iterable[object]", roots)
    return ListRootsResult(roots=[_root(each) for each in listed])


def _root(given: object) -> Root:
    if isinstance(given, os.PathLike):
        path = Path(os.fspath(cast("os.PathLike[str]", given))).absolute()
        path = path.resolve() if ".." in path.parts else path
        return Root(uri=path.as_uri(), name=path.name or None)
    root = Root(uri=given) if isinstance(given, str) else given
    if not isinstance(root, Root):
        raise TypeError(f"a root is a Root, a file: URI or a path object, not {given!r:.80}")
    if not root.uri.lower().startswith("file://"):
        raise ValueError(f"a root is a file: URI, not {root.uri!r:.160}; give a path as pathlib.Path")
    if not _is_one_place(root.uri):
        raise ValueError(f"a root is a file: URI without '..' and control characters, not {root.uri!r:.160}")
    return root


def _is_one_place(uri: str) -> bool:
    """Whether whoever reads it, decoded or not, is led to the same place."""
    try:
        path = unquote(urlsplit(uri).path, errors="strict")
    except ValueError:
        return False
    return path.startswith("/") and not _CONTROL.search(uri + path) and ".." not in _SEPARATOR.split(path)


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SEPARATOR = re.compile(r"[/\\]")
