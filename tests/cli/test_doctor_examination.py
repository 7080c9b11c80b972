"""The doctor finds what is broken, and nothing else: one server for each check, and one that is well."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import httpx
import pytest

from dedalus_mcp import StdioServer
from dedalus_mcp.cli import doctor_auth, doctor_http
from dedalus_mcp.cli.doctor_examination import CHECKS, examine
from dedalus_mcp.cli.doctor_findings import Finding
from dedalus_mcp.client.auth import BearerAuth
from dedalus_mcp_transports.http_client import StreamableHttp
from tests.cli.desk import desk
from tests.cli.patient import BROKEN_TOOLS, Ward, app
from tests.sources import PACKAGES, ROOT

URL = "http://127.0.0.1/mcp"
PATHS = {**os.environ, "PYTHONPATH": os.pathsep.join(str(root) for root in (ROOT, *PACKAGES.values()))}
QUICK = 0.5
"""Seconds of patience with servers that answer at once, or never."""

ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For what starts many children: the loop is the transport's affair, and tested there."""

FAULTS = [
    *BROKEN_TOOLS,
    "bad-cursor",
    "caching",
    "caching:scope",
    "cancel-unknown",
    "capabilities",
    "capabilities:logging",
    "discover",
    "envelope",
    "ids",
    "initialize",
    "malformed",
    "malformed:silent",
    "negotiation",
    "negotiation:refused",
    "notifications",
    "order",
    "pages",
    "pages:type",
    "ping",
    "ping:full",
    "reach",
    "reach:silent",
    "results",
    "results:missing",
    "results:slow",
    "results:slow",
    "server-requests",
    "unique-names:arguments",
    "unknown-method",
    "unknown-prompt",
    "unknown-prompt:code",
    "unknown-resource",
    "unknown-resource:code",
    "unknown-tool",
    "unknown-tool:code",
    "unsupported-version",
]
"""Of any transport: each named for the check that finds it."""

FAULTS_OF_HTTP = [
    "http-accept",
    "http-body-type",
    "http-content-type",
    "http-cors",
    "http-delete",
    "http-get",
    "http-host",
    "http-mirrored-headers",
    "http-mirrored-headers:code",
    "http-mirrored-headers:code",
    "http-notification",
    "http-origin",
    "http-session-id",
    "http-session-needed",
    "http-session-unknown",
    "http-version",
    "malformed",
    "unknown-method",
]


def bad(findings: Sequence[Finding]) -> set[str]:
    return {finding.check.id for finding in findings if finding.outcome in ("failed", "warned")}


def told(findings: Sequence[Finding]) -> list[str]:
    return [f"{each.check.id}: {each.seen}" for each in findings if each.outcome in ("failed", "warned")]


async def at_a_url(fault: str = "", token: str | None = None, url: str = URL) -> list[Finding]:
    auth = None if token is None else BearerAuth(token)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app(fault))) as client:
        return await examine(StreamableHttp(url, http_client=client, auth=auth), patience=QUICK)


def outcomes(findings: Sequence[Finding], start: str) -> dict[str, str]:
    return {each.check.id: each.outcome for each in findings if each.check.id.startswith(start)}


async def test_a_server_of_ours_passes_in_memory() -> None:
    findings = await examine(desk(), calls=True)

    assert told(findings) == []
    assert {each.revision for each in findings if each.check.id == "revisions" and each.outcome == "passed"} == {
        "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
    }  # fmt: skip


async def test_a_server_that_keeps_the_rules_passes_on_every_transport() -> None:
    assert told(await examine(Ward(), calls=True)) == []
    assert told(await at_a_url()) == []


@pytest.mark.parametrize("fault", FAULTS)
async def test_what_is_broken_is_found_and_nothing_else(fault: str) -> None:
    findings = await examine(Ward(fault), patience=QUICK, calls=True)

    assert bad(findings) == {fault.partition(":")[0]}, told(findings)


@pytest.mark.parametrize("fault", FAULTS_OF_HTTP)
async def test_what_is_broken_over_http_is_found_and_nothing_else(fault: str) -> None:
    findings = await at_a_url(fault)

    assert bad(findings) == {fault.partition(":")[0]}, told(findings)


async def test_a_schema_that_it_takes_hours_to_check_by_holds_nobody_up() -> None:
    assert told(await examine(Ward("endless"), patience=QUICK, calls=True)) == []


