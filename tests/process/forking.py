"""Work in several processes without any HTTP:  python -m tests.process.forking dies|ends|stubborn|leaves."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType

from dedalus_mcp_transports.http_workers import Supervisor

__all__ = ()


def dies() -> None:
    say("began")
    raise KeyError("no luck")


def ends() -> None:
    say("began")
    signal.signal(signal.SIGTERM, leave)
    say(f"ready {os.getpid()}")
    while True:
        signal.pause()


def leave(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def stubborn() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say(f"ready {os.getpid()}")
    while True:
        time.sleep(100)


def say(word: str) -> None:
    os.write(2, f"{word}\n".encode())


if __name__ == "__main__":
    Supervisor(2, {"dies": dies, "ends": ends, "stubborn": stubborn}[sys.argv[1]], patience=0.3).run()
    say("returned")
