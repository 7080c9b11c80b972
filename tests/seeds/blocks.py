"""The code of the two documents that this package keeps its names from, as their pages in `docs/seeds` have it.

A block is a piece of a module, or of a coroutine function whose names are in scope; both ways it runs
as it stands.  `elicitation.hi` is the document as it was written, `elicitation` its translation.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Coroutine
from typing import Any

from tests.sources import ROOT

__all__ = ("NAMES", "body", "module", "source", "sources")

NAMES = {
    "elicitation": ("deploy", "params", "actions", "create_project", "error_handling"),
    "prompts": (
        "code_review",
        "translate",
        "summarize",
        "status",
        "db_summary",
        "analyze",
        "generate_report",
        "plain_test",
        "server_test",
    ),
}
"""What the blocks of each document are called here, in their order."""

FENCED = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sources(document: str) -> dict[str, str]:
    """The text of every block, by its name."""
    page = ROOT / "docs" / "seeds" / f"{document}.md"
    return dict(zip(NAMES[document.partition(".")[0]], FENCED.findall(page.read_text(encoding="utf-8")), strict=True))


def source(document: str, name: str) -> str:
    """The text of one block."""
    return sources(document)[name]


def module(document: str, *names: str) -> dict[str, Any]:
    """Run blocks one after the other, as the text of one module, and return its names."""
    namespace: dict[str, Any] = {"__name__": f"{document.replace('.', '_')}_{names[0]}"}
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
