"""`Posts`: what a client sends without hearing of it."""

from __future__ import annotations

import pytest
from anyio import Event, fail_after, sleep

from dedalus_mcp.errors import MCPConnectionError
from dedalus_mcp_transports.http_outgoing import Outgoing
from dedalus_mcp_transports.http_posts import Posts

REPLY = Outgoing(b"{}")
CANCELLED = Outgoing(b"{}", method="notifications/cancelled")
OTHER = Outgoing(b"{}", method="notifications/of/ours")


class Failing:
    """Fails to send, again and again, and then takes what it is given."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.tried = 0
        self.arrived = Event()

    async def send(self, out: Outgoing) -> None:
        self.tried += 1
        if self._errors:
            raise self._errors.pop(0)
        self.arrived.set()


def lost(*, begun: bool, status: int | None = None) -> MCPConnectionError:
    error = MCPConnectionError("lost", status)
    error.begun = begun
    return error


@pytest.mark.parametrize("out", [REPLY, CANCELLED, OTHER], ids=["a reply", "a notice of the protocol", "any notice"])
async def test_what_cannot_have_arrived_is_sent_again(out: Outgoing) -> None:
    failing = Failing(lost(begun=False), lost(begun=False))

    await Posts(failing.send).deliver(out)

    assert failing.arrived.is_set()


@pytest.mark.parametrize("error", [lost(begun=True), lost(begun=False, status=503)], ids=str)
@pytest.mark.parametrize("out", [REPLY, CANCELLED], ids=["a reply", "a notice of the protocol"])
async def test_what_does_no_more_the_second_time_is_sent_again_if_it_may_have_arrived(
    out: Outgoing, error: MCPConnectionError
) -> None:
    """The other side waits for the reply, and whoever called it waits for the other side."""
    failing = Failing(error)

    await Posts(failing.send).deliver(out)

    assert failing.arrived.is_set()


async def test_a_notice_of_which_nothing_is_known_is_not_sent_twice(caplog: pytest.LogCaptureFixture) -> None:
    failing = Failing(lost(begun=True))

    await Posts(failing.send).deliver(OTHER)

    assert failing.tried == 1
    assert "notifications/of/ours did not arrive: lost" in caplog.text


@pytest.mark.parametrize("error", [lost(begun=False, status=404), RuntimeError("no")], ids=str)
async def test_what_is_refused_is_not_sent_again(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    failing = Failing(error)

    await Posts(failing.send).deliver(REPLY)

    assert failing.tried == 1
    assert f"a reply did not arrive: {error}" in caplog.text


async def test_sending_again_has_an_end_which_tells_the_last_failure(caplog: pytest.LogCaptureFixture) -> None:
    failing = Failing(*[lost(begun=True)] * 1000)

    await Posts(failing.send).deliver(REPLY, seconds=0.2)

    assert 1 < failing.tried < 1000
    assert "a reply did not arrive: lost" in caplog.text


async def test_a_notice_that_is_sent_again_keeps_its_place() -> None:
    sent: list[str | None] = []
    failing = Failing(lost(begun=False))

    async def send(out: Outgoing) -> None:
        await failing.send(out)
        sent.append(out.method)

    posts = Posts(send)
    posts.tell(CANCELLED)
    posts.tell(OTHER)
    with fail_after(20):
        await posts.wait()

    assert sent == ["notifications/cancelled", "notifications/of/ours"]


async def test_what_is_on_its_way_to_a_session_is_not_sent_in_the_next() -> None:
    """Its ids begin anew: a late reply would answer another question."""
    failing = Failing(*[lost(begun=False)] * 1000)
    posts = Posts(failing.send)
    posts.post(REPLY)
    posts.tell(CANCELLED)
    posts.tell(OTHER)
    with fail_after(20):
        while failing.tried < 2:  # noqa: ASYNC110 - by then both are under way
            await sleep(0.001)
        posts.forget()
        await posts.wait()

    assert not failing.arrived.is_set()
    posts.tell(OTHER)
    posts.cancel()
