"""What is secret is compared in a time that tells nothing of it, and made of what nobody can guess."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from dedalus_mcp.auth import dpop_validator
from dedalus_mcp.client.auth.authorization_request import is_for
from dedalus_mcp.server.binding import Binding
from dedalus_mcp_transports.http_running import Running
from dedalus_mcp_transports.http_seal import SessionSeal
from dedalus_mcp_transports.http_session import Sessions
from tests.sources import modules

FOR_WAITS = {"dedalus_mcp.server.heartbeat", "dedalus_mcp.client.patience", "dedalus_mcp_transports.http_stream"}


@pytest.mark.parametrize(
    "compares",
    [Sessions[Any].get, SessionSeal.open, Running[Any].asked, Binding.check, is_for, dpop_validator],
    ids=lambda each: str(getattr(each, "__qualname__", "proof")),
)
def test_a_secret_is_compared_in_constant_time(compares: Any) -> None:
    assert "compare_digest(" in inspect.getsource(compares)


def test_numbers_that_can_be_guessed_are_for_waits_alone() -> None:
    """SEC-02, SEC-04."""
    assert {name for name, path in modules() if "import random" in path.read_text()} <= FOR_WAITS
