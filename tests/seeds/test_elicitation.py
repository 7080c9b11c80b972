"""Every block of the document on elicitation runs unchanged, over every transport and revision that asks users."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dedalus_mcp import (
    AskFailed,
    MCPClient,
    MCPServer,
    ServerConfig,
    StdioServer,
    get_context,
    tool,
    types,
)
from dedalus_mcp.errors import ErrorData, McpError
from tests.interaction.raw import Raw, serving
from tests.interaction.reach import PATIENCE, script, text_of, ways
from tests.seeds.blocks import module
from tests.seeds.servers import elicitation
from tests.transports.asgi import Client
from tests.transports.asgi import serving as over_http

MODERN = "2026-07-28"
ASKING = ("2025-06-18", "2025-11-25", MODERN)
ALL = ("2024-11-05", "2025-03-26", *ASKING)

Answer = dict[str, Any] | types.ElicitResult | ErrorData

CANNOT_BE_ASKED = "Client does not advertise the elicitation capability"


def target(transport: str) -> MCPServer | StdioServer:
    return elicitation() if transport == "memory" else script("tests.seeds.servers", ["elicitation"])


class User:
    """Answers the questions in turn, and remembers them."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[types.ElicitRequestParams] = []

    async def __call__(self, params: types.ElicitRequestParams) -> Answer:
        self.asked.append(params)
        return self.answers.pop(0)


def said(action: str) -> types.ElicitResult:
    return types.ElicitResult(action=action)  # type: ignore[arg-type]


YES, NO, AWAY = {"confirm": True}, said("decline"), said("cancel")

OUTCOMES: list[tuple[str, dict[str, Any] | None, list[Answer], str]] = [
    ("deploy", {"env": "prod"}, [YES], "Deployed to prod"),
    ("deploy", {"env": "prod"}, [{"confirm": False}], "Deployment cancelled"),
    ("deploy", {"env": "prod"}, [NO], "Deployment cancelled"),
    ("deploy", {"env": "prod"}, [AWAY], "Deployment cancelled"),
    ("params", None, [{"name": "web", "replicas": 3}], "accept: {'name': 'web', 'replicas': 3}"),
    (
        "actions",
        None,
        [{"name": "web", "replicas": 3, "dry_run": True}],
        "Got: {'name': 'web', 'replicas': 3, 'dry_run': True}",
    ),
    ("actions", None, [NO], "User declined"),
    ("actions", None, [AWAY], "User cancelled"),
    ("create_project", None, [{"name": "abc"}, {"type": "web"}, YES], "abc बनाया गया"),
    ("create_project", None, [NO], "रद्द किया गया"),
    ("create_project", None, [{"name": "abc"}, AWAY], "रद्द किया गया"),
    ("create_project", None, [{"name": "abc"}, {"type": "web"}, {"confirm": False}], "रद्द किया गया"),
]
ERRORS: list[tuple[str, dict[str, Any] | None, list[Answer], str]] = [
    ("error_handling", None, [ErrorData(-1, "user closed")], "Elicitation अनुपलब्ध: user closed"),
    ("code_of_the_error", None, [ErrorData(-1, "user closed", {"at": 3})], "-1 user closed {'at': 3}"),
]
"""What a client can only say where a question is a request: a round of 2026-07-28 carries no errors."""


@ways
@pytest.mark.parametrize("revision", ASKING)
async def test_every_block_does_what_the_document_says(revision: str, transport: str) -> None:
    """ELIC-04, ELIC-20: a question has a message and a schema; each thing a user can do has its own outcome."""
    user = User()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target(transport), revision=revision, elicitation=user) as client:
            for name, arguments, answers, outcome in OUTCOMES if revision == MODERN else OUTCOMES + ERRORS:
                user.answers = list(answers)
                result = await client.call_tool(name, arguments)

                assert (text_of(result), result.isError or False) == (outcome, False)
                assert result.structuredContent == {"result": outcome}
                assert user.answers == []  # all of them were asked for
    hindi = [params.message for params in user.asked if "'abc'" in params.message]
    assert hindi == ["web प्रोजेक्ट 'abc' बनाएं?"] * 2


@ways
@pytest.mark.parametrize("revision", ALL)
async def test_a_client_that_cannot_be_asked_is_told_of_at_once(revision: str, transport: str) -> None:
    """ELIC-03, LIFE-09, B020, META-06: nothing is sent; uncaught, the tool's result or error says why."""
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target(transport), revision=revision) as client:
            if revision == MODERN:
                with pytest.raises(McpError) as raised:
                    await client.call_tool("deploy", {"env": "prod"})
                assert raised.value.code == -32021
                assert raised.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
            else:
                uncaught = await client.call_tool("deploy", {"env": "prod"})
                assert (uncaught.isError, text_of(uncaught)) == (True, CANNOT_BE_ASKED)
            caught = await client.call_tool("error_handling")
            code = await client.call_tool("code_of_the_error")

    assert text_of(caught) == f"Elicitation अनुपलब्ध: {CANNOT_BE_ASKED}"
    assert text_of(code) == f"-32601 {CANNOT_BE_ASKED} None"


