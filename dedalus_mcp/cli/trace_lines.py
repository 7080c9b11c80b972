"""An entry of a trace as text: one line, or one line and the message below it.

         0.4 ms  → request       initialize #1  {"protocolVersion": ...}
        31.9 ms  ← result        initialize #1  31.5 ms  {"capabilities": ...}

Layer: L6; no I/O.
"""

from __future__ import annotations

import json
from typing import Any, cast

from dedalus_mcp.cli.harmless import harmless, harmless_json, one_line
from dedalus_mcp.cli.trace_entries import Entry

__all__ = ("as_block", "as_json_line", "as_line")

MAX_PARAMS = 160
"""Characters of a message in one line."""

_ARROWS = {"client": "→", "server": "←"}


def as_line(entry: Entry) -> str:
    """Return the entry in one line, clipped; nothing in it is obeyed by a terminal."""
    return f"{_head(entry)}  {one_line(_written(_gist(entry), None), MAX_PARAMS)}".rstrip()


def as_block(entry: Entry) -> str:
    """Return the entry with all of its message below it, indented."""
    text = harmless(entry.message) if isinstance(entry.message, str) else _written(entry.message, 2)
    return _head(entry).rstrip() + "".join(f"\n    {line}" for line in text.split("\n"))


def as_json_line(entry: Entry) -> str:
    """Return the entry as one line of JSON."""
    return _written(entry.as_json(), None)


def _head(entry: Entry) -> str:
    words = [f"{entry.at * 1000:9.1f} ms ", _ARROWS[entry.sender], f"{entry.kind:<12}"]
    if entry.connection > 1:
        words.insert(0, f"[{entry.connection}]")
    if entry.method is not None:
        words.append(one_line(entry.method, 60))
    if entry.id is not None:
        words.append(f"#{one_line(str(entry.id), 40)}")
    if entry.took is not None:
        words.append(f"({entry.took * 1000:.1f} ms)")
    return " ".join(words)


def _gist(entry: Entry) -> Any:
    """What one line shows of a message: its head says the rest."""
    name = {"request": "params", "notification": "params"}.get(entry.kind, entry.kind)
    if name not in {"params", "result", "error"}:
        return entry.message
    return cast("dict[str, Any]", entry.message).get(name, "")


def _written(value: Any, indent: int | None) -> str:
    if isinstance(value, str) and indent is None:
        return harmless(value)
    return harmless_json(json.dumps(value, ensure_ascii=False, indent=indent))
