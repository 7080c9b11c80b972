"""Files as resources: one file, or a directory that nobody leads out of.

    server.collect(resource("config://app")(File("app.toml")))
    server.collect(*Directory("docs").at("docs://"))

A file is text if it is UTF-8 and its name does not say otherwise.

Layer: L4.
"""

from __future__ import annotations

import errno
import mimetypes
import os
from binascii import b2a_base64
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from anyio import to_thread

from dedalus_mcp.errors import RESOURCE_NOT_FOUND, ResourceNotFound
from dedalus_mcp.server.beneath import entries, opened, opened_anywhere
from dedalus_mcp.server.decorators import completion, resource, resource_template
from dedalus_mcp.server.streams import too_large
from dedalus_mcp.server.uri_templates import UriTemplate
from dedalus_mcp.types import CompletionArgument

__all__ = ("Directory", "File", "mime_type_of")

MAX_BYTES = 16 << 20
"""Bytes of one file.  As base64 in JSON it takes three times as much memory for a moment."""

MAX_LISTED = 1000
"""Files in one listing: more than anybody reads; a path that is known can be read all the same."""

MAX_SEEN = 10_000
"""Files and directories looked at for one listing, so that a whole disk is not walked."""

_ABSENT = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EACCES))
_TYPES = mimetypes.MimeTypes()  # its own table: the same on every machine
_TYPES.add_type("text/markdown", ".md")  # not in that of Python 3.11
_TEXTS = ("+xml", "+json", "/json", "/xml", "/javascript", "/x-javascript", "/x-sh", "/x-tex", "/x-latex")


