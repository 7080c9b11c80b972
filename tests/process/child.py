"""A server as a child process, spoken to byte by byte, with no code of ours on this side of the pipes."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.interaction.reach import ENV, PATIENCE
from tests.sources import ROOT

__all__ = ("INHERITED", "Child", "child")

INHERITED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


class Child:
    """A running child.

    Args:
        args: The module to run as a script, and its arguments.
        stdin: What its stdin is; a pipe of ours if None.
        env: More variables.
    """

    def __init__(self, args: Sequence[str], *, stdin: int | None = None, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", *args],
            stdin=subprocess.PIPE if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**INHERITED, **ENV, **(env or {})},
            cwd=ROOT,
        )
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._stderr: list[bytes] = []
        self.lines: list[bytes] = []
        self._threads = [threading.Thread(target=self._read_stdout), threading.Thread(target=self._read_stderr)]
        for thread in self._threads:
            thread.start()

    def say_bytes(self, data: bytes) -> None:
        """Write these bytes."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def say(self, **message: Any) -> None:
        """Write one message."""
        self.say_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def hear(self) -> dict[str, Any]:
        """Return the next line as the message that it must be."""
        line = self._lines.get(timeout=PATIENCE)
        if not line:
            raise EOFError(self.stderr)
        self.lines.append(line)
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def reply(self, id: Any) -> dict[str, Any]:
        """Return the reply to this request."""
        while "method" in (message := self.hear()) or message["id"] != id:
            pass
        return message

    def call(self, id: Any, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its reply."""
        self.say(id=id, method=method, params=params)
        return self.reply(id)

    def tool(self, id: Any, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        result: dict[str, Any] = self.call(id, "tools/call", name=name, arguments=arguments)["result"]
        return result

    def open(self, revision: str = "2025-06-18", capabilities: dict[str, Any] | None = None) -> None:
        """Shake hands."""
        info = {"name": "raw", "version": "1"}
        self.call("init", "initialize", protocolVersion=revision, capabilities=capabilities or {}, clientInfo=info)
        self.say(method="notifications/initialized")

    def close_stdin(self) -> None:
        """Say that nothing more will come."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self, seconds: float = PATIENCE) -> int:
        """Return the exit code; the process has so many seconds to end."""
        code = self.process.wait(seconds)
        for thread in self._threads:
            thread.join(PATIENCE)
        return code

    @property
    def stderr(self) -> str:
        """What it has written to stderr by now."""
        return b"".join(self._stderr).decode()

    def _read_stdout(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            for line in stream:
                self._lines.put(line)
        self._lines.put(b"")

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            self._stderr.extend(stream)


@contextmanager
def child(*args: str, stdin: int | None = None, env: dict[str, str] | None = None) -> Generator[Child]:
    """Run a module as a script; whatever happens, nothing of it is left."""
    running = Child(args, stdin=stdin, env=env)
    try:
        yield running
    finally:
        running.process.kill()
        if running.process.stdin is not None:
            running.process.stdin.close()
        running.wait()
