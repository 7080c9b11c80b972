"""Ports for child processes, and waiting until one listens."""

from __future__ import annotations

import socket
import subprocess
import time
from typing import Any

from tests.interaction.reach import PATIENCE

__all__ = ("free_port", "wait_until_it_listens")


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_until_it_listens(process: subprocess.Popen[Any], port: int) -> None:
    """Return once a process takes connections there; it must not end before."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except OSError:
            assert process.poll() is None, "it has ended"
            assert time.monotonic() < end, "it does not listen"
            time.sleep(0.02)
        else:
            return
