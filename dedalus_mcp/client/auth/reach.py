"""Where metadata may send us: what a server names is looked at before anything is sent there, without I/O.

    https://anywhere.example/token     yes
    http://localhost:8080/token        yes, if the MCP server is on this machine or network too
    http://anywhere.example/token      no: the token would be readable on the way
    https://10.0.0.1/token             no, from a server of the internet: that is not its own
    https://169.254.169.254/           no: that is where clouds keep their secrets

Layer: L4; no I/O.
Source: MCP 2026-07-28, security best practices, "Server-side request forgery" (SEC-09); AUTH-47.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from urllib.parse import SplitResult, urlsplit

from dedalus_mcp.client.auth.failures import DiscoveryError, said

__all__ = ("Reach", "is_local", "is_loopback", "is_nowhere", "shown")

MAX_URL = 4096
"""Characters of a URL in metadata, at most."""

# Names that mean something in one network only.
_LOCAL_NAMES = (".local", ".internal", ".lan", ".home.arpa")
# Also what resolvers take for an IPv4 address: 127.1, 0x7f.1, 2130706433.
_NUMERIC = re.compile(r"[0-9a-fx.]+", re.IGNORECASE)

# What there is of IPv6 in the internet; all else is of one site, or stands for an IPv4 address in an old way.
_INTERNET = ipaddress.IPv6Network("2000::/3")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Reach:
    """What may be asked on behalf of one MCP server.

    Args:
        server: The URL of that server, which the user chose.
        trusted_hosts: Hosts that may be asked without TLS, and at private addresses: names as in their URLs.

    Attributes:
        host: The host of that server.
    """

    def __init__(self, server: str, trusted_hosts: Iterable[str] = ()) -> None:
        self.host = urlsplit(server).hostname or ""
        self._trusted = frozenset(host.lower() for host in trusted_hosts)
        self._from_local = is_local(self.host)

    def check(self, url: str, what: str) -> str:
        """Return the URL if something may be sent there.

        Args:
            url: Where to.
            what: What it is, for the error.

        Raises:
            DiscoveryError: It may not; the error says why.
        """
        fault = self._fault(url)
        if fault is not None:
            raise DiscoveryError(f"{what} {said(url)} {fault}")
        return url

    def allows_addresses(self, addresses: Sequence[str], own: Sequence[str] = ()) -> bool:
        """Whether a name may stand for these addresses.

        Args:
            addresses: What it stands for.
            own: What the name of the server itself stands for, if that is known: inside a company, names of the
                internet may lead to its own network.
        """
        from_local = self._from_local or (bool(own) and all(map(is_local, own)))
        return not any(is_nowhere(each) or (is_local(each) and not from_local) for each in addresses)

    def must_resolve(self, url: str) -> bool:
        """Whether the addresses of the URL's host are to be looked at too."""
        host = urlsplit(url).hostname or ""
        return host.lower() not in self._trusted and _address(host) is None and not is_local(host)

    def _fault(self, url: str) -> str | None:
        illegal = _illegal(url)
        if illegal is not None:
            return illegal
        parts = urlsplit(url)
        host = parts.hostname or ""
        if host in self._trusted:
            return None
        if is_nowhere(host):
            return "is the address of no server"
        if not self._from_local and is_local(host):
            return "is in a private network, and the server that names it is not"
        if parts.scheme == "http" and not is_loopback(host):
            return "is not https://, and not on this machine (trusted_hosts= can allow that)"
        return None


def _illegal(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is no URL"
    if len(url) > MAX_URL or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return "is no URL"
    if parts.scheme not in ("https", "http") or not host:
        return "is no https:// URL"
    if "@" in parts.netloc or parts.fragment:
        return "has a user name or a fragment, which is not legal there"
    return None


def is_loopback(host: str) -> bool:
    """Whether a host, as a URL names it, is this machine."""
    address = _address(host)
    if address is None:
        return host.lower().rstrip(".") == "localhost" or host.lower().rstrip(".").endswith(".localhost")
    return address.is_loopback


def is_local(host: str) -> bool:
    """Whether a host, as a URL names it, is this machine, or in a network that is not the internet."""
    address = _address(host)
    if address is None:
        name = host.lower().rstrip(".")
        return is_loopback(name) or "." not in name or name.endswith(_LOCAL_NAMES)
    return not address.is_global or address.is_multicast or (address.version == 6 and address not in _INTERNET)


def is_nowhere(host: str) -> bool:
    """Whether a host is an address that no authorization server has, such as that of a cloud's own metadata."""
    address = _address(host)
    return address is not None and (address.is_link_local or address.is_multicast or address.is_unspecified)


def shown(url: str) -> str:
    """Return the URL as it may be shown: without a query, which may be secret, and not too long."""
    parts: SplitResult = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"[:200]


def _address(host: str) -> Address | None:
    host = host.strip("[]").partition("%")[0]
    try:
        address: Address = ipaddress.ip_address(host)
    except ValueError:
        if not _NUMERIC.fullmatch(host) or not any(letter.isdigit() for letter in host):
            return None
        try:
            address = ipaddress.IPv4Address(socket.inet_aton(host))
        except OSError:
            return None
    embedded = None
    if isinstance(address, ipaddress.IPv6Address):
        embedded = address.ipv4_mapped or address.sixtofour or _nat64(address)
    return embedded or address


def _nat64(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    well_known = ipaddress.IPv6Network("64:ff9b::/96")
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in well_known else None
