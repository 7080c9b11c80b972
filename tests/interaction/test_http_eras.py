"""Which era an HTTP server is of: every answer that there is to the probe, and to what follows it."""

from __future__ import annotations

from typing import Any

import pytest

from dedalus_mcp import MCPClient
from dedalus_mcp.client.opening import remembered
from dedalus_mcp.errors import (
    AuthRequiredError,
    ForbiddenError,
    MCPConnectionError,
    RemoteProtocolError,
    RequestTimeout,
    ServerError,
)
from dedalus_mcp_transports.http_client import StreamableHttp
from tests.transports.scripted_http import Asked, Script, Talk, event, legacy, scripted

LEGACY = "2025-11-25"
MODERN = "2026-07-28"


def discovered(*versions: str) -> dict[str, Any]:
    return {"resultType": "complete", "supportedVersions": list(versions), "capabilities": {}}


def probed(answer: Script) -> Script:
    """A server that answers the probe so, and `initialize` as any legacy one."""

    async def script(asked: Asked, talk: Talk) -> None:
        if asked.what == "server/discover":
            await answer(asked, talk)
        elif not await legacy(asked, talk):
            await talk.result({"resultType": "complete", "tools": [], "content": []})

    return script


def refused(status: int, code: int, message: str = "no", data: Any = None, id: Any = ...) -> Script:
    async def answer(asked: Asked, talk: Talk) -> None:
        await talk.refuse(status, code, message, data, id)

    return answer


def answered(status: int, body: Any = b"", **headers: str) -> Script:
    async def answer(asked: Asked, talk: Talk) -> None:
        await talk.answer(status, body, **headers)

    return answer


async def discover(asked: Asked, talk: Talk) -> None:
    await talk.result(discovered(LEGACY, MODERN))


async def discover_on_a_stream(asked: Asked, talk: Talk) -> None:
    await talk.stream(event(talk.reply(discovered(MODERN))))


