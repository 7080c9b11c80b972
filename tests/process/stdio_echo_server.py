"""A stdio server that is nothing but its transport; run as a script.

It answers each frame with the same frame, except for these, which make trouble:
"eat" runs a child that reads its stdin and prints, "print" prints in every way there is,
"exit" ends in the middle, "signals" tells what arrived.
"""

from __future__ import annotations

import os
import subprocess
import sys

import anyio

from dedalus_mcp.transport import Duplex
from dedalus_mcp_transports.stdio import ServerStdio

READ_ALL = "import sys; print('child read', len(sys.stdin.read())); print('child err', file=sys.stderr)"


def eat() -> bytes:
    done = subprocess.run([sys.executable, "-c", READ_ALL], check=False)
    return b"%d" % done.returncode


def print_everywhere() -> bytes:
    print("from print")
    sys.stdout.write("from sys.stdout\n")
    os.write(1, b"from descriptor 1\n")
    subprocess.run(["/bin/echo", "from a child"], check=True)
    try:
        return input().encode()
    except EOFError:
        return b'"nothing to read"'


async def answer(wire: Duplex, frame: bytes) -> None:
    if frame == b'"eat"':
        frame = eat()
    elif frame == b'"print"':
        frame = print_everywhere()
    elif frame == b'"exit"':
        print("one\ntwo\nthree", file=sys.stderr)
        os._exit(3)
    await wire.send([frame])


async def main() -> None:
    if not os.isatty(1):
        print("before serving")  # stays in the buffer, and must not be on the wire either
    wire = await ServerStdio().open()
    try:
        while True:
            for frame in await wire.receive():
                await answer(wire, frame if isinstance(frame, bytes) else b'"too long"')
    except anyio.EndOfStream:
        print("end of stdin")
    finally:
        await wire.aclose()
    if "--host" in sys.argv:
        print("stdout is back")


if __name__ == "__main__":
    anyio.run(main, backend=sys.argv[1])
