"""A client finds out what its server speaks: every answer to the probe that a server may give."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from dedalus_mcp import ConnectionLost, MCPClient, McpError, RequestTimeout
from dedalus_mcp.errors import RemoteProtocolError
from dedalus_mcp.types.revisions import LEGACY, REVISIONS
from tests.interaction.raw import Raw, Scripted
from tests.interaction.reach import PATIENCE, text_of
from tests.interaction.scripts import agree, opened, text
from tests.interaction.server import make

Script = Callable[[Raw], Awaitable[None]]


def error(code: int, message: str = "no", data: Any = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, **({} if data is None else {"data": data})}}


def modern(**changes: Any) -> dict[str, Any]:
    return {"result": {**agree("2026-07-28"), **changes}}


def answering(*probes: Any, handshake: Any = None, methods: list[str] | None = None) -> Script:
    """A server that gives these answers to probes; None is silence, bytes are a line, an exception an end."""

    async def script(raw: Raw) -> None:
        answers = list(probes)
        while True:
            message = await raw.hear()
            if methods is not None:
                methods.append(message["method"])
            if message["method"] == "server/discover" and answers:
                given = answers.pop(0)
            elif message["method"] == "initialize":
                given = handshake or {"result": agree(message["params"]["protocolVersion"])}
            elif message["method"] == "tools/call":
                revision = "2026-07-28" if "_meta" in message["params"] else "2025-11-25"
                given = {"result": text(revision, "yes")}
            else:
                given = None
            if isinstance(given, EOFError):
                return
            if isinstance(given, bytes):
                await raw.say(given)
            elif given is not None:
                await raw.say({"id": message["id"], **given})

    return script


async def connected(*scripts: Script, **settings: Any) -> tuple[str, list[Raw]]:
    """Connect, call a tool, and return the revision with the servers' ends."""
    settings.setdefault("probe_timeout", 5.0)
    outcome: list[str | Exception] = []
    ends: list[Raw] = []
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            target = Scripted(group, *scripts)
            ends = target.ends
            try:
                async with MCPClient.connect(target, **settings) as client:
                    assert text_of(await client.call_tool("a")) == "yes"
                    outcome.append(client.revision)
            except Exception as failure:  # noqa: BLE001 - out of the group as itself
                outcome.append(failure)
            group.cancel_scope.cancel()
    (found,) = outcome
    if isinstance(found, Exception):
        raise found
    return found, ends


HANDSHAKE = ["server/discover", "initialize", "notifications/initialized", "tools/call"]


@pytest.mark.parametrize(
    "probe",
    [
        error(-32601),
        error(-32602, "Invalid params"),
        error(-32600, "not initialized"),
        error(-32000),
        error(0),
        error(-32603, "Internal error"),
        error(-32022),
        error(-32022, data={"supported": "x"}),
        error(-32022, data={"supported": []}),
        error(-32022, data={"supported": ["2025-11-25", 5], "requested": "2026-07-28"}),
        modern(supportedVersions=["2025-06-18", "2025-11-25"]),
        {"result": {}},
        {"result": {"supportedVersions": "2026-07-28"}},
        {"result": []},
    ],
    ids=str,
)
async def test_whatever_is_no_modern_answer_means_the_handshake(probe: Any) -> None:
    """VER-10, LIFE-01, LIFE-06: on the same connection, and keyed to no one code."""
    methods: list[str] = []
    revision, ends = await connected(answering(probe, methods=methods))

    assert (revision, methods, len(ends)) == ("2025-11-25", HANDSHAKE, 1)


@pytest.mark.parametrize("noise", [None, b"Server started!", b'{"jsonrpc":"2.0","method":"notifications/message"}'])
async def test_silence_and_noise_mean_the_handshake_in_time(noise: bytes | None) -> None:
    """F1, F5: what is no answer does not count as one."""
    methods: list[str] = []
    revision, _ = await connected(answering(noise, methods=methods), probe_timeout=0.05)

    assert (revision, methods) == ("2025-11-25", HANDSHAKE)


