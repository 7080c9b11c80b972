"""The examples as programs of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.interaction.reach import ENV, PATIENCE
from tests.process.child import INHERITED
from tests.process.ports import wait_until_it_listens
from tests.sources import ROOT

__all__ = ("EXAMPLES", "command", "listening", "said", "started")

EXAMPLES = ROOT / "examples"


def command(name: str, *arguments: str) -> list[str]:
    """How an example is run."""
    return [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]


def said(name: str, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Run an example to its end and return what it prints; nothing may go wrong in it."""
    done = subprocess.run(
        command(name, *arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**INHERITED, **ENV, **(env or {})},
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@contextmanager
def started(arguments: list[str], log: Path, **env: str) -> Generator[subprocess.Popen[bytes]]:
    """Run a program that serves; whatever happens, nothing of it is left."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env={**INHERITED, **ENV, **env}, cwd=ROOT
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)


@contextmanager
def listening(arguments: list[str], port: int, log: Path, **env: str) -> Generator[subprocess.Popen[bytes]]:
    """The same, once it takes connections there."""
    with started(arguments, log, **env) as process:
        wait_until_it_listens(process, port)
        yield process