@pytest.mark.parametrize("answer", [discover, discover_on_a_stream])
async def test_a_server_that_names_our_revision_is_spoken_to(answer: Script) -> None:
    """Row 1."""
    async with scripted(probed(answer)) as server, MCPClient.connect(server.url) as client:
        assert client.revision == MODERN
        await client.list_tools()

    assert [asked.what for asked in server.asked] == ["server/discover", "tools/list"]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(answered(200, {"jsonrpc": "2.0", "id": 1, "result": discovered(LEGACY)}), id="2"),
        pytest.param(refused(200, -32022, data={"supported": [LEGACY]}), id="3: legacy only"),
        pytest.param(refused(200, -32601), id="4: unknown method"),
        pytest.param(refused(200, -32602), id="4: params"),
        pytest.param(answered(200, {"jsonrpc": "2.0", "id": 1, "result": {}}), id="4: no discovery"),
        pytest.param(answered(200, b"<html>", content_type="text/html"), id="5"),
        pytest.param(refused(400, -32022, data={"supported": [LEGACY]}), id="6: legacy only"),
        pytest.param(answered(400), id="10: empty"),
        pytest.param(answered(400, b"<html>", content_type="text/html"), id="10: HTML"),
        pytest.param(refused(400, -32000, "session id required", id=None), id="10: no session"),
        pytest.param(refused(400, -32600), id="10: invalid"),
        pytest.param(refused(400, -32602), id="10: params"),
        pytest.param(refused(400, -32601), id="10: unknown"),
        pytest.param(answered(404), id="12: empty"),
        pytest.param(refused(404, -32000, id=None), id="12: other"),
        pytest.param(answered(405), id="13: 405"),
        pytest.param(answered(406), id="13: 406"),
        pytest.param(answered(415), id="13: 415"),
        pytest.param(answered(202), id="18: 202"),
        pytest.param(answered(204), id="18: 204"),
    ],
)
async def test_what_is_no_modern_answer_leads_to_a_handshake(answer: Script) -> None:
    """VER-10, VER-14."""
    async with scripted(probed(answer)) as server, MCPClient.connect(server.url) as client:
        assert client.revision == LEGACY
        await client.list_tools()

    posts = [asked.what for asked in server.asked if asked.method == "POST"]
    assert posts == ["server/discover", "initialize", "notifications/initialized", "tools/list"]


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        pytest.param(refused(400, -32022, data={"supported": ["2099-01-01"]}), RemoteProtocolError, "2099", id="6"),
        pytest.param(refused(400, -32022, data={"supported": [MODERN]}), RemoteProtocolError, "said", id="6: twice"),
        pytest.param(refused(400, -32020, "stripped"), RemoteProtocolError, "stripped", id="7"),
        pytest.param(refused(400, -32020, "stripped", id=None), RemoteProtocolError, "stripped", id="7: no id"),
        pytest.param(refused(400, -32021, data={"requiredCapabilities": {}}), RemoteProtocolError, "lacks", id="8"),
        pytest.param(
            refused(400, -32602, "io.modelcontextprotocol/clientInfo"), RemoteProtocolError, "clientInfo", id="9"
        ),
        pytest.param(answered(401), AuthRequiredError, "401", id="14: 401"),
        pytest.param(answered(403), ForbiddenError, "403", id="14: 403"),
        pytest.param(refused(403, -32601), ForbiddenError, "403", id="14: 403 with a body"),
        pytest.param(answered(302, location="/elsewhere"), MCPConnectionError, "elsewhere", id="15"),
        pytest.param(answered(429, retry_after="1"), MCPConnectionError, "429", id="16: 429"),
        pytest.param(answered(500), ServerError, "500", id="16: 500"),
        pytest.param(answered(503, b"down"), ServerError, "down", id="16: 503"),
    ],
)
async def test_what_says_nothing_of_a_legacy_server_is_told_as_it_is(
    answer: Script, kind: type[Exception], text: str
) -> None:
    """VER-11, AMB-08, AMB-09: and `initialize` is never sent."""
    async with scripted(probed(answer)) as server:
        with pytest.raises(kind, match=text):
            await MCPClient.connect(server.url)

    assert server.count("initialize") == 0


async def test_a_server_that_closes_without_an_answer_is_no_legacy_one() -> None:
    """Row 17."""

    async def hang_up(asked: Asked, talk: Talk) -> None: ...

    async with scripted(probed(hang_up)) as server:
        with pytest.raises(MCPConnectionError, match="lost the connection to"):
            await MCPClient.connect(server.url)

    assert server.count("initialize") == 0


async def test_silence_is_no_sign_of_a_legacy_server() -> None:
    """Row 17, AMB-09: unlike on stdio."""

    async def silent(asked: Asked, talk: Talk) -> None:
        await talk.gone()

    async with scripted(probed(silent)) as server:
        with pytest.raises(RequestTimeout):
            await MCPClient.connect(server.url, timeout=0.1, probe_timeout=0.01)

    assert server.count("initialize") == 0


async def test_a_modern_server_without_discovery_is_spoken_to() -> None:
    """Row 11."""
    async with scripted(probed(refused(404, -32601))) as server, MCPClient.connect(server.url) as client:
        assert client.revision == MODERN
        assert client.server_info is None

    assert [asked.what for asked in server.asked] == ["server/discover", "tools/list"]


async def test_a_modern_server_without_anything_is_given_up() -> None:
    """Row 11."""

    async def script(asked: Asked, talk: Talk) -> None:
        await talk.refuse(404, -32601, "no such method")

    async with scripted(script) as server:
        with pytest.raises(RemoteProtocolError, match="knows no request"):
            await MCPClient.connect(server.url)


async def test_a_revision_that_was_asked_for_is_the_only_one_that_is_tried() -> None:
    async with scripted(probed(refused(400, -32000, id=None))) as server:
        with pytest.raises(RemoteProtocolError, match="does not speak 2026-07-28"):
            await MCPClient.connect(server.url, revision=MODERN)
        async with MCPClient.connect(server.url, revision=LEGACY):
            pass

    assert server.count("server/discover") == 1


