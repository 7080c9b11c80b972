"""A server that passes frames on between its stdio and a socket, both ways; run as a script.

It is the far end of a pair whose near end is a real child process.
"""

from __future__ import annotations

import socket
import sys

import anyio

from dedalus_mcp.transport import Duplex
from dedalus_mcp_transports.stdio import ServerStdio
from dedalus_mcp_transports.stdio_files import socket_stream


async def main(port: int) -> None:
    wire = await ServerStdio().open()
    far = socket_stream(socket.create_connection(("127.0.0.1", port)))
    print("this is not for the wire")

    async def forward(source: Duplex, target: Duplex) -> None:
        try:
            while True:
                await target.send([frame for frame in await source.receive() if isinstance(frame, bytes)])
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await wire.aclose()
            await far.aclose()

    async with anyio.create_task_group() as group:
        group.start_soon(forward, wire, far)
        group.start_soon(forward, far, wire)


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]), backend=sys.argv[2])
