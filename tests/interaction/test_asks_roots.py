"""What a handler asks about the client's roots: remembered for as long as the client tells of changes."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.interaction.asked import Talking, asked, everywhere, text_of
from tests.interaction.asking_server import make
from tests.interaction.reach import PATIENCE

legacy = pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
LATEST = "2025-11-25"
TELLING: dict[str, Any] = {"roots": {"listChanged": True}}
CHANGED = "notifications/roots/list_changed"


def client(
    able: dict[str, Any], revision: str = LATEST, transport: str = "memory"
) -> AbstractAsyncContextManager[Talking]:
    return asked(make(), "tests.interaction.asking_server", transport, revision, able)


def listing(*uris: str) -> dict[str, Any]:
    return {"roots": [{"uri": uri} for uri in uris]}


@everywhere
@legacy
async def test_roots_are_asked_for_once_and_again_after_a_change(revision: str, transport: str) -> None:
    """ROOT-01, ROOT-03, ROOT-08, B010."""
    if transport == "http" and revision == "2024-11-05":
        pytest.skip("that revision has another HTTP transport")
    with anyio.fail_after(PATIENCE):
        async with client(TELLING, revision, transport) as talking:
            question = await talking.begin("roots")
            assert question["method"] == "roots/list"
            assert await talking.text(question, listing("file:///a")) == "['file:///a']"
            assert text_of(await talking.begin("roots")) == "['file:///a']"

            await talking.notify(CHANGED)
            question = await talking.begin("roots")
            assert await talking.text(question, listing("file:///b")) == "['file:///b']"
            assert text_of(await talking.begin("roots")) == "['file:///b']"


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
async def test_a_client_that_tells_nothing_is_asked_each_time(revision: str) -> None:
    """ROOT-08: what cannot be known to hold is not kept."""
    with anyio.fail_after(PATIENCE):
        async with client({"roots": {}}, revision) as talking:
            for uri in ("file:///a", "file:///b"):
                assert await talking.text(await talking.begin("roots"), listing(uri)) == f"['{uri}']"


async def test_an_answer_that_a_change_has_overtaken_is_not_kept() -> None:
    with anyio.fail_after(PATIENCE):
        async with client(TELLING) as talking:
            question = await talking.begin("roots")
            await talking.notify(CHANGED)
            assert await talking.text(question, listing("file:///old")) == "['file:///old']"
            assert await talking.text(await talking.begin("roots"), listing("file:///new")) == "['file:///new']"


async def test_one_sessions_roots_are_none_of_anothers() -> None:
    server = make()
    here = asked(server, "", "memory", LATEST, TELLING)
    there = asked(server, "", "memory", LATEST, TELLING)
    with anyio.fail_after(PATIENCE):
        async with here as one, there as other:
            assert await one.text(await one.begin("roots"), listing("file:///a")) == "['file:///a']"
            assert await other.text(await other.begin("roots"), listing("file:///b")) == "['file:///b']"
            assert text_of(await one.begin("roots")) == "['file:///a']"


@legacy
async def test_without_the_capability_roots_are_not_asked_for(revision: str) -> None:
    """ROOT-08: and a path is within no roots then."""
    with anyio.fail_after(PATIENCE):
        async with client({"sampling": {}}, revision) as talking:
            for tool, arguments in (("roots", {}), ("inside", {"path": "/a"})):
                reply = await talking.begin(tool, **arguments)
                assert (reply["result"]["isError"], text_of(reply)) == (
                    True,
                    "Client does not advertise the roots capability",
                )


@pytest.mark.parametrize("code", [-32601, -32603])
async def test_a_client_that_fails_is_an_error_in_the_tool(code: int) -> None:
    """ROOT-04."""
    with anyio.fail_after(PATIENCE):
        async with client(TELLING) as talking:
            await talking.refuse(await talking.begin("roots"), code, "no roots")
            assert await talking.text() == "no roots"
            found = await talking.text(await talking.begin("roots"), {"roots": [{"name": "no uri"}]})
            assert found.startswith("the client's answer to the roots is not legal: ")
            assert (await talking.begin("roots"))["method"] == "roots/list"


async def test_a_path_is_let_through_only_inside(tmp_path: Path) -> None:
    """ROOT-08: with links followed, and the roots asked for by itself."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    with anyio.fail_after(PATIENCE):
        async with client(TELLING) as talking:
            question = await talking.begin("inside", path=f"{root}/a/../b")
            assert await talking.text(question, listing(root.as_uri())) == f"{root.resolve()}/b"
            error = (await talking.begin("inside", path=f"{root}/link/x"))["error"]
    assert (error["code"], error["message"]) == (
        -32602,
        f"Path '{root}/link/x' is outside the client's declared roots",
    )
