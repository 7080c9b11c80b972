"""What the other side said, as it may stand in a log line, in the text of an error, or on a terminal.

Layer: L0; imports nothing.
"""

from __future__ import annotations

__all__ = ("MAX_EXCERPT", "excerpt", "printable")

MAX_EXCERPT = 200
"""Characters of what was said, unless more or less is wanted."""


def excerpt(said: object, length: int = MAX_EXCERPT) -> str:
    r"""Return the beginning of it, on one line and in characters that do nothing.

    Runs of white space are one blank.  Control characters, which forge lines of logs and take over
    terminals, stand as Python writes them (``\x1b``), and so do those that only turn or hide text.

    Args:
        said: A text, or an error whose text it is.
        length: How many characters at most.
    """
    text = printable(" ".join(str(said)[: 2 * length].split()))
    return text if len(text) <= length else f"{text[: length - 3]}..."


def printable(text: str) -> str:
    """Return one line of text with every character that does something as Python writes it."""
    return text if text.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
