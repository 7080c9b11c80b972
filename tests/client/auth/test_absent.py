"""Who pays for authorization: only those who use it, and for signatures only those who sign."""

from __future__ import annotations

from tests.test_layers import loaded


def test_a_client_that_signs_nobody_in_loads_nothing_of_it() -> None:
    """B142."""
    found = loaded("import dedalus_mcp; dedalus_mcp.MCPClient; dedalus_mcp.StdioServer; dedalus_mcp.StreamableHttp")

    assert found & {"httpx", "joserfc", "cryptography", "webbrowser"} == set()


def test_signing_in_works_without_the_extra() -> None:
    found = loaded(
        "sys.modules['joserfc'] = sys.modules['cryptography'] = None\n"
        "from dedalus_mcp.client.auth import AuthorizationCodeAuth, ClientCredentialsAuth\n"
        "AuthorizationCodeAuth(); ClientCredentialsAuth(client_id='me', client_secret='secret')"
    )

    assert "httpx" in found