async def test_a_server_that_was_legacy_is_not_probed_again() -> None:
    """VER-15: all connections to one URL share that, whatever their query says."""
    async with scripted(probed(answered(400))) as server:
        for query in ("", "?key=1", "?key=2"):
            async with MCPClient.connect(server.url + query) as client:
                assert client.revision == LEGACY

    assert server.count("server/discover") == 1
    assert server.count("initialize") == 3


async def test_what_was_remembered_is_forgotten_when_it_does_not_hold() -> None:
    """VER-16: the server was upgraded."""
    upgraded = False

    async def script(asked: Asked, talk: Talk) -> None:
        if not upgraded:
            await probed(answered(400))(asked, talk)
        elif asked.what == "server/discover":
            await talk.result(discovered(MODERN))
        else:
            await talk.refuse(400, -32020, "Mcp-Method is missing")

    async with scripted(script) as server:
        async with MCPClient.connect(server.url):
            pass
        upgraded = True
        async with MCPClient.connect(server.url) as client:
            assert client.revision == MODERN

    assert server.count("server/discover") == 2


async def test_a_failure_that_says_nothing_forgets_nothing() -> None:
    down = False

    async def script(asked: Asked, talk: Talk) -> None:
        if down:
            await talk.answer(503)
        else:
            await probed(answered(400))(asked, talk)

    async with scripted(script) as server:
        async with MCPClient.connect(server.url):
            pass
        down = True
        with pytest.raises(ServerError):
            await MCPClient.connect(server.url)
        down = False
        async with MCPClient.connect(server.url):
            pass

    assert server.count("server/discover") == 1


async def test_initialize_refused_by_a_modern_server_is_answered_with_a_probe() -> None:
    """VER-08: it was remembered as a legacy one, and says itself that it is not."""
    probes = 0

    async def script(asked: Asked, talk: Talk) -> None:
        nonlocal probes
        if asked.what == "server/discover":
            probes += 1
            await (answered(400) if probes == 1 else discover)(asked, talk)
        elif asked.what == "initialize":
            await talk.refuse(400, -32022, "no", {"supported": [MODERN]}, None)
        else:
            await talk.result({"resultType": "complete", "tools": []})

    async with scripted(script) as server, MCPClient.connect(server.url) as client:
        assert client.revision == MODERN
        await client.list_tools()
        listed = await server.until("tools/list")

    assert listed.headers["mcp-protocol-version"] == MODERN


def test_the_servers_that_are_remembered_by_their_key_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    from dedalus_mcp.client import era  # noqa: PLC0415 - a fresh memory, with room for two

    monkeypatch.setattr(era, "MAX_KEYS", 2)
    memory = era.Remembered()
    one, two, three = (StreamableHttp(f"http://example.com/{n}") for n in (1, 2, 3))
    for each in (one, two, three):
        memory.take(each, LEGACY)

    assert [memory.is_legacy(each) for each in (one, two, three)] == [False, True, True]
    memory.take(two, MODERN)
    assert not memory.is_legacy(two)
    assert not remembered.is_legacy(one)


async def test_what_a_program_knows_from_its_last_run_saves_the_probe() -> None:
    """VER-16: and what does not hold is corrected there."""
    saved = Known()
    async with scripted(probed(answered(400))) as server:
        async with MCPClient.connect(server.url + "?key=1", eras=saved):
            pass
        assert saved == {server.url: LEGACY}
        async with MCPClient.connect(server.url, eras=saved):
            pass
        assert not remembered.is_legacy(StreamableHttp(server.url))
        assert server.count("server/discover") == 1

    async with scripted(discover) as server:
        saved[server.url] = LEGACY
        async with MCPClient.connect(server.url, eras=saved) as client:
            assert client.revision == MODERN
        assert server.url not in saved


class Known(dict[str, str]):
    def put(self, key: str, revision: str) -> None:
        self[key] = revision

    def forget(self, key: str) -> None:
        self.pop(key, None)
