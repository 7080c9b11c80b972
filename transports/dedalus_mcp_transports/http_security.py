"""Whose requests a server takes: `Host` and `Origin`, against DNS rebinding.

A web page that has its own name resolve to this machine reaches a local server from the
visitor's browser.  Its requests still carry the page's name: in `Host`, and in `Origin`.

    no allowed_hosts    the loopback names and the host bound to; on a server bound to every
                        interface any, since the names that lead there are not known
    no allowed_origins  pages of the hosts that are known by name, or of loopback: never any page,
                        so that a rebound one is refused there too

Source: MCP 2026-07-28, basic/transports/streamable-http, "Security warning"; RFC 6454.
Layer: L2; imports nothing of this package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

__all__ = ("Guard", "Origins", "Refusal", "TransportSecuritySettings")

LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERY_INTERFACE = ("", "0.0.0.0", "::")

_AUTHORITY = r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?"
_HOST = re.compile(_AUTHORITY)
_ORIGIN = re.compile(rf"(?P<scheme>[a-z][a-z0-9+.-]*)://{_AUTHORITY}")
_UNSAFE = re.compile(r"[^A-Za-z0-9.:/_\[\]-]")
_PORTS = {"http": "80", "https": "443"}
_TRUTH = {**dict.fromkeys(("1", "true", "yes", "on"), True), **dict.fromkeys(("0", "false", "no", "off"), False)}
_MEMO = 256  # pairs of Host and Origin known to be good; a server has a few
_LONGEST_MEMO = 512  # characters of such a pair: two long names, and a bound where any name is allowed


class TransportSecuritySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which `Host` and `Origin` headers a streamable HTTP server takes.

    Attributes:
        enable_dns_rebinding_protection: Whether the two are looked at at all.
        allowed_hosts: Host names to answer to, in place of the default: `name` with any port
            or none, `name:port`, `name:*`, or `*` for any.  IPv6 addresses stand in brackets.
        allowed_origins: Web pages that may call, in place of the default: `scheme://name` (on
            the scheme's own port), `scheme://name:port`, `scheme://name:*`, or `*` for any.

    Raises:
        ValueError: One of the two is one text.
    """

    enable_dns_rebinding_protection: bool = True
    allowed_hosts: list[str] = []
    allowed_origins: list[str] = []

    def __post_init__(self) -> None:
        for name in ("allowed_hosts", "allowed_origins"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"{name} is a list of names, not one text")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> TransportSecuritySettings:
        """Read `MCP_DNS_REBINDING_PROTECTION`, `MCP_ALLOWED_HOSTS` and `MCP_ALLOWED_ORIGINS`.

        Args:
            environment: Variables by name.  The lists are separated by commas.

        Raises:
            ValueError: The first is neither true nor false, or a host or an origin is not written as
                one; it names the variable.
        """
        said = environment.get("MCP_DNS_REBINDING_PROTECTION", "").strip().lower() or "true"
        if said not in _TRUTH:
            raise ValueError(f"MCP_DNS_REBINDING_PROTECTION must be true or false, not {said!r:.80}")
        return cls(
            enable_dns_rebinding_protection=_TRUTH[said],
            allowed_hosts=_listed(environment, "MCP_ALLOWED_HOSTS", _host_entry),
            allowed_origins=_listed(environment, "MCP_ALLOWED_ORIGINS", _origin_entry),
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is not taken.

    Attributes:
        status: The HTTP status; of a `Guard`, 421 for its Host, 403 for its Origin.
        message: What was refused, in harmless characters, and which setting would allow it.
    """

    status: int
    message: str


class Guard:
    """Checks the requests of one server.

    Args:
        settings: What to allow.
        bound_host: The host the server listens on; None if that is not known, as for an
            application that is mounted in another.
        pages: Web pages that may call besides.

    Raises:
        ValueError: An allowed host or origin is not written as one.
    """

    def __init__(
        self, settings: TransportSecuritySettings, bound_host: str | None = None, pages: Origins | None = None
    ) -> None:
        bound = LOOPBACK[0] if bound_host is None else bound_host.strip("[]").removesuffix(".").lower()
        names = LOOPBACK if bound in EVERY_INTERFACE else (*LOOPBACK, bound)
        hosts = [_host_entry(each) for each in settings.allowed_hosts]
        self._enabled = settings.enable_dns_rebinding_protection
        self._any_host = _ANY in hosts or (not hosts and bound in EVERY_INTERFACE)
        self._hosts = hosts or [_Place(None, name, "*") for name in names]
        self._origins = Origins(settings.allowed_origins, "allowed_origins", self._pages_of_hosts(names))
        self._pages = pages
        self._good: set[tuple[str | None, str | None]] = set()

    def _pages_of_hosts(self, names: Iterable[str]) -> list[_Place]:
        hosts = [each for each in self._hosts if each is not _ANY] or [_Place(None, name, "*") for name in names]
        return [_Place(scheme, each.name, each.port) for scheme in _PORTS for each in hosts]

    def check(self, host: str | None, origin: str | None) -> Refusal | None:
        """Return None if the request may go on.

        Args:
            host: The `Host` header; a request without one is refused.
            origin: The `Origin` header; None from whoever is no web page, and may go on.
        """
        if not self._enabled or (host, origin) in self._good:
            return None
        if not (self._any_host or _is_one_of(self._hosts, _read(_HOST, host))):
            said = "a request without Host" if host is None else f"Host {_harmless(host)}"
            return Refusal(421, f"{said} is not served here; {_setting('hosts')}")
        if origin is not None and not self._may_call(origin):
            said = f"Origin {_harmless(origin)}"
            return Refusal(403, f"{said} is not allowed here; {_setting('origins')}")
        self._remember(host, origin)
        return None

    def _may_call(self, origin: str) -> bool:
        return origin in self._origins or (self._pages is not None and origin in self._pages)

    def _remember(self, host: str | None, origin: str | None) -> None:
        if len(host or "") + len(origin or "") > _LONGEST_MEMO:
            return
        if len(self._good) >= _MEMO:
            self._good.clear()
        self._good.add((host, origin))


@dataclass(frozen=True, slots=True)
class _Place:
    """A host or an origin: scheme (None for a host), name, and port (None for the usual, `*` for any)."""

    scheme: str | None
    name: str
    port: str | None


_ANY = _Place(None, "*", "*")


class Origins:
    """The web pages that a setting names.

    Args:
        entries: As they are written there.
        setting: The name of the setting.
        default: What is meant where it names none.

    Attributes:
        any: Whether any page is meant.

    Raises:
        ValueError: An entry is not written as an origin.
    """

    def __init__(self, entries: Iterable[str], setting: str, default: Sequence[_Place] = ()) -> None:
        self._places = [_origin_entry(each, setting) for each in entries] or default
        self.any = _ANY in self._places

    def __contains__(self, origin: str) -> bool:
        return self.any or _is_one_of(self._places, _read(_ORIGIN, origin))


def _read(pattern: re.Pattern[str], text: str | None) -> _Place | None:
    found = None if text is None else pattern.fullmatch(text.lower())
    if found is None:
        return None
    parts = found.groupdict()
    return _Place(parts.get("scheme"), parts["address"] or parts["name"].removesuffix("."), parts["port"])


def _is_one_of(allowed: Iterable[_Place], found: _Place | None) -> bool:
    return found is not None and any(
        found.name == each.name and found.scheme == each.scheme and _same_port(found, each) for each in allowed
    )


def _same_port(found: _Place, allowed: _Place) -> bool:
    if allowed.port in ("*", found.port):
        return True
    usual = _PORTS.values() if found.scheme is None else (_PORTS.get(found.scheme),)  # a proxy hides a host's scheme
    return (found.port is None and allowed.port in usual) or (allowed.port is None and found.port in usual)


def _host_entry(text: str) -> _Place:
    if text == "*":
        return _ANY
    name, port = (text.removesuffix(":*"), "*") if text.endswith(":*") else (text, None)
    place = _read(_HOST, name)
    if place is None:
        raise ValueError(f"allowed_hosts takes host names like 'mcp.example.com' or '[::1]:8000', not {text!r:.80}")
    return _Place(None, place.name, port or place.port or "*")


def _origin_entry(text: str, setting: str = "allowed_origins") -> _Place:
    if text == "*":
        return _ANY
    name, port = (text.removesuffix(":*"), "*") if text.endswith(":*") else (text, None)
    place = _read(_ORIGIN, name)
    if place is None:
        raise ValueError(f"{setting} takes origins like 'https://app.example.com', not {text!r:.80}")
    return _Place(place.scheme, place.name, port or place.port)


def _listed(environment: Mapping[str, str], variable: str, read: Callable[[str], object]) -> list[str]:
    entries = [each.strip() for each in environment.get(variable, "").split(",") if each.strip()]
    for entry in entries:
        try:
            read(entry)
        except ValueError as error:
            raise ValueError(f"{variable}: {error}") from None
    return entries


def _setting(what: str) -> str:
    return f"the setting allowed_{what} (or MCP_ALLOWED_{what.upper()}) names the {what} that are"


def _harmless(text: str) -> str:
    return _UNSAFE.sub("?", text[:100])
