"""A server that is restarted while clients are connected to it: they go on with the new one."""

from __future__ import annotations

import signal
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from dedalus_mcp import MCPClient, SessionExpiredError
from tests.interaction.reach import PATIENCE, Heard, text_of
from tests.process.test_http_servers import running

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_a_client_goes_on_with_a_server_that_was_restarted(
    revision: str, number: signal.Signals, tmp_path: Path
) -> None:
    """B067: a session that was lost with it is begun anew, and who wants to know of that is told."""
    lost = Heard[SessionExpiredError]()
    with running("uvicorn", "app", tmp_path / "first") as first:
        url = f"http://127.0.0.1:{first.port}/mcp"
        async with MCPClient.connect(url, revision=revision, on_session_lost=lost, tools_list_changed=print) as client:
            assert text_of(await client.call_tool("echo", {"text": "before"})) == "before"
            first.process.send_signal(number)
            await to_thread.run_sync(first.ends)
            with running("uvicorn", "app", tmp_path / "second", port=first.port), anyio.fail_after(PATIENCE):
                assert text_of(await client.call_tool("echo", {"text": "after"})) == "after"
                if revision != "2026-07-28":
                    await lost.wait(1)
                await client.close()
    assert len(lost.values) == (revision != "2026-07-28")
