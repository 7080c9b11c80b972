"""`told`: whatever goes wrong on the way is one error that names the proxy, and little of what the upstream says."""

from __future__ import annotations

import pytest

from dedalus_mcp.errors import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ConnectionLost,
    McpError,
    RemoteProtocolError,
    RequestTimeout,
)
from dedalus_mcp.proxies.failures import told


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (ConnectionLost("exit code 3"), CONNECTION_CLOSED, "is gone: exit code 3"),
        (ConnectionRefusedError("refused"), CONNECTION_CLOSED, "cannot be reached: refused"),
        (RequestTimeout("tools/call", 3), INTERNAL_ERROR, "did not answer in time: no answer to 'tools/call' within 3"),
        (RemoteProtocolError("no object"), INTERNAL_ERROR, "answer is not legal: no object"),
    ],
)
def test_a_failure_on_the_way_names_the_proxy_and_the_reason(error: Exception, code: int, says: str) -> None:
    with pytest.raises(McpError) as raised, told("front", modern=True, masked=False):
        raise error

    assert raised.value.code == code
    assert raised.value.message.startswith("'front': the upstream server")
    assert says in raised.value.message


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ConnectionLost("'/opt/python' exited; the end of its stderr: password"), "is gone"),
        (ConnectionRefusedError("http://10.0.0.1:80/"), "cannot be reached"),
    ],
)
def test_why_a_connection_was_lost_is_for_the_log_alone_where_errors_are_masked(
    error: Exception, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(McpError) as raised, told("front", modern=True, masked=True):
        raise error

    assert raised.value.message == f"'front': the upstream server {says}"
    assert f"'front': the upstream server {says}: {error}" in caplog.text


def test_the_servers_own_error_stays_as_it_is() -> None:
    error = McpError(-31999, "m", {"a": 1})
    with pytest.raises(McpError) as raised, told("front", modern=False, masked=True):
        raise error

    assert raised.value is error


@pytest.mark.parametrize(("modern", "code"), [(True, MISSING_REQUIRED_CLIENT_CAPABILITY), (False, METHOD_NOT_FOUND)])
def test_a_code_that_only_2026_07_28_has_is_another_elsewhere(modern: bool, code: int) -> None:
    """RPC-27."""
    with pytest.raises(McpError) as raised, told("front", modern=modern, masked=True):
        raise McpError(MISSING_REQUIRED_CLIENT_CAPABILITY, "needs sampling", {"requiredCapabilities": {}})

    assert raised.value.code == code
