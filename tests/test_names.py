"""Names that stand where version 0.7 had them, beside their own homes; none costs who does not use it."""

from __future__ import annotations

from importlib import import_module

import pytest

import dedalus_mcp.client
from dedalus_mcp import errors
from dedalus_mcp.auth import dpop, dpop_proof, dpop_validator
from dedalus_mcp.auth.dpop import BearerAuth, DPoPAuth, generate_dpop_keypair
from dedalus_mcp.client import auth
from dedalus_mcp.client.client import MCPClient
from tests.test_layers import UNNEEDED, loaded

HOMES = {
    "dedalus_mcp.auth.dpop": {
        "BearerAuth": auth,
        "DPoPAuth": auth,
        "DPoPExpiredError": dpop_validator,
        "DPoPMethodMismatchError": dpop_validator,
        "DPoPNonceMismatchError": dpop_validator,
        "DPoPProofResult": dpop_validator,
        "DPoPReplayError": dpop_validator,
        "DPoPThumbprintMismatchError": dpop_validator,
        "DPoPUrlMismatchError": dpop_validator,
        "DPoPValidationError": dpop_validator,
        "DPoPValidator": dpop_validator,
        "DPoPValidatorConfig": dpop_validator,
        "InvalidDPoPProofError": dpop_validator,
        "compute_access_token_hash": dpop_proof,
        "compute_jwk_thumbprint": dpop_proof,
        "generate_dpop_keypair": dpop_proof,
        "generate_dpop_proof": dpop_proof,
    },
    "dedalus_mcp.client": {
        "AuthRequiredError": errors,
        "BadRequestError": errors,
        "BearerAuth": auth,
        "DPoPAuth": auth,
        "ForbiddenError": errors,
        "MCPClient": import_module("dedalus_mcp.client.client"),
        "MCPConnectionError": errors,
        "ServerError": errors,
        "SessionExpiredError": errors,
        "TransportError": errors,
        "generate_dpop_proof": dpop_proof,
    },
    "dedalus_mcp.client.auth": {"generate_dpop_proof": dpop_proof},
}


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in HOMES.items() for name in names])
def test_a_name_of_version_0_7_is_the_one_that_is_used_here(module: str, name: str) -> None:
    assert getattr(import_module(module), name) is getattr(HOMES[module][name], name)


def test_names_are_imported_as_any_others_are() -> None:
    """By a checker of types too, to which they are what they are."""
    key, _ = generate_dpop_keypair()
    proven: DPoPAuth = DPoPAuth("token", key)
    plain: BearerAuth = BearerAuth("token")

    assert proven.thumbprint == key.thumbprint
    assert repr(plain) == "BearerAuth(no server yet)"
    assert dedalus_mcp.client.MCPClient is MCPClient


@pytest.mark.parametrize("module", [dpop, dedalus_mcp.client], ids=lambda module: module.__name__)
def test_names_are_listed_before_they_are_loaded(module: object) -> None:
    """For those who complete names as they are typed."""
    assert {"BearerAuth", "DPoPAuth"} <= set(dir(module))


@pytest.mark.parametrize("module", [dpop, dedalus_mcp.client], ids=lambda module: module.__name__)
def test_what_is_not_there_is_an_attribute_error_that_names_it(module: object) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'DPopAuth'"):
        getattr(module, "DPopAuth")  # noqa: B009 - what a checker would refuse


def test_a_server_that_checks_proofs_and_a_client_of_local_servers_load_nothing_for_http() -> None:
    """B142."""
    program = """
from dedalus_mcp.auth.dpop import DPoPReplayError, DPoPValidator, generate_dpop_proof
from dedalus_mcp.client import MCPClient, MCPConnectionError
DPoPValidator()
"""
    assert loaded(program) & UNNEEDED == set()
    assert "httpx" in loaded(f"{program}\nfrom dedalus_mcp.auth.dpop import BearerAuth")
