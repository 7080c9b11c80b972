"""The revisions of the protocol, and what each one's readers know.

Inside, one model holds the members of all revisions.  On its way out a value is shaped for
its reader, here and nowhere else, by the tables below:

    value ──shape──▶ members that the reader does not know are gone, blocks it does not know
                     are text ──complete──▶ members that it requires are there

Layer: L1; imports the families only.
Source: `schema.ts` of all five revisions.
"""

from __future__ import annotations

from typing import Final, TypeAlias

__all__ = (
    "LATEST",
    "LATEST_LEGACY",
    "LEGACY",
    "MODERN",
    "REVISIONS",
    "V2024_11_05",
    "V2025_03_26",
    "V2025_06_18",
    "V2025_11_25",
    "V2026_07_28",
    "Revision",
)

Revision: TypeAlias = str
"""A date; comparing two as strings compares their age."""

V2024_11_05: Final = "2024-11-05"
V2025_03_26: Final = "2025-03-26"
V2025_06_18: Final = "2025-06-18"
V2025_11_25: Final = "2025-11-25"
V2026_07_28: Final = "2026-07-28"

LEGACY: Final = (V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25)
"""With the `initialize` handshake, oldest first."""
MODERN: Final = (V2026_07_28,)
"""Every request stands alone, oldest first."""
REVISIONS: Final = (*LEGACY, *MODERN)
"""All of them, oldest first."""
LATEST_LEGACY: Final = LEGACY[-1]
LATEST: Final = REVISIONS[-1]
