"""What is checked of a server, and what came out.

    Check ──failed("...")──▶ Finding      what was seen, what is legal, where that is said, how to mend it

Layer: L6; no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ("Check", "Finding", "Outcome", "several")

Outcome: TypeAlias = Literal["passed", "failed", "warned", "skipped"]
"""`failed` breaks what has to be; `warned` is against advice, or hurts somebody."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is looked at.

    Attributes:
        id: Its name.
        legal: What a server does.
        source: Where that is said: revision and section.
        rule: The requirement's id in this project's list.
        remedy: How to mend it.
    """

    id: str
    legal: str
    source: str
    rule: str
    remedy: str

    def passed(self, seen: str = "", revision: str | None = None) -> Finding:
        """Return that it is as it should be."""
        return Finding(self, "passed", seen, revision)

    def failed(self, seen: str, revision: str | None = None) -> Finding:
        """Return that it is not."""
        return Finding(self, "failed", seen, revision)

    def warned(self, seen: str, revision: str | None = None) -> Finding:
        """Return that it should be otherwise."""
        return Finding(self, "warned", seen, revision)

    def skipped(self, why: str, revision: str | None = None) -> Finding:
        """Return that it was not looked at."""
        return Finding(self, "skipped", why, revision)


@dataclass(frozen=True, slots=True)
class Finding:
    """What came out of a check.

    Attributes:
        check: The check.
        outcome: What it says.
        seen: What was seen, in words; it may repeat words of the server.
        revision: The revision that was spoken; None where it does not matter.
    """

    check: Check
    outcome: Outcome
    seen: str
    revision: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what a script reads."""
        check = self.check
        return {
            "id": check.id,
            "outcome": self.outcome,
            "revision": self.revision,
            "seen": self.seen,
            "legal": check.legal,
            "source": check.source,
            "rule": check.rule,
            "remedy": check.remedy,
        }


def several(faults: Sequence[str], limit: int = 3) -> str:
    """Return faults as one text: the first of them, and how many there are more."""
    more = len(faults) - limit
    return "; ".join(faults[:limit]) + (f"; and {more} more" if more > 0 else "")
