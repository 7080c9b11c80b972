"""What every test gets: both backends for async tests, and examples that are not timed."""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import warnings
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says something of the machine, and nothing of the library.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--loop", choices=["asyncio", "uvloop"], default="asyncio", help="whose event loop asyncio takes")


def pytest_configure(config: pytest.Config) -> None:
    """No width of a terminal, which whoever runs this may have set; and the event loop that was asked for.

    A policy, because it reaches the loops that tests and threads start for themselves, too.
    """
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    if config.getoption("--loop") == "uvloop":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # since Python 3.14
            policy = importlib.import_module("uvloop").EventLoopPolicy()
            asyncio.set_event_loop_policy(policy)  # pyright: ignore[reportDeprecated]


def pytest_collection_finish() -> None:
    """The tests are a million objects that stay: no collection, of which tests ask for many, need look at them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: half of a test is waiting."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What a test has printed goes to another process, which takes no half of a surrogate pair."""
    report = yield
    report.sections = [(title, text.encode(errors="backslashreplace").decode()) for title, text in report.sections]
    return report


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)