async def test_a_late_answer_to_the_probe_is_dropped() -> None:
    """F3, CANC-10: it came after the handshake had begun."""

    async def server(raw: Raw) -> None:
        probe = await raw.hear()
        handshake = await raw.hear()
        assert (probe["method"], handshake["method"]) == ("server/discover", "initialize")
        await raw.say({"id": probe["id"], **modern()}, {"id": handshake["id"], "result": agree("2025-06-18")})
        call = await raw.hear_method("tools/call")
        await raw.say({"id": call["id"], "result": text("2025-06-18", "yes")})

    revision, _ = await connected(server, probe_timeout=0.05)
    assert revision == "2025-06-18"


async def test_a_server_that_ends_at_the_probe_is_started_again_without_it() -> None:
    """F2."""
    methods: list[str] = []
    revision, ends = await connected(answering(EOFError()), answering(methods=methods))

    assert (revision, methods, len(ends)) == ("2025-11-25", HANDSHAKE[1:], 2)


async def test_a_server_that_always_ends_is_given_up() -> None:
    """B034: not after a timeout, but when it ends."""

    async def ends(raw: Raw) -> None:
        await raw.hear()

    with pytest.raises(ConnectionLost):
        await connected(ends, ends)


@pytest.mark.parametrize(
    "probes",
    [
        [modern()],
        [modern(supportedVersions=["2099-01-01", "2026-07-28", "2025-11-25"])],
        [error(-32022, data={"supported": ["2099-01-01", "2026-07-28"], "requested": "x"}), modern()],
    ],
    ids=["plain", "several", "after-32022"],
)
async def test_a_modern_server_is_spoken_to_without_a_handshake(probes: list[Any]) -> None:
    """META-01, VER-03, RPC-21."""
    methods: list[str] = []
    revision, ends = await connected(answering(*probes, methods=methods))

    assert (revision, len(ends)) == ("2026-07-28", 1)
    assert methods == ["server/discover"] * len(probes) + ["tools/call"]


@pytest.mark.parametrize(
    "probes",
    [
        [error(-32022, data={"supported": ["2099-01-01"], "requested": "x"})],
        [error(-32022, data={"supported": ["2026-07-28"], "requested": "x"})] * 2,
        [error(-32021, data={"requiredCapabilities": {"sampling": {}}})],
        [error(-32020, "Header mismatch")],
        [error(-32602, "missing io.modelcontextprotocol/clientCapabilities")],
        [modern(supportedVersions=["2099-01-01"])],
        [modern(supportedVersions=[])],
    ],
    ids=["disjoint", "twice", "capability", "header", "key", "offers-disjoint", "offers-nothing"],
)
async def test_a_modern_server_that_cannot_be_spoken_with_gets_no_handshake(probes: list[Any]) -> None:
    """B155: the error is typed, says why, and comes out as itself."""
    methods: list[str] = []

    with pytest.raises(RemoteProtocolError):
        await connected(answering(*probes, methods=methods))
    assert "initialize" not in methods


async def test_a_modern_server_that_answers_the_probe_too_late_is_found_out_by_its_refusal() -> None:
    """F3: `initialize` is refused with the versions, and the probe is sent once more."""
    methods: list[str] = []
    refusal = error(-32022, data={"supported": ["2026-07-28"], "requested": "2025-11-25"})
    revision, _ = await connected(answering(None, modern(), handshake=refusal, methods=methods), probe_timeout=0.05)

    assert revision == "2026-07-28"
    assert methods == ["server/discover", "initialize", "server/discover", "tools/call"]


@pytest.mark.parametrize("asked", LEGACY)
async def test_one_legacy_revision_can_be_asked_for(asked: str) -> None:
    """LIFE-01, LIFE-06: without a probe."""
    methods: list[str] = []
    revision, ends = await connected(answering(methods=methods), revision=asked)

    assert (revision, methods) == (asked, HANDSHAKE[1:])
    assert ends[0].heard[0]["params"]["protocolVersion"] == asked


@pytest.mark.parametrize("answered", ["2026-07-28", "2099-01-01", "", "2024-10-07"])
async def test_a_handshake_that_is_answered_with_an_unknown_revision_ends_the_connection(answered: str) -> None:
    methods: list[str] = []
    with pytest.raises(RemoteProtocolError, match="not spoken here"):
        await connected(
            answering(
                error(-32601),
                handshake={"result": {**agree("2025-11-25"), "protocolVersion": answered}},
                methods=methods,
            )
        )
    assert methods == ["server/discover", "initialize"]


