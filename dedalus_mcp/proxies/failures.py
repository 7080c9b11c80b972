"""What our client is told of a failure between us and the upstream server.

Layer: L6.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

from dedalus_mcp.errors import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ConnectionLost,
    DedalusError,
    McpError,
    RequestTimeout,
)
from dedalus_mcp.excerpt import excerpt

__all__ = ("told",)

logger = logging.getLogger("dedalus_mcp")


@contextmanager
def told(name: str, *, modern: bool, masked: bool) -> Generator[None]:
    """Let whatever goes wrong on the way be an error that names the upstream server; its own errors stay theirs.

    Args:
        name: Of the proxy.
        modern: Whether our client speaks a revision that has all codes.
        masked: Whether why a connection was lost, or not made, is for the log alone: it may name programs and
            addresses of ours, and have what a program wrote on stderr.

    Raises:
        McpError: The server's own; or -32000, it is gone or cannot be reached; or -32603, it did not
            answer in time, or not legally.
    """
    try:
        yield
    except McpError as error:
        if error.code == MISSING_REQUIRED_CLIENT_CAPABILITY and not modern:  # RPC-27
            raise McpError(METHOD_NOT_FOUND, error.message) from error
        raise
    except ConnectionLost as error:
        raise _lost(f"{name!r:.80}: the upstream server is gone", error.reason, masked=masked) from error
    except RequestTimeout as error:
        raise McpError(INTERNAL_ERROR, f"{name!r:.80}: the upstream server did not answer in time: {error}") from error
    except OSError as error:  # those of HTTP are among them
        raise _lost(f"{name!r:.80}: the upstream server cannot be reached", error, masked=masked) from error
    except DedalusError as error:
        why = f"{name!r:.80}: the upstream server's answer is not legal: {excerpt(error)}"
        raise McpError(INTERNAL_ERROR, why) from error


def _lost(what: str, why: object, *, masked: bool) -> McpError:
    whole = f"{what}: {excerpt(why)}"
    if masked:
        logger.warning("%s", whole)
    return McpError(CONNECTION_CLOSED, what if masked else whole)
