"""The sockets that a server listens on, bound before anything else begins.

An address that is taken is an `OSError` here, where the program can still do something about
it; and one socket can be shared by several processes.

Layer: L5.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ("address_of", "listening")

BACKLOG = 2048
"""Connections that may wait to be accepted; the system lowers it to what it allows."""


@contextmanager
def listening(host: str, port: int, *, uds: str | None = None, fd: int | None = None) -> Generator[list[socket.socket]]:
    """Listen while the block runs: on a descriptor, else on a Unix socket, else at a host and a port.

    Args:
        host: A name or an address; one name may stand for several, and "" stands for all there are.
        port: The port; 0 for any that is free.
        uds: The path of a Unix socket; what an earlier program left there is replaced.
        fd: The descriptor of a socket that somebody else has bound, and goes on to own.

    Raises:
        OSError: It cannot be listened on.
        ValueError: There are no Unix sockets here.
    """
    sockets = [_inherited(fd)] if fd is not None else [_unix(uds)] if uds is not None else _tcp(host, port)
    try:
        yield sockets
    finally:
        for each in sockets:
            each.close()
        if uds is not None and fd is None:
            with suppress(OSError):
                Path(uds).unlink()


def address_of(sockets: list[socket.socket], host: str) -> str:
    """Return how a URL names the place: host and port, or `unix:` and a path."""
    bound = sockets[0]
    if bound.family not in (socket.AF_INET, socket.AF_INET6):
        return f"unix:{bound.getsockname()}"
    address, port = bound.getsockname()[:2]
    name = host.strip("[]") or address
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def _inherited(fd: int) -> socket.socket:
    bound = socket.socket(fileno=os.dup(fd))
    try:
        bound.listen(BACKLOG)
    except BaseException:
        bound.close()
        raise
    return bound


def _unix(path: str) -> socket.socket:
    if sys.platform == "win32":
        raise ValueError("uds= needs Unix sockets, which this system lacks")
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(Path(path).stat().st_mode) and not _is_served(path):
            Path(path).unlink()
    return _bound(socket.AF_UNIX, path)


def _is_served(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True


def _tcp(host: str, port: int) -> list[socket.socket]:
    name = host.strip("[]") or None
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except UnicodeError:  # a name too long to be one
        raise OSError(errno.EADDRNOTAVAIL, f"{host!r:.80} is no host") from None
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    for family, address in dict.fromkeys((family, address) for family, _, _, _, address in found):
        chosen = sockets[0].getsockname()[1] if sockets else port  # any port, but one for all addresses
        try:
            sockets.append(_bound(family, (address[0], chosen, *address[2:])))
        except OSError as error:
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):  # as ::1 is where there is no IPv6
                for each in sockets:
                    each.close()
                raise
            missing = error
    if not sockets:
        raise missing or OSError(errno.EADDRNOTAVAIL, f"{host!r:.80} has no address")
    return sockets


def _bound(family: int, address: str | tuple[str | int, ...]) -> socket.socket:
    unix = isinstance(address, str)
    # The protocol is named, since asyncio sends without delay (TCP_NODELAY) only where it is.
    bound = socket.socket(family, socket.SOCK_STREAM, 0 if unix else socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # there it lets two programs have one port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # the other family has a socket of its own
        bound.bind(address)
        bound.listen(BACKLOG)
        bound.setblocking(False)  # noqa: FBT003 - the socket's own word
    except BaseException as error:
        bound.close()
        if isinstance(error, OSError):
            raise OSError(error.errno, f"cannot listen on {address!r:.120}: {error.strerror}") from error
        raise
    return bound
