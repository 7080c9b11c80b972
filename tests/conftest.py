"""What every test gets: both backends for async tests, and examples that are not timed."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says something of the machine, and nothing of the library.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)
