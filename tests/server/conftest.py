"""How hypothesis runs here: no wall-clock deadlines, they fail on busy machines."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("sides", deadline=None, max_examples=150)
settings.load_profile("sides")
