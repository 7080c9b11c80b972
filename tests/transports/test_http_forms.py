"""The form of the answer to one POST, over the application itself."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from dedalus_mcp import Context, McpError, MCPServer, tool, types
from dedalus_mcp.types.meta import CLIENT_CAPABILITIES_KEY, LOG_LEVEL_KEY, PROTOCOL_VERSION_KEY
from dedalus_mcp.types.revisions import MODERN

FORMS: list[dict[str, Any]] = [{}, {"always_stream": True}, {"json_only": True}]


@tool
async def fail(code: int, context: Context) -> str:
    await context.info("about to fail")
    raise McpError(code, "of its own")


async def post(
    settings: dict[str, Any], method: str, params: dict[str, Any], meta: dict[str, Any] | None = None
) -> tuple[int, str, list[Any]]:
    """The status, the media type and the messages that a modern request is answered with."""
    server = MCPServer("channel")
    server.collect(fail)
    stamp: dict[str, Any] = {PROTOCOL_VERSION_KEY: MODERN[-1], CLIENT_CAPABILITIES_KEY: {}, **(meta or {})}
    sent = {
        "MCP-Protocol-Version": MODERN[-1],
        "Mcp-Method": method,
        **({"Mcp-Name": params["name"]} if "name" in params else {}),
    }
    transport = httpx.ASGITransport(server.asgi_app(**settings))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": stamp}}
        answer = await client.post("/mcp", json=body, headers=sent)
    media = answer.headers["content-type"]
    if media == "application/json":
        return answer.status_code, media, [answer.json()]
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    return answer.status_code, media, [json.loads(line) for line in lines]


@pytest.mark.parametrize("settings", FORMS)
@pytest.mark.parametrize(
    ("code", "status"),
    [
        (types.METHOD_NOT_FOUND, 404),
        (types.INVALID_PARAMS, 400),
        (types.MISSING_REQUIRED_CLIENT_CAPABILITY, 400),
    ],
)
async def test_an_error_that_comes_first_has_its_http_status_in_every_form(
    settings: dict[str, Any], code: int, status: int
) -> None:
    """HTTP-60."""
    found = await post(settings, "tools/call", {"name": "fail", "arguments": {"code": code}})

    assert found[:2] == (status, "application/json")
    assert [message["error"]["code"] for message in found[2]] == [code]


@pytest.mark.parametrize("settings", FORMS)
async def test_an_unknown_method_is_404_in_every_form(settings: dict[str, Any]) -> None:
    """HTTP-60."""
    status, _, (message,) = await post(settings, "no/such", {})

    assert (status, message["id"], message["error"]["code"]) == (404, 1, types.METHOD_NOT_FOUND)


@pytest.mark.parametrize("settings", FORMS)
async def test_what_has_no_status_of_its_own_takes_the_form_that_was_set(settings: dict[str, Any]) -> None:
    media = "text/event-stream" if "always_stream" in settings else "application/json"

    assert (await post(settings, "tools/list", {}))[:2] == (200, media)
    assert (await post(settings, "tools/call", {"name": "fail", "arguments": {"code": -32050}}))[:2] == (200, media)


async def test_an_error_after_a_notice_is_on_the_stream_that_has_begun() -> None:
    params = {"name": "fail", "arguments": {"code": types.METHOD_NOT_FOUND}}
    status, media, messages = await post({}, "tools/call", params, {LOG_LEVEL_KEY: "info"})

    assert (status, media) == (200, "text/event-stream")
    assert [message.get("method", "reply") for message in messages] == ["notifications/message", "reply"]