async def in_three_rounds(client: Raw | Client) -> list[str]:
    """Create a project, frame by frame; return what was asked, and in the end what came of it."""
    said: list[str] = []
    more: dict[str, Any] = {}
    for id, answer in enumerate([{"name": "abc"}, {"type": "web"}, YES]):
        reply = await client.call(id, "tools/call", name="create_project", arguments={}, **more)
        ((name, question),) = reply["result"]["inputRequests"].items()
        said.append(question["params"]["message"])
        more = {
            "requestState": reply["result"]["requestState"],
            "inputResponses": {name: {"action": "accept", "content": answer}},
        }
    end = await client.call(9, "tools/call", name="create_project", arguments={}, **more)
    return [*said[-1:], end["result"]["content"][0]["text"]]


SAID = ["web प्रोजेक्ट 'abc' बनाएं?", "abc बनाया गया"]


@ways
async def test_three_rounds_of_2026_07_28_run_the_document_once(transport: str) -> None:
    """MRTR-01: seen on the wire."""
    with anyio.fail_after(PATIENCE):
        async with serving(target(transport)) as raw:
            await raw.open(MODERN, {"elicitation": {}})

            assert await in_three_rounds(raw) == SAID


async def test_three_rounds_are_three_requests_over_http_and_what_is_parked_is_freed() -> None:
    server = elicitation()
    async with over_http(server) as web:
        assert await in_three_rounds(await web.open(MODERN, {"elicitation": {}})) == SAID
        assert len(server.parkings.here()) == 0


@pytest.mark.parametrize("revision", ASKING)
async def test_a_timeout_is_an_error_that_the_document_catches(revision: str) -> None:
    async def never(params: types.ElicitRequestParams) -> types.ElicitResult:
        await anyio.sleep_forever()
        raise AssertionError("not reached")

    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(elicitation(timeout=0.0), revision=revision, elicitation=never) as client:
            uncaught = await client.call_tool("deploy", {"env": "prod"})
            code = await client.call_tool("code_of_the_error")

    assert (uncaught.isError, text_of(uncaught)) == (True, "elicitation request timed out")
    assert text_of(code) == "-32603 elicitation request timed out None"


LIMITS: list[tuple[Any, str]] = [
    ({"type": "array"}, "requestedSchema.type must be 'object'"),
    ({"properties": {"a": {"type": "string"}}}, "requestedSchema.type must be 'object'"),
    ({"type": "object"}, "requestedSchema.properties must be a non-empty object"),
    ({"type": "object", "properties": {}}, "requestedSchema.properties must be a non-empty object"),
    ({"type": "object", "properties": {"a": 3}}, "Schema for property 'a' must be an object"),
    (
        {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}},
        "Unsupported schema type 'object' for property 'a'",
    ),
    ({"type": "object", "properties": {"a": {"type": "null"}}}, "Unsupported schema type 'null' for property 'a'"),
    ({"type": "object", "properties": {"a": {}}}, "Unsupported schema type 'None' for property 'a'"),
    (
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}},
        "of property 'a'|for property 'a'",
    ),
]


@pytest.mark.parametrize("revision", ASKING)
async def test_every_limit_of_the_schema_is_kept_before_anything_is_sent(revision: str) -> None:
    """ELIC-04: the four scalar types, flat, and at least one property."""
    found: list[McpError] = []
    server = MCPServer("limits")

    with server.binding():

        @tool
        async def ask_all() -> None:
            for schema, _ in LIMITS:
                with pytest.raises(AskFailed) as failed:
                    await server.request_elicitation(types.ElicitRequestParams(message="?", requestedSchema=schema))
                found.append(failed.value)

    user = User()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(server, revision=revision, elicitation=user) as client:
            assert not (await client.call_tool("ask_all")).isError
    assert [error.code for error in found] == [-32602] * len(LIMITS)
    for error, (_, text) in zip(found, LIMITS, strict=True):
        assert any(part in error.message for part in text.split("|"))
    assert user.asked == []


async def test_outside_of_a_request_there_is_nobody_to_ask() -> None:
    server = elicitation()
    params = types.ElicitRequestParams(
        message="?", requestedSchema={"type": "object", "properties": {"a": {"type": "string"}}}
    )

    with pytest.raises(McpError) as error:
        await server.request_elicitation(params)
    assert error.value.error.code == -32601
    assert isinstance(error.value, RuntimeError)
    with pytest.raises(LookupError, match="No active context; use get_context\\(\\) from within a request handler"):
        get_context()
    with pytest.raises(LookupError):
        await module("elicitation.hi", "deploy")["deploy"]("prod")


def test_people_get_minutes_to_answer() -> None:
    """B013: no hidden minute."""
    timeout = ServerConfig().elicitation.timeout

    assert timeout is None or timeout >= 600
