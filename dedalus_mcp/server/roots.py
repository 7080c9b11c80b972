"""The client's roots: asked for, remembered, and a guard that keeps paths inside them.

Roots guide, they do not enforce: a client may say what it likes, and a file may be moved between
the check and its use.

Layer: L4.
Source: MCP 2025-11-25, client/roots.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from dedalus_mcp.errors import INVALID_PARAMS, McpError
from dedalus_mcp.server.asker import Question
from dedalus_mcp.server.asking_call import AskingCall
from dedalus_mcp.server.asks import Seconds, put, ready
from dedalus_mcp.server.audit import Audit
from dedalus_mcp.types import RequestParams, Root
from dedalus_mcp.types.methods import ROOTS_LIST

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ("RootGuard", "list_roots", "within_roots")

_REQUIRED: dict[str, dict[str, Any]] = {"roots": {}}


async def list_roots(call: AskingCall, *, timeout: Seconds, key: str | None) -> list[Root]:
    """Return the client's roots.

    They are asked for once in a session where the client says that it tells of changes, until it does.

    Raises:
        AskFailed: As `Context.list_roots`.
    """
    known, version = call.terms.roots, call.terms.roots_version
    if known is not None and not call.finished:
        return list(known)
    with Audit(call, "roots", None, key) as audit:
        await ready(call, _REQUIRED)
        question = Question(ROOTS_LIST.name, RequestParams(), _REQUIRED, key)
        roots = (await put(call, ROOTS_LIST, question, timeout)).roots
        audit.answered("answered", roots)
    declared = call.client_capabilities.roots
    tells = declared is not None and declared.listChanged
    if tells and version == call.terms.roots_version:  # else they have changed meanwhile
        call.terms.roots = tuple(roots)
    return roots


async def within_roots(call: AskingCall, path: str | os.PathLike[str], *, timeout: Seconds) -> Path:
    """Return the real path, if it is within the client's roots: see `Context.require_within_roots`."""
    guard = RootGuard(await list_roots(call, timeout=timeout, key=None))
    real = await to_thread.run_sync(guard.real, path)  # looks at the disk, which may be far away
    if real is None:
        raise McpError(INVALID_PARAMS, f"Path {os.fspath(path)!r:.160} is outside the client's declared roots")
    from pathlib import Path  # noqa: PLC0415 - loads much, and most programs never get here

    return Path(real)


class RootGuard:
    """Tells whether paths are within roots, as the file system sees them: links and `..` are followed.

    Args:
        roots: The roots; those that are no local files or directories are left out.
        flavour: The rules of paths: `posixpath` or `ntpath`; those of this machine if None.
    """

    def __init__(self, roots: Iterable[Root], flavour: ModuleType | None = None) -> None:
        self._flavour: Any = flavour or os.path
        paths = [self._local(root.uri) for root in roots]
        self._roots = [self._folded(self._flavour.realpath(path)) for path in paths if path is not None]

    def within(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path, or a `file:` URI, is a root or inside of one."""
        return self.real(path) is not None

    def real(self, path: str | os.PathLike[str]) -> str | None:
        """Return the path with links and `..` followed; None if that is outside of all roots.

        A path is taken as `open` would take it: nothing in it is decoded or expanded.  In a
        `file:` URI the percent signs are decoded, once.
        """
        text = os.fspath(path)
        local = self._local(text) if text[:5].lower() == "file:" else text
        if not local or "\0" in local:
            return None
        real: str = self._flavour.realpath(local)
        folded = self._folded(real)
        return real if any(self._inside(folded, root) for root in self._roots) else None

    def _folded(self, path: str) -> str:
        folded: str = self._flavour.normcase(path)
        return folded

    def _inside(self, path: str, root: str) -> bool:
        separator: str = self._flavour.sep
        return path == root or path.startswith(root if root.endswith(separator) else root + separator)

    def _local(self, uri: str) -> str | None:
        """Return the path that a `file:` URI names on this machine; None if it names none."""
        from urllib.parse import unquote, urlsplit  # noqa: PLC0415 - loads much, and most programs never get here

        try:
            parts = urlsplit(uri)
            path = unquote(parts.path, errors="strict")
        except ValueError:
            return None
        if parts.scheme != "file" or not path.startswith("/") or "\0" in path:
            return None
        host = parts.netloc.lower() if parts.netloc.lower() != "localhost" else ""
        if self._flavour.sep == "/":
            return None if host else path
        if host:  # a share: file://server/share/x
            return f"//{host}{path}"
        return path[1:] if path[2:3] == ":" and path[1:2].isalpha() else None
