"""Whether a server that lets in nobody without a token says where tokens come from.

Layer: L6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dedalus_mcp.cli.doctor_answers import items, members, said
from dedalus_mcp.cli.doctor_findings import Check, Finding
from dedalus_mcp.cli.doctor_http_line import Web
from dedalus_mcp.cli.doctor_visit import INFO, frame_of
from dedalus_mcp.client.auth.challenge import token_challenge
from dedalus_mcp.client.auth.well_known import is_within, origin, resource_metadata_urls
from dedalus_mcp.types.revisions import LATEST_LEGACY

__all__ = ("CHECKS", "who_needs_a_token")

CHALLENGE = Check(
    "auth-challenge",
    "Status 401 comes with a `WWW-Authenticate` that challenges for a token.",
    "MCP 2026-07-28, basic/authorization, Protected Resource Metadata",
    "AUTH-03",
    'Answer `WWW-Authenticate: Bearer resource_metadata="https://..."`.',
)
METADATA = Check(
    "auth-metadata",
    "The metadata of the protected resource can be read, and name an authorization server at least.",
    "MCP 2026-07-28, basic/authorization/authorization-server-discovery; RFC 9728",
    "AUTH-02",
    "Serve it below /.well-known/oauth-protected-resource, or where the challenge says, to everybody.",
)
RESOURCE = Check(
    "auth-resource",
    "The metadata's `resource` is this server's URL, or one above it.",
    "RFC 9728, 3.3",
    "AUTH-18",
    "Write the URL there under which clients reach the server.",
)
CHECKS = (CHALLENGE, METADATA, RESOURCE)


async def who_needs_a_token(web: Web) -> tuple[list[Finding], bool]:
    """Ask without any credentials; whether those that we have are refused as well."""
    params = {"protocolVersion": LATEST_LEGACY, "capabilities": {}, "clientInfo": INFO}
    frame = frame_of({"id": "doctor", "method": "initialize", "params": params})
    bare = await web.request("POST", frame, bare=True)
    if bare.status != 401:
        return [check.skipped("the server lets in who has no token") for check in CHECKS], False
    header = bare.headers.get("www-authenticate")
    challenge = token_challenge(header or "")
    findings = [CHALLENGE.failed(f"WWW-Authenticate: {said(header)}")]
    if challenge is not None:
        findings = [CHALLENGE.passed(challenge.scheme)]
    named = None if challenge is None else challenge.resource_metadata
    found, seen = await _metadata(web, named)
    servers = items(found.get("authorization_servers"))
    if servers:
        findings.append(METADATA.passed(f"authorization_servers {said(servers)}"))
    else:
        findings.append(METADATA.failed(f"{seen}; authorization_servers {said(found.get('authorization_servers'))}"))
    resource = found.get("resource")
    if isinstance(resource, str) and is_within(web.target.url, resource):
        findings.append(RESOURCE.passed(resource))
    else:
        findings.append(RESOURCE.failed(f"resource {said(resource)}"))
    ours = await web.request("POST", frame)
    return findings, ours.status == 401


async def _metadata(web: Web, named: str | None) -> tuple[Mapping[str, Any], str]:
    """Return the metadata, and what came where there are none."""
    seen = "there is no such document"
    for url in (named,) if named is not None else resource_metadata_urls(web.target.url):
        if not _may_be_asked(web, url):
            return {}, f"{said(url)} is at another place than the server, and not https"
        answer = await web.request("GET", headers={"accept": "application/json"}, bare=True, url=url)
        seen = f"{said(url)}: {answer}"
        found = members(_decoded(answer.body))
        if answer.status == 200 and found:
            return found, seen
    return {}, seen


def _may_be_asked(web: Web, url: str) -> bool:
    try:
        return url.startswith("https://") or origin(url) == origin(web.target.url)
    except ValueError:
        return False


def _decoded(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
