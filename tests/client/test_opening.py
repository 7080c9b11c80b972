"""Opening a connection: the probe, the fallback, and every way in which it fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import anyio
import pytest

from dedalus_mcp import ConnectionLost, MCPClient, McpError, RequestTimeout
from dedalus_mcp.errors import RemoteProtocolError
from dedalus_mcp.transport import Duplex
from dedalus_mcp_transports.memory import pair
from tests.client.counting import back_to, living_tasks
from tests.interaction.raw import Raw, Scripted
from tests.interaction.scripts import agree, result

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
Script = Callable[[Raw], Awaitable[None]]


async def revision(*scripts: Script, **settings: Any) -> str:
    """The revision that a client agrees on with these servers; nothing may be left of it afterwards."""
    before, outcome = living_tasks(), list[str | Exception]()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            try:
                async with MCPClient.connect(Scripted(group, *scripts), **settings) as client:
                    outcome.append(client.revision)
            except Exception as error:  # noqa: BLE001 - raised below, outside of this group of ours
                outcome.append(error)
            group.cancel_scope.cancel()
    await back_to(before)
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


async def refuse(raw: Raw, code: int, data: Any = None, message: str = "no") -> None:
    await raw.say({"id": (await raw.hear())["id"], "error": {"code": code, "message": message, "data": data}})


async def agree_on(raw: Raw, version: str) -> None:
    asked = await raw.hear()
    assert asked["method"] == "initialize"
    await raw.say({"id": asked["id"], "result": agree(version)})
    await raw.hear()


async def modern(raw: Raw) -> None:
    asked = await raw.hear()
    assert asked["method"] == "server/discover"  # VER-09: before anything else
    await raw.say({"id": asked["id"], "result": agree(MODERN)})
    await raw.hear()


async def legacy(raw: Raw) -> None:
    await refuse(raw, -32601)
    await agree_on(raw, LEGACY)


async def drops_what_it_does_not_know(raw: Raw) -> None:
    await raw.hear()


async def only_initialize(raw: Raw) -> None:
    await agree_on(raw, "2024-11-05")


def first_name(value: object) -> str | None:
    scripts = cast("list[Script]", value)
    return getattr(scripts[0], "__name__", None) if isinstance(value, list) else None


async def keeps_silent(raw: Raw) -> None:
    await raw.hear()
    await agree_on(raw, LEGACY)


async def wants_another_version_first(raw: Raw) -> None:
    await refuse(raw, -32022, {"supported": [MODERN], "requested": "?"})
    await modern(raw)


async def answers_nonsense(raw: Raw) -> None:
    await raw.say({"id": (await raw.hear())["id"], "result": {"supportedVersions": 7}})
    await agree_on(raw, LEGACY)


async def turns_out_to_be_modern(raw: Raw) -> None:
    await raw.hear()
    await refuse(raw, -32022, {"supported": [MODERN]})
    await modern(raw)


@pytest.mark.parametrize(
    ("scripts", "settings", "found"),
    [
        ([modern], {}, MODERN),
        ([modern], {"revision": MODERN}, MODERN),
        ([legacy], {}, LEGACY),
        ([drops_what_it_does_not_know, only_initialize], {}, "2024-11-05"),
        ([keeps_silent], {"probe_timeout": 0.01}, LEGACY),
        ([wants_another_version_first], {}, MODERN),
        ([answers_nonsense], {}, LEGACY),
        ([turns_out_to_be_modern], {"probe_timeout": 0.01}, MODERN),
        ([only_initialize], {"revision": "2024-11-05"}, "2024-11-05"),
    ],
    ids=first_name,
)
async def test_a_server_of_any_era_is_spoken_to(scripts: list[Script], settings: dict[str, Any], found: str) -> None:
    """VER-02, VER-09, VER-10, VER-11, LIFE-01, LIFE-06."""
    assert await revision(*scripts, **settings) == found


async def ends_with_a_word(raw: Raw) -> None:
    await raw.hear()


async def refuses_both(raw: Raw) -> None:
    await refuse(raw, -32601)
    await refuse(raw, -32602, {"supported": ["1999"], "requested": LEGACY}, "Unsupported protocol version")


async def never_agrees(raw: Raw) -> None:
    await refuse(raw, -32601)
    await raw.hear()
    await anyio.sleep_forever()


async def agrees_on_the_future(raw: Raw) -> None:
    await refuse(raw, -32601)
    await agree_on(raw, "2099-01-01")


async def agrees_on_another(raw: Raw) -> None:
    await agree_on(raw, "2024-11-05")


async def has_nothing_in_common(raw: Raw) -> None:
    await refuse(raw, -32022, {"supported": ["2099-01-01"]})


async def refuses_its_own_version(raw: Raw) -> None:
    for _ in range(2):
        await refuse(raw, -32022, {"supported": [MODERN]})


async def is_legacy(raw: Raw) -> None:
    await refuse(raw, -32601)
    await raw.hear()


async def ends_in_the_handshake(raw: Raw) -> None:
    await refuse(raw, -32601)
    await raw.hear()


@pytest.mark.parametrize(
    ("scripts", "settings", "error", "said"),
    [
        ([ends_with_a_word, ends_with_a_word], {}, ConnectionLost, "closed"),
        ([ends_with_a_word], {"revision": MODERN}, ConnectionLost, "closed"),
        ([ends_in_the_handshake], {}, ConnectionLost, "closed"),
        ([refuses_both], {}, McpError, "Unsupported protocol version"),
        ([never_agrees], {"timeout": 0.01}, RequestTimeout, "initialize"),
        ([agrees_on_the_future], {}, RemoteProtocolError, "2099-01-01"),
        ([agrees_on_another], {"revision": LEGACY}, RemoteProtocolError, "2024-11-05"),
        ([has_nothing_in_common], {}, RemoteProtocolError, "no revision in common"),
        ([refuses_its_own_version], {}, RemoteProtocolError, "refuses 2026-07-28"),
        ([is_legacy], {"revision": MODERN}, RemoteProtocolError, "does not speak 2026-07-28"),
    ],
    ids=first_name,
)
async def test_every_failure_is_one_typed_error(
    scripts: list[Script], settings: dict[str, Any], error: type[Exception], said: str
) -> None:
    """VER-12, LIFE-05, LIFE-14: and never a group of errors."""
    with pytest.raises(error, match=said):
        await revision(*scripts, **settings)


async def test_a_target_that_cannot_be_opened_fails_with_its_own_error() -> None:
    class Nowhere:
        async def open(self) -> Duplex:
            raise FileNotFoundError("no such program: nowhere")

    with pytest.raises(FileNotFoundError, match="nowhere"):
        await MCPClient.connect(Nowhere())


async def test_a_connection_that_can_be_taken_once_says_how_it_ended() -> None:
    near, far = pair()
    await far.aclose()

    with pytest.raises(ConnectionLost, match="the other end of the memory pair was closed"):
        await MCPClient.connect(near)


async def test_identity_that_is_none_is_no_reason_to_fail() -> None:
    async def script(raw: Raw) -> None:
        asked = await raw.hear()
        members = {**agree(MODERN), "_meta": {"io.modelcontextprotocol/serverInfo": {"name": 7}}}
        await raw.say({"id": asked["id"], "result": result(MODERN, **members)})
        await raw.hear()

    assert await revision(script) == MODERN