def test_every_check_has_a_server_that_breaks_it() -> None:
    found = {fault.partition(":")[0] for fault in (*FAULTS, *FAULTS_OF_HTTP)}
    elsewhere = {"revisions", "messages", "stdout", "older-transport", *(check.id for check in doctor_auth.CHECKS)}

    assert {check.id for check in (*CHECKS, *doctor_http.CHECKS)} - elsewhere == found - elsewhere
    assert elsewhere & found == set()


async def test_messages_that_are_none_are_found() -> None:
    assert bad(await examine(Ward("messages"), patience=QUICK)) == {"revisions", "messages"}


async def test_what_is_no_server_at_all_is_told() -> None:
    """LIFE-03: a web page answers too."""
    async with httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(404))) as client:
        findings = await examine(StreamableHttp(URL, http_client=client), patience=QUICK)

    assert bad(findings) == {"revisions"}


async def test_a_host_that_is_not_there_is_told() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    async with httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as client:
        findings = await examine(StreamableHttp(URL, http_client=client), patience=QUICK)

    assert told(findings) == ["reach: 2026-07-28: the connection ended: ConnectError: refused; and 4 more"]


async def test_a_server_that_wants_a_token_is_examined_with_one() -> None:
    findings = await at_a_url("locked", "right")

    assert told(findings) == []
    assert set(outcomes(findings, "auth-").values()) == {"passed"}


@pytest.mark.parametrize("token", [None, "wrong"])
async def test_without_the_right_token_it_is_said_that_one_is_wanted(token: str | None) -> None:
    findings = await at_a_url("locked", token)

    assert told(findings) == []
    assert outcomes(findings, "") == {
        "reach": "passed",
        "auth-challenge": "passed",
        "auth-metadata": "passed",
        "auth-resource": "passed",
        "revisions": "skipped",
    }


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("locked:auth-challenge", {"auth-challenge"}),
        ("locked:auth-metadata", {"auth-metadata", "auth-resource"}),
        ("locked:auth-resource", {"auth-resource"}),
    ],
)
async def test_a_server_that_does_not_say_where_tokens_come_from_is_found(fault: str, found: set[str]) -> None:
    assert bad(await at_a_url(fault, "right")) == found


async def test_tools_are_not_called_unless_that_is_wanted() -> None:
    assert outcomes(await examine(Ward("results")), "results") == {}


async def test_the_host_of_a_server_elsewhere_is_left_alone() -> None:
    findings = await at_a_url("http-host", url="http://mcp.example/mcp")

    assert outcomes(findings, "http-host") == {"http-host": "skipped"}


@ASYNCIO
async def test_a_child_that_dies_of_a_malformed_line_is_found_and_the_rest_is_examined() -> None:
    command = StdioServer(sys.executable, ["-m", "tests.cli.patient", "malformed"], env=PATHS, cwd=ROOT)

    findings = await examine(command)

    assert bad(findings) == {"malformed"}, told(findings)
    assert outcomes(findings, "stdout") == {"stdout": "passed"}


async def test_a_command_that_does_not_start_is_told_with_its_last_words() -> None:
    findings = await examine(StdioServer("sh", ["-c", "echo boom >&2; exit 3"]))

    assert len(told(findings)) == 1
    assert "reach" in told(findings)[0]
    assert "boom" in told(findings)[0]
    assert told(await examine(StdioServer("no-such-program")))[0].startswith("reach: ")


async def test_a_session_id_that_cannot_be_sent_is_found() -> None:
    assert "http-session-id" in bad(await at_a_url("http-session-id:bytes"))


async def test_a_redirect_to_the_same_origin_is_followed_as_clients_do() -> None:
    inner = httpx.ASGITransport(app())

    class Moved(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if request.url.path == "/mcp":
                return httpx.Response(307, headers={"location": "/mcp/"})
            return await inner.handle_async_request(request)

    async with httpx.AsyncClient(transport=Moved()) as client:
        assert told(await examine(StreamableHttp(URL, http_client=client), patience=QUICK)) == []


@pytest.mark.parametrize("location", ["https://elsewhere.example/mcp", "/mcp", "http://[", ""])
async def test_other_redirects_are_not_followed(location: str) -> None:
    def move(request: httpx.Request) -> httpx.Response:
        assert request.url.host == "127.0.0.1"
        return httpx.Response(307, headers={"location": location})

    async with httpx.AsyncClient(transport=httpx.MockTransport(move)) as client:
        assert bad(await examine(StreamableHttp(URL, http_client=client), patience=QUICK)) == {"revisions"}
