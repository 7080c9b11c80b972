"""A program with middleware and lifespans on stdio: in order, to the end, however that comes."""

from __future__ import annotations

import signal

import pytest

from tests.process.child import child


@pytest.mark.parametrize("number", [None, signal.SIGINT, signal.SIGTERM])
def test_what_is_set_up_for_the_session_is_taken_down_before_what_is_for_the_server(
    number: signal.Signals | None,
) -> None:
    """B052: whether the client ends or the program is told to stop.  LIFE-13: meanwhile, the client can be pinged."""
    with child("tests.process.sessions_server") as running:
        running.open()
        running.say(id=1, method="tools/call", params={"name": "there", "arguments": {}})
        while (message := running.hear()).get("method") != "ping":
            pass
        running.say(id=message["id"], result={})
        assert running.reply(1)["result"]["content"][0]["text"] == "server session True"
        if number is None:
            running.close_stdin()
        else:
            running.process.send_signal(number)
        running.wait(10)

    said = [line for line in running.stderr.splitlines() if not line.startswith("through notifications/")]
    assert said == [
        "server in",
        "through initialize",
        "session in",
        "through tools/call",
        "session out",
        "server out",
        "returned",
    ]
