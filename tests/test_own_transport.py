"""The transport that the documents show is a real one: it keeps every rule on both event loops, in forty lines."""

from __future__ import annotations

from types import ModuleType

from dedalus_mcp.testing import check_transport
from tests.sources import ROOT
from tests.test_documents import fenced, run

BLOCKS = list(fenced(ROOT / "docs" / "concepts" / "own-transport.md", "python"))


async def test_the_transport_of_the_page_keeps_every_rule() -> None:
    page = ModuleType("page")
    run(BLOCKS[0], page)
    exec(BLOCKS[1].source.partition("\n\n\nawait ")[0], vars(page))

    await check_transport(page.make_pair)


def test_the_transport_of_the_page_has_at_most_forty_lines() -> None:
    lines = BLOCKS[0].source.partition("class SocketTransport")[2].splitlines()

    assert 30 < len([line for line in lines if line.strip()]) <= 40
