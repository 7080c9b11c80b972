"""Requests that leave in one piece: a network for httpcore, which sends a head and a body one after the other.

Two pieces are two system calls, two turns of the event loop and, mostly, two packets: the server wakes up
twice for one request.

    write(head), write(body), write(b"") ──▶ [held] ──▶ one write of the stream underneath

Layer: L5; httpcore.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, cast

import httpcore

__all__ = ("OnePiece", "OnePieceStream")

MAX_HELD = 64 * 1024
"""Bytes that are put together; more are worth a system call of their own."""


class OnePiece(httpcore.AsyncNetworkBackend):
    """Connects as httpcore does with anyio."""

    def __init__(self) -> None:
        self._network = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect: see `httpcore.AsyncNetworkBackend`."""
        return OnePieceStream(await self._network.connect_tcp(host, port, timeout, local_address, socket_options))


class OnePieceStream(httpcore.AsyncNetworkStream):
    """A connection on which a request leaves in one piece.

    Args:
        stream: The connection underneath.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._held = b""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Send what is held, where nothing has told the end of it, and read."""
        if self._held:
            with suppress(httpcore.WriteError):  # as httpcore does: what the server says all the same is the answer
                await self.write(b"", timeout)
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Hold a piece; send them all where they are many, or with the empty one: httpcore ends a request by it."""
        if buffer and len(self._held) + len(buffer) <= MAX_HELD:
            self._held += buffer
            return
        held, self._held = self._held, b""
        if len(buffer) <= MAX_HELD:
            await self._stream.write(held + buffer, timeout)
            return
        await self._stream.write(held, timeout)
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection underneath."""
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Speak TLS on it from here on."""
        return OnePieceStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """See `httpcore.AsyncNetworkStream`."""
        return self._stream.get_extra_info(info)
