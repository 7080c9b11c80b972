"""Listen streams of server processes: changes reach them, and the end of the process ends them in good order."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.interaction.raw import envelope
from tests.process.child import Child, child
from tests.process.http_client import Stream, client_at
from tests.process.test_http_servers import running as serving_http
from tests.process.test_server_end import BUSY, ENDED, SOON

ID = "io.modelcontextprotocol/subscriptionId"
RESOURCES = "tests.interaction.resource_server"


def ask(running: Child, id: Any, method: str, **params: Any) -> None:
    running.say(id=id, method=method, params={**params, "_meta": envelope()})


def listening(running: Child, id: Any, **kinds: Any) -> dict[str, Any]:
    """Open a stream and return what is granted."""
    ask(running, id, "subscriptions/listen", notifications=kinds)
    first = running.hear()
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["_meta"][ID] == id
    return dict(first["params"]["notifications"])


def test_several_streams_share_a_pipe_and_each_hears_its_own() -> None:
    """SUB-01, SUB-05, SUB-07, SUB-08: one is cancelled, and the other goes on."""
    with child(RESOURCES) as running:
        assert listening(running, 1, resourceSubscriptions=["demo://text"]) == {
            "resourceSubscriptions": ["demo://text"]
        }
        listening(running, "1", resourceSubscriptions=["demo://items/7", "demo://text"])
        for id, uri in (("t1", "demo://items/7"), ("t2", "demo://items/8")):
            ask(running, id, "tools/call", name="touch", arguments={"uri": uri})
        heard = [running.hear() for _ in range(3)]
        (notice,) = [message for message in heard if "method" in message]
        assert (notice["params"]["uri"], notice["params"]["_meta"][ID]) == ("demo://items/7", "1")

        running.say(method="notifications/cancelled", params={"requestId": "1", "_meta": envelope()})
        ask(running, "t3", "tools/call", name="touch", arguments={"uri": "demo://text"})
        (notice,) = [message for message in (running.hear(), running.hear()) if "method" in message]
        assert (notice["params"]["uri"], notice["params"]["_meta"][ID]) == ("demo://text", 1)


@pytest.mark.parametrize("number", [None, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("backend", [[], ["--trio"]], ids=["asyncio", "trio"])
def test_a_server_that_ends_completes_its_streams(
    number: signal.Signals | None, backend: list[str], tmp_path: Path
) -> None:
    """SUB-09, CANC-05, B050, B052: soon; at the end of stdin too, since its reader may still read."""
    with child(BUSY, str(tmp_path / "marks"), *backend) as running:
        for id in (1, "1"):
            listening(running, id, toolsListChanged=True)
        if number is None:
            running.close_stdin()
        else:
            running.process.send_signal(number)

        last = [running.hear() for _ in range(4)]
        assert running.wait(SOON) in ENDED
    replies = {message["id"]: message["result"] for message in last if "id" in message}
    assert {id: (result["resultType"], result["_meta"][ID]) for id, result in replies.items()} == {
        1: ("complete", 1),
        "1": ("complete", "1"),
    }
    assert {message["params"]["requestId"] for message in last if "method" in message} == {1, "1"}
    assert "Traceback" not in running.stderr


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_web_server_that_ends_completes_its_streams_first(tmp_path: Path) -> None:
    """SUB-09: on a real connection, and soon."""
    with serving_http("own", "app", tmp_path / "log") as program:
        async with client_at(f"http://127.0.0.1:{program.port}/mcp", "2026-07-28") as client:
            params = {"notifications": {"toolsListChanged": True}, "_meta": envelope()}
            message = {"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params}
            headers = {**client.headers, "mcp-method": "subscriptions/listen"}
            async with client.http.stream("POST", client.url, json=message, headers=headers) as response:
                stream = Stream(response)
                assert (await stream.message())["params"]["notifications"] == {"toolsListChanged": True}
                program.process.terminate()
                (reply,) = await stream.rest()
        assert (reply["id"], reply["result"]["_meta"][ID]) == (7, 7)
        assert await anyio.to_thread.run_sync(program.ends) == 0