class File:
    """A file as a resource: it is read anew each time, through links, as its path was chosen by the author.

    Args:
        path: Where it is.
        mime_type: What it is; else what its name says.
        max_bytes: How many bytes are read; a longer file is refused.

    Raises, when it is called:
        ResourceNotFound: There is no such file.
        McpError: -32603, it is too large.
        OSError: It cannot be read.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, mime_type: str | None = None, max_bytes: int = MAX_BYTES
    ) -> None:
        self.__doc__ = None  # a description for clients is not that of this class
        self._path = Path(path)
        self._mime_type = mime_type
        self._max_bytes = max_bytes

    def __call__(self) -> Mapping[str, str]:  # noqa: D102 - it would be published as the resource's
        with _found(lambda: opened_anywhere(self._path)) as file:
            return _contents(file, self._mime_type or mime_type_of(self._path.name), self._max_bytes)


class Directory:
    """The files of a directory, by relative path: the function of a resource template with the variable ``path``.

    Links beneath it are not followed, and only regular files are read.

    Args:
        root: Where it is.
        max_bytes: How many bytes of a file are read; a longer one is refused.
        hidden: Let names begin with a dot, as those of ``.git`` and ``.env`` do.

    Attributes:
        root: Its path, without links.

    Raises:
        OSError: There is no such directory.
    """

    def __init__(self, root: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, hidden: bool = False) -> None:
        self.__doc__ = None  # as above
        self.root = Path(root).resolve(strict=True)
        if not self.root.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(root))
        self._max_bytes = max_bytes
        self._hidden = hidden

    def __call__(self, path: str) -> Mapping[str, str]:  # noqa: D102 - as above
        return self.read(path)

    def read(self, path: str) -> Mapping[str, str]:
        """Read a file, as `text` or as `blob`, with its `mimeType`.

        Args:
            path: Names with slashes between them.

        Raises:
            ResourceNotFound: There is no such file beneath the directory.
            McpError: -32603, it is too large.
            OSError: It cannot be read.
        """
        segments = path.split("/")
        if not all(map(self._shown, segments)):
            raise _not_found()
        with _found(lambda: opened(self.root, segments)) as file:
            return _contents(file, mime_type_of(segments[-1]), self._max_bytes)

    def files(self) -> Iterator[tuple[str, int]]:
        """Give the paths of the files and their sizes in bytes, directory by directory, each in order of names."""
        folders: list[tuple[str, ...]] = [()]
        seen = 0
        while folders:
            above = folders.pop()
            inner: list[tuple[str, ...]] = []
            for name, is_folder, size in self._entries(above):
                seen += 1
                if seen > MAX_SEEN:
                    return
                if is_folder:
                    inner.append((*above, name))
                else:
                    yield "/".join((*above, name)), size
            folders += reversed(inner)

    def at(self, uri: str, *, name: str | None = None, description: str | None = None) -> list[Callable[..., Any]]:
        """Return what serves the directory, for `MCPServer.collect`.

        That is a template for its files, a list of them in JSON at `uri` itself, and completion of their paths.

        Args:
            uri: What stands before the paths, with a slash at its end, as in ``docs://``.
            name: For programs; the directory's name if None.
            description: For the model.

        Raises:
            ValueError: `uri` is none, or has no slash at its end.
        """
        if not uri.endswith("/"):
            raise ValueError(f"a directory's URI ends with a slash: {uri!r:.200}")
        template = UriTemplate(f"{uri}{{path*}}")

        def read(path: str) -> Mapping[str, str]:
            return self.read(path)

        def listing() -> Mapping[str, Any]:
            listed, more = self._cut(template)
            return {"files": listed, "more": more}

        def begin_with(typed: str) -> list[str]:
            return [path for path, _ in self.files() if path.startswith(typed)]

        async def complete(argument: CompletionArgument) -> list[str]:
            return await to_thread.run_sync(begin_with, argument.value, abandon_on_cancel=True)

        name = self.root.name if name is None else name
        return [
            resource_template(name, uri_template=template.text, description=description)(read),
            resource(uri, name=name, description=f"The files of {name}", mime_type="application/json")(listing),
            completion(resource=template.text, argument="path")(complete),
        ]

    def _cut(self, template: UriTemplate) -> tuple[list[Mapping[str, Any]], bool]:
        listed: list[Mapping[str, Any]] = []
        for path, size in self.files():
            if len(listed) == MAX_LISTED:
                return listed, True
            try:
                uri = template.expand({"path": path})
            except ValueError:  # a name that no URI can have, since it would lead away elsewhere
                continue
            listed.append({"uri": uri, "mimeType": mime_type_of(path), "size": size})
        return listed, False

    def _entries(self, folders: tuple[str, ...]) -> list[tuple[str, bool, int]]:
        try:
            return sorted(each for each in entries(self.root, folders) if self._shown(each[0]))
        except OSError:  # it is gone meanwhile, or not for us
            return []

    def _shown(self, name: str) -> bool:
        return self._hidden or not name.startswith(".")


def mime_type_of(name: str) -> str | None:
    """Return what the name of a file says of its kind; None if nothing."""
    kind, encoding = _TYPES.guess_type("/" + name)  # without the slash, it would look for `data:` URLs
    return "application/octet-stream" if encoding is not None else kind


def _found(open_it: Callable[[], BinaryIO]) -> BinaryIO:
    try:
        return open_it()
    except OSError as error:
        if isinstance(error, FileNotFoundError) or error.errno in _ABSENT:
            raise _not_found() from None  # not even that something is there
        raise


def _not_found() -> ResourceNotFound:
    return ResourceNotFound(RESOURCE_NOT_FOUND, "Resource not found")


def _contents(file: BinaryIO, mime_type: str | None, max_bytes: int) -> Mapping[str, str]:
    data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise too_large(max_bytes)
    if mime_type is None or mime_type.startswith("text/") or mime_type.endswith(_TEXTS):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = None
        if text is not None and (mime_type is not None or "\0" not in text):
            return {"text": text, "mimeType": mime_type or "text/plain"}
    return {"blob": b2a_base64(data, newline=False).decode(), "mimeType": mime_type or "application/octet-stream"}
