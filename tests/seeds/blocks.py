"""The code of the two documents that this package keeps its names from, block by block, unchanged.

A text file holds the blocks of one document, each after a line ``==== name``.  A block is a piece
of a module, or of a coroutine function whose names are in scope; both ways it runs as it stands.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

__all__ = ("body", "module", "source")

HERE = Path(__file__).parent


def source(document: str, name: str) -> str:
    """The text of one block."""
    blocks = (HERE / f"{document}.txt").read_text(encoding="utf-8").split("==== ")
    return next(block.partition("\n")[2] for block in blocks if block.partition("\n")[0] == name)


def module(document: str, *names: str) -> dict[str, Any]:
    """Run blocks one after the other, as the text of one module, and return its names."""
    namespace: dict[str, Any] = {"__name__": f"{document}_{names[0]}"}
    for name in names:
        exec(compile(source(document, name), f"{document}/{name}", "exec"), namespace)
    return namespace


def body(document: str, name: str, *parameters: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Make a coroutine function of a block; without `return`, it returns the block's `result`."""
    text = f"async def block({', '.join(parameters)}):\n{textwrap.indent(source(document, name), '    ')}"
    namespace: dict[str, Any] = {}
    exec("from dedalus_mcp import types", namespace)  # as each of the documents' modules begins
    exec(compile(f"{text}    return result\n", f"{document}/{name}", "exec"), namespace)
    made: Callable[..., Coroutine[Any, Any, Any]] = namespace["block"]
    return made
