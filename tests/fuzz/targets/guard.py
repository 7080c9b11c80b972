"""`Host` and `Origin`: any text is let in or refused, in harmless words, and only a name that is allowed is let in.

Host
Origin; empty for none
"""

from __future__ import annotations

from dedalus_mcp_transports.http_security import Guard, TransportSecuritySettings
from tests.fuzz.pieces import lines

__all__ = ("target",)

ALLOWED = TransportSecuritySettings(
    allowed_hosts=["mcp.example:*", "[::1]:8000"], allowed_origins=["https://app.example", "http://localhost:*"]
)
GUARDS = (Guard(TransportSecuritySettings()), Guard(ALLOWED), Guard(TransportSecuritySettings(), "0.0.0.0"))
NAMES = ("localhost", "127.0.0.1", "::1", "mcp.example", "app.example")
LONGEST = 400


def target(data: bytes) -> None:
    """Let a request in, or refuse it, twice: the guard remembers."""
    host, origin = lines(data, 2)
    for guard in GUARDS:
        first = guard.check(host, origin or None)
        assert guard.check(host, origin or None) == first
        assert len(guard._good) <= 256  # pyright: ignore[reportPrivateUsage]
        if first is not None:
            assert first.status in (403, 421)
            assert first.message.isascii()
            assert first.message.isprintable()
            assert len(first.message) < LONGEST
        elif guard is GUARDS[1]:
            assert any(name in host.lower() for name in NAMES)
            assert not origin or any(name in origin.lower() for name in NAMES)
