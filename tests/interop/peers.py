"""Other people's programs, as functions: what to say to them in, what they said as parsed JSON out."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.interop.install import MCP2, NPM, TYPESCRIPT, home, install, node, python

__all__ = (
    "EVERYTHING",
    "OFFICIAL_SERVER",
    "TYPESCRIPT_SERVER",
    "Inspector",
    "Mcpdo",
    "bring",
    "official_client",
    "typescript_client",
)

SCRIPTS = Path(__file__).parent / "scripts"
OFFICIAL_SERVER = (str(python(MCP2)), str(SCRIPTS / "official_server.py"))
"""The command of a server made with the official package; `scripts/official_server.py` has its tools."""

_PROGRAMS = home(*NPM) / "node_modules" / ".bin"
EVERYTHING = (str(node()), str(_PROGRAMS / "mcp-server-everything"), "stdio")
"""The command of the reference server that has everything; it speaks the legacy revisions."""

_TYPESCRIPT = home(*TYPESCRIPT) / "node_modules" / "@modelcontextprotocol"
TYPESCRIPT_SERVER = (str(node()), str(SCRIPTS / "typescript_server.mjs"), str(_TYPESCRIPT))
"""The command of a server made with the TypeScript SDK; `scripts/typescript_server.mjs` has its tools."""

SECONDS = 60
"""No conversation with a peer takes longer; on two busy cores a Node program starts in up to five."""


def bring(*peers: Path) -> None:
    """Install what is missing; only where that cannot be done, and nobody relies on it, the tests are skipped."""
    missing = [peer.name for peer in peers if not peer.exists()]
    if not missing:
        return
    try:
        install()
    except (OSError, subprocess.CalledProcessError) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"cannot install {', '.join(missing)}: {error}")


def official_client(revision: str, steps: Sequence[Sequence[Any]], command: Sequence[str]) -> dict[str, Any]:
    """Let the official package's client talk to a server, by its command or URL; its script has the steps."""
    script = [str(python(MCP2)), str(SCRIPTS / "official_client.py"), revision, json.dumps(steps)]
    done = _run([*script, "--", *command], environment=os.environ)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def typescript_client(revision: str, steps: Sequence[Sequence[Any]], command: Sequence[str]) -> dict[str, Any]:
    """Let the TypeScript SDK's client talk to a server, by its command or URL; the steps are the same."""
    script = [str(node()), str(SCRIPTS / "typescript_client.mjs"), str(_TYPESCRIPT)]
    done = _run([*script, revision, json.dumps(steps), *command], environment=os.environ)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


class Inspector:
    """The command line of the MCP Inspector.

    Args:
        scratch: A directory for what it writes.
    """

    def __init__(self, scratch: Path) -> None:
        self._environment = _quiet_home(scratch)

    def __call__(self, era: str, command: Sequence[str], *options: str) -> tuple[int, dict[str, Any]]:
        """Start `command` as a server, or go to its URL, do one thing, and return the exit code and the answer.

        The code is 0 for success, 1 for a protocol error and 5 for a tool that is missing or failed.
        """
        arguments = ["--cli", *command, *options, "--protocol-era", era, "-q", "--format", "json"]
        done = _run([str(node()), str(_PROGRAMS / "mcp-inspector"), *arguments], self._environment)
        return done.returncode, _json(done)


class Mcpdo:
    """The Inspector's `mcpdo`, a client that keeps its connection between commands and can answer forms.

    Args:
        scratch: A directory for what it writes; its daemon lives there too.
    """

    def __init__(self, scratch: Path) -> None:
        self._environment = _quiet_home(scratch)

    def __call__(self, *arguments: str) -> dict[str, Any]:
        """Run one command and return what it printed."""
        program = [str(node()), str(_PROGRAMS / "mcpdo"), "--plain", "--format", "json"]
        return _json(_run([*program, *arguments], self._environment))

    def connect(self, name: str, era: str, command: Sequence[str]) -> dict[str, Any]:
        """Connect to a server by its command or URL, under a name that starts with ``@``."""
        if command[0].startswith("http:"):
            return self("connect", name, *command, "--era", era)
        return self("connect", name, "--era", era, "--", *command)

    def stop(self) -> None:
        """End the daemon, and with it every connection."""
        self("daemon", "stop")


def _quiet_home(scratch: Path) -> dict[str, str]:
    path = f"{node().parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "HOME": str(scratch), "PATH": path, "MCP_INSPECTOR_SECRET_STORE": "memory"}


def _run(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def _json(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    errors = done.stderr.strip().rpartition("\n")[2]  # one line of JSON, after remarks
    try:
        answer: dict[str, Any] = json.loads(done.stdout or errors or "{}")
    except ValueError:
        raise AssertionError(f"exit {done.returncode}, not JSON: {done.stdout}\n{done.stderr}") from None
    return answer
