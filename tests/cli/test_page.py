"""The page on the command line: its console blocks are what is seen, and every option in it exists."""

from __future__ import annotations

import html
import re
import shlex

import pytest

from dedalus_mcp.cli.program import COMMANDS, parsed
from tests.cli.acting import PAGE, perform, scenes, server_of_the_page
from tests.cli.picture import ENVIRONMENT, PICTURE, picture, session
from tests.test_documents import fenced


@pytest.mark.parametrize(("line", "shown"), list(scenes()))
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_command_on_the_page_shows_what_the_page_shows(
    line: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "130")

    _, seen = await perform(line, shown, server_of_the_page())

    assert [each.rstrip() for each in seen.splitlines()] == [each.rstrip() for each in shown.splitlines()]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_picture_shows_what_is_seen_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else: python -m tests.cli.picture."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    assert words(picture(await session())) == words(PICTURE.read_text())


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    assert set(re.findall(r"https?://[^\"\s<]*", PICTURE.read_text())) == {"http://www.w3.org/2000/svg"}


def words(svg: str) -> list[str]:
    """The texts of a picture, in order."""
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def test_every_command_line_on_the_page_is_legal() -> None:
    lines = [line for block in fenced(PAGE, "sh", "console") for line in block.source.splitlines()]
    typed = [line.removeprefix("$ ") for line in lines if line.removeprefix("$ ").startswith("dedalus-mcp ")]

    for line in typed:
        parsed(shlex.split(line)[1:])
    assert len(typed) > 10


def test_the_page_tells_of_every_command() -> None:
    text = PAGE.read_text()

    assert [name for name in COMMANDS if not re.search(rf"dedalus-mcp {name} |`{name}`", text)] == []
