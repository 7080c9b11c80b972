"""The engine's tests run in virtual time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

from tests.virtual_time import virtual

settings.register_profile("engine", deadline=None, max_examples=150)  # a deadline fails on busy machines
settings.load_profile("engine")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual(request.param)
