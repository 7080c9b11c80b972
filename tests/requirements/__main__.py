"""Take from `untested.txt` what the tests name by now."""

from __future__ import annotations

from tests.requirements import listed, shrink

print(f"{len(shrink())} more rules have a test; {len(listed('untested'))} of {len(listed('musts'))} have none yet")
