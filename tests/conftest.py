"""What every test gets: both backends for async tests, and examples that are not timed."""

from __future__ import annotations

import asyncio
import importlib
import warnings

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says something of the machine, and nothing of the library.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--loop", choices=["asyncio", "uvloop"], default="asyncio", help="whose event loop asyncio takes")


def pytest_configure(config: pytest.Config) -> None:
    """A policy, because it reaches the loops that tests and threads start for themselves, too."""
    if config.getoption("--loop") == "uvloop":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # since Python 3.14
            policy = importlib.import_module("uvloop").EventLoopPolicy()
            asyncio.set_event_loop_policy(policy)  # pyright: ignore[reportDeprecated]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)