@pytest.mark.parametrize("answered", LEGACY)
async def test_a_server_may_answer_with_an_older_revision(answered: str) -> None:
    """LIFE-03, LIFE-09."""
    revision, _ = await connected(answering(error(-32601), handshake={"result": agree(answered)}))

    assert revision == answered


async def test_a_refused_handshake_is_the_servers_own_error() -> None:
    """B155."""
    with pytest.raises(McpError, match="go away") as refused:
        await connected(answering(error(-32601), handshake=error(-32099, "go away")))
    assert refused.value.code == -32099


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_server_that_never_answers_runs_out_of_time(revision: str) -> None:
    """B041, B155, B157: that is a timeout of its own class, which is a `TimeoutError` too."""
    silent = answering(None, handshake=b" ")

    with pytest.raises((RequestTimeout, RemoteProtocolError)) as failed:
        await connected(silent, revision=revision, timeout=0.05, probe_timeout=0.05)
    if revision in LEGACY:
        assert isinstance(failed.value, TimeoutError)


async def test_what_the_body_of_the_with_raises_comes_out_as_itself() -> None:
    """B155: no group around it."""

    async def use() -> None:
        async with MCPClient.connect(make()):
            raise KeyError("mine")

    with pytest.raises(KeyError):
        await use()


@pytest.mark.parametrize(
    "probe", [error(-32601), error(-32600), None, modern(supportedVersions=["2025-11-25"])], ids=str
)
async def test_who_insists_on_the_modern_era_gets_no_handshake(probe: Any) -> None:
    """VER-10: a legacy server is a clear failure then, and so is a silent one."""
    methods: list[str] = []
    with pytest.raises((RemoteProtocolError, RequestTimeout)):
        await connected(answering(probe, methods=methods), revision="2026-07-28", probe_timeout=0.05)
    assert methods == ["server/discover"]


async def test_what_a_target_turned_out_to_be_is_remembered_until_it_does_not_hold() -> None:
    """A legacy server is not probed again; one that became modern meanwhile is found out by its refusal."""
    first: list[str] = []
    second: list[str] = []
    third: list[str] = []
    refusal = error(-32022, data={"supported": ["2026-07-28"], "requested": "2025-11-25"})
    scripts = (
        answering(error(-32601), methods=first),
        answering(error(-32601), methods=second),
        answering(modern(), handshake=refusal, methods=third),
    )
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            target = Scripted(group, *scripts)
            for revision in ("2025-11-25", "2025-11-25", "2026-07-28"):
                async with MCPClient.connect(target) as client:
                    assert text_of(await client.call_tool("a")) == "yes"
                    assert client.revision == revision
    assert (first, second) == (HANDSHAKE, HANDSHAKE[1:])
    assert third == ["initialize", "server/discover", "tools/call"]


@pytest.mark.parametrize("revision", LEGACY)
async def test_a_client_reads_a_batch_where_its_revision_has_them(revision: str) -> None:
    """RPC-14, RPC-16: notices and replies in one array; elsewhere the call fails at once, and the next is answered."""

    async def server(raw: Raw) -> None:
        await opened(raw, revision)
        call = await raw.hear_method("tools/call")
        notice = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
        await raw.say([notice, {"jsonrpc": "2.0", "id": call["id"], "result": text(revision, "batch")}])
        call = await raw.hear_method("tools/call")
        await raw.say({"id": call["id"], "result": text(revision, "alone")})
        await raw.hear()

    with anyio.fail_after(PATIENCE):
        async with (
            anyio.create_task_group() as group,
            MCPClient.connect(Scripted(group, server), revision=revision) as client,
        ):
            if revision == "2025-03-26":
                assert text_of(await client.call_tool("a")) == "batch"
            else:
                with pytest.raises(RemoteProtocolError, match="batches belong to 2025-03-26 only"):
                    await client.call_tool("a")
            assert text_of(await client.call_tool("a")) == "alone"
            group.cancel_scope.cancel()
