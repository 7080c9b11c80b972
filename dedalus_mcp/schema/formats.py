"""The four formats of elicitation, checked soundly: what the standards allow always passes.

Layer: L1; imports the standard library only.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ("FORMATS", "SECRET", "is_secret")

# Strings, not compiled: most programs that import this never see a form.
_EMAIL = r"[^\s@]+@[^\s@]+|\"[^\"]+\"@[^\s@]+"
_URI = r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*"
_DATE = r"(\d{4})-(\d{2})-(\d{2})"
_TIME = r"(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|[+-](\d{2}):(\d{2}))"
_TIME_LIMITS = (23, 59, 60, 23, 59)  # a minute may have a leap second


def _email(text: str) -> bool:
    return re.fullmatch(_EMAIL, text) is not None


def _uri(text: str) -> bool:
    return re.fullmatch(_URI, text) is not None


def _date(text: str) -> bool:
    if (match := re.fullmatch(_DATE, text, re.ASCII)) is None:
        return False
    try:
        datetime.date(*map(int, match.groups()))
    except ValueError:
        return False
    return True


def _date_time(text: str) -> bool:
    match = re.fullmatch(_TIME, text[11:], re.ASCII)
    if match is None or text[10] not in "Tt" or not _date(text[:10]):
        return False
    return all(int(part or 0) <= limit for part, limit in zip(match.groups(), _TIME_LIMITS, strict=True))


FORMATS: dict[str, Callable[[str], bool]] = {"email": _email, "uri": _uri, "date": _date, "date-time": _date_time}
"""Each format with its check."""

SECRET = "password"
"""The format that marks a secret.  No form has it."""


def is_secret(schema: Mapping[str, Any]) -> bool:
    """Whether the schema of a property says that its value is a secret."""
    return schema.get("writeOnly") is True or schema.get("format") == SECRET
