"""The server within FastAPI: tokens, what they are for, whose notes they show, and how clients learn who gives them."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from dedalus_mcp import AuthRequiredError, ForbiddenError, MCPClient
from dedalus_mcp.client import BearerAuth
from dedalus_mcp.types import ElicitRequestParams
from tests.examples.programs import command, listening
from tests.interaction.reach import PATIENCE
from tests.process.ports import free_port

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

READER, WRITER, STRANGER = ["notes:read"], ["notes:read", "notes:write"], ["mail:read"]


@dataclass(frozen=True, slots=True)
class Running:
    url: str
    grants: Path
    log: Path
    process: subprocess.Popen[bytes]

    def grant(self, **scopes: list[str]) -> None:
        """Let these tokens, each the name of its user, be good for that; no other is good for anything."""
        made = {
            hashlib.sha256(f"token-of-{user}".encode()).hexdigest(): {"user": user, "scopes": each}
            for user, each in scopes.items()
        }
        self.grants.write_text(json.dumps(made))

    def client(self, user: str, **settings: Any) -> Any:
        return MCPClient.connect(f"{self.url}/notes/mcp", auth=BearerAuth(f"token-of-{user}"), **settings)


@pytest.fixture
def running(tmp_path: Path) -> Generator[Running]:
    port, grants, log = free_port(), tmp_path / "grants.json", tmp_path / "log"
    url = f"http://127.0.0.1:{port}"
    with listening(command("notes.py", str(port)), port, log, NOTES_GRANTS=str(grants), NOTES_URL=url) as process:
        running = Running(url, grants, log, process)
        running.grant()
        yield running


def yes(params: ElicitRequestParams) -> dict[str, bool]:
    return {"confirm": True}


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_each_user_has_notes_of_their_own_and_is_asked_before_they_go(running: Running, revision: str) -> None:
    running.grant(ann=WRITER, bob=WRITER)
    async with (
        running.client("ann", revision=revision, elicitation=yes) as ann,
        running.client("bob", revision=revision) as bob,
    ):
        await ann.call_tool("add_note", {"text": "milk"}, raise_on_error=True)
        assert (await ann.call_tool("list_notes")).structuredContent == {"result": ["milk"]}
        assert (await bob.call_tool("list_notes")).structuredContent == {"result": []}
        assert (await bob.call_tool("clear_notes")).structuredContent == {"result": 0}
        assert (await ann.call_tool("clear_notes")).structuredContent == {"result": 1}
        assert (await ann.call_tool("list_notes")).structuredContent == {"result": []}


async def test_who_may_only_read_sees_no_tool_that_writes(running: Running) -> None:
    running.grant(ann=READER)
    async with running.client("ann") as client:
        assert [each.name for each in (await client.list_tools()).tools] == ["list_notes"]
        refused = await client.call_tool("add_note", {"text": "milk"})
        assert refused.isError
        assert (await client.call_tool("list_notes")).structuredContent == {"result": []}


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_a_token_that_is_taken_back_ends_a_session_at_once(running: Running, revision: str) -> None:
    running.grant(ann=WRITER)
    async with running.client("ann", revision=revision) as client:
        await client.call_tool("list_notes", raise_on_error=True)
        running.grant()
        with pytest.raises(AuthRequiredError):
            await client.call_tool("list_notes")
        running.grant(ann=WRITER)


async def test_without_a_token_the_answer_leads_to_who_gives_them(running: Running) -> None:
    """RFC 9728: the challenge names the metadata, and they name the resource as clients call it."""
    with pytest.raises(AuthRequiredError) as caught:
        async with running.client("nobody") as client:
            await client.list_tools()
    where = (caught.value.www_authenticate or "").partition('resource_metadata="')[2].partition('"')[0]

    async with httpx.AsyncClient(trust_env=False) as http:
        assert (await http.get(where)).json() == {
            "resource": f"{running.url}/notes/mcp",
            "authorization_servers": ["https://login.example.com"],
            "scopes_supported": ["notes:read", "notes:write"],
        }
        assert (await http.get(f"{running.url}/health")).json() == {"users": 0}


async def test_a_token_for_something_else_is_forbidden_and_told_what_it_lacks(running: Running) -> None:
    running.grant(ann=STRANGER)
    with pytest.raises(ForbiddenError) as caught:
        async with running.client("ann") as client:
            await client.list_tools()

    assert 'error="insufficient_scope"' in (caught.value.www_authenticate or "")


async def test_it_ends_at_once_when_it_is_told_to(running: Running) -> None:
    running.grant(ann=WRITER)
    async with running.client("ann") as client:
        await client.list_tools()
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE) in {0, -signal.SIGTERM}
    assert "Traceback" not in running.log.read_text()
