"""The routes: each method of the protocol is answered in one way, or in none."""

from __future__ import annotations

from dedalus_mcp.server.routes import AT_ONCE, HANDLED
from dedalus_mcp.types.methods import REQUESTS


def test_every_route_is_a_method_that_clients_call() -> None:
    for method in (*AT_ONCE, *HANDLED):
        assert REQUESTS[method].client_sends


def test_no_method_has_two_routes() -> None:
    assert not AT_ONCE.keys() & HANDLED.keys()
