"""Whether an entry starts: tried once as a host would, before it is written.

Layer: L6.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dedalus_mcp_transports.stdio_client import INHERITED_ENV

__all__ = ("fault_of",)

PATIENCE = 30.0
"""Seconds that a server gets to start, find its stdin at an end, and exit."""

LAST_LINES = 5


def fault_of(entry: Mapping[str, Any], variables: Mapping[str, str], patience: float = PATIENCE) -> str | None:
    """Start the server of an entry with nothing to read, and say what went wrong; None if nothing did.

    Args:
        entry: Its `command`, `args` and `env`.
        variables: The environment, of which it gets what hosts hand on.
        patience: See `PATIENCE`.

    Raises:
        OSError: It cannot be started.
    """
    env = {name: variables[name] for name in INHERITED_ENV if name in variables} | dict(entry.get("env", {}))
    try:
        done = subprocess.run(
            [entry["command"], *entry["args"]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=env,
            cwd=Path(os.path.abspath(os.sep)),  # noqa: PTH100 - the root: hosts start servers anywhere
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it does not exit when its stdin ends, within {patience:g} s"
    if done.stdout.strip():
        return f"it writes to stdout, which is for the protocol: {done.stdout.strip()[:80]!r}"
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-LAST_LINES:]
        return f"it exits with code {done.returncode}" + "".join(f"\n  {line[:300]}" for line in last)
    return None
