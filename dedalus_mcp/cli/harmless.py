r"""Text of a server, made harmless for a terminal: it can show nothing but itself.

    "\x1b]0;owned\x07"   shown as     \x1b]0;owned\x07      the terminal obeys nobody but us
    "\x1b[31mred"        shown as     red                   colours are dropped
    "a\u202eb"           shown as     a\u202eb              nothing is shown in another order than it stands

Layer: L6; no I/O.
"""

from __future__ import annotations

import re

__all__ = ("harmless", "harmless_json", "one_line")

_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
# Control characters but tab and line feed; what turns the order of text round; separators of lines
# that are none to a reader; tags, which nobody sees; and halves of surrogates, which cannot be written.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\U000e0000-\U000e007f]")
_SPACE = re.compile(r"[\t\n ]+")


def harmless(text: str) -> str:
    """Return the text as it may be written to a terminal; what would be obeyed stands there by its code."""
    return _UNSEEN.sub(_code, _COLOURS.sub("", text.replace("\r\n", "\n")))


def one_line(text: str, limit: int = 200) -> str:
    """Return the text as one line of at most `limit` characters, likewise."""
    line = _SPACE.sub(" ", harmless(text[: 4 * limit])).strip()
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def harmless_json(text: str) -> str:
    """Return JSON that means the same, in which no such character stands as itself."""
    return _UNSEEN.sub(_escape, text)


def _code(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
