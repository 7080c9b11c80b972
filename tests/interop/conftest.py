"""Every test in this folder needs other people's programs: mark it, and see that they are here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.install import MCP1, MCP2, NPM, TYPESCRIPT, home
from tests.interop.peers import Inspector, Mcpdo, bring


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.interop)


@pytest.fixture(scope="session", autouse=True)
def peers() -> None:
    bring(home(MCP1), home(MCP2), home(*NPM), home(*TYPESCRIPT))


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Inspector:
    return Inspector(tmp_path_factory.mktemp("inspector"))


@pytest.fixture(scope="module")
def mcpdo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mcpdo]:
    mcpdo = Mcpdo(tmp_path_factory.mktemp("mcpdo"))
    yield mcpdo
    mcpdo.stop()


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One event loop will do: what a peer sends does not depend on ours, and each costs a process."""
    return "asyncio"
