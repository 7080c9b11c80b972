"""Docstrings: the texts of the parameters, and what is left without the sections.

Three styles are read, also mixed: Google (``Args:``), NumPy (underlined ``Parameters``)
and Sphinx (``:param name:``).

Layer: L1; imports the standard library only.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection

__all__ = ("split",)

_PARAMETERS = {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters"}
_DROPPED = {"return", "returns", "yield", "yields", "raises", "except", "exceptions"}

# Strings, not compiled: most programs that import this never see half of them.
_RULE = r"-{3,}\s*"
_FIELD = r":(param|parameter|arg|argument|key|keyword|type|return|returns|rtype|raises?|except|exception)\b.*?:"
_SPHINX_WORDS = {"param", "parameter", "arg", "argument", "key", "keyword"}
_ENTRY = {
    "google": r"`{0,2}\*{0,2}(\w+)`{0,2}\s*(?:\(.*?\))?\s*:(?:\s+(.*))?",
    "numpy": r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?()",
    "sphinx": r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)",
}


def split(doc: str | None, names: Collection[str]) -> tuple[str, dict[str, str]]:
    """Split a docstring into its summary and the texts of these parameters.

    Returns:
        The dedented docstring without the sections on parameters, returns and raises; and
        the text of every parameter in `names` that has one, each in one line.
    """
    lines = inspect.cleandoc(doc or "").splitlines()
    kept: list[str] = []
    texts: dict[str, str] = {}
    at = 0
    while at < len(lines):
        style, start, end = _section(lines, at)
        if style == "text":
            kept += lines[at:end]
        elif style != "dropped":
            texts |= _texts(lines[start:end], _ENTRY[style], names)
        at = end
    summary = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return summary, {name: text for name, text in texts.items() if text}


def _section(lines: list[str], at: int) -> tuple[str, int, int]:
    """Return the style, the first line and the end of what starts at this line.

    The style is that of a section on parameters, or "dropped", or "text".
    """
    line = lines[at]
    if field := re.match(_FIELD, line):
        style = "dropped" if field.group(1) not in _SPHINX_WORDS else "sphinx"
        return style, at, _indented(lines, at + 1)
    title = line.rstrip(": ").lower()
    named = "parameters" if title in _PARAMETERS else "dropped" if title in _DROPPED else "text"
    if _underlined(lines, at):
        end = at + 2
        while end < len(lines) and not _underlined(lines, end):
            end += 1
        return named if named != "parameters" else "numpy", at + 2, end
    if line.endswith(":") and named != "text":
        return named if named != "parameters" else "google", at + 1, _section_end(lines, at + 1)
    return "text", at, at + 1


def _underlined(lines: list[str], at: int) -> bool:
    return bool(lines[at].strip()) and at + 1 < len(lines) and bool(re.fullmatch(_RULE, lines[at + 1]))


def _indented(lines: list[str], at: int) -> int:
    while at < len(lines) and (not lines[at] or lines[at][0].isspace()):
        at += 1
    return at


def _section_end(lines: list[str], at: int) -> int:
    end = _indented(lines, at)
    if at == 1 and end == at:  # nothing else shows how far the lines below are indented by the section
        while end < len(lines) and lines[end]:
            end += 1
    return end


def _texts(lines: list[str], entry: str, names: Collection[str]) -> dict[str, str]:
    """Read the entries at the least indentation, each with the lines below that are deeper.

    A line that looks like an entry but names no parameter goes on with the text above it.
    """
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    texts: dict[str, list[str]] = {}
    open: list[str] = []
    for line in lines:
        started = re.fullmatch(entry, line[margin:])
        listed = [name.strip(" *") for name in started.group(1).split(",")] if started else []
        if started and (known := [name for name in listed if name in names]):
            open = known
            texts |= {name: [started.group(2) or ""] for name in open}
        else:
            for name in open:
                texts[name].append(line.strip())
    return {name: " ".join(filter(None, parts)) for name, parts in texts.items()}
