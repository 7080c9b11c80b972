"""Servers that behave badly, each in its own way; run as a script with the name of the way.

It is a program of its own, with nothing of this package: it starts fast, and knows no better.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

WAY = sys.argv[1]
AGREED: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "1"},
}
END = "\r\n\r\n" if WAY == "crlf" else "\n"


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + END)
    sys.stdout.flush()


def noise() -> None:
    sys.stdout.write("Server started!\n\n{\n[]\n")
    sys.stdout.flush()


def answer(message: dict[str, Any]) -> None:
    method, id = message.get("method"), message.get("id")
    if WAY == "noisy":
        noise()
    if WAY == "exits" or (WAY == "exits-at-probe" and method == "server/discover"):
        print("one\ntwo\nboom", file=sys.stderr, flush=True)
        os._exit(3)
    if method == "initialize":
        say(id=id, result=AGREED)
    elif method == "server/discover" and WAY != "silent":
        say(id=id, error={"code": -32601, "message": "Method not found"})
    elif method == "tools/call" and WAY == "exits-at-call":
        print("fatal: no more", file=sys.stderr, flush=True)
        os._exit(4)
    elif method == "tools/call" and WAY == "killed-at-call":
        os.kill(os.getpid(), 9)
    elif method == "tools/call" and WAY == "stops-reading":
        time.sleep(600)
    elif method == "tools/call":
        say(id=id, result={"content": [{"type": "text", "text": "yes"}]})
    elif method == "ping":
        say(id=id, result={})


def main() -> None:
    if WAY == "sleeps":
        time.sleep(600)
    if WAY == "stubborn":
        import signal  # noqa: PLC0415 - only here

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(sys.argv[2]).write_text(f"{os.getpid()} {grandchild.pid}")
    for line in sys.stdin:
        answer(json.loads(line))
    if WAY == "stubborn":
        time.sleep(600)


if __name__ == "__main__":
    main()
