"""`Listed`: each item is written once for each revision, and a page that was changed is written like any list."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from dedalus_mcp.types import ListToolsResult, Tool
from dedalus_mcp.types.listed import Listed
from dedalus_mcp.types.revisions import LATEST, LATEST_LEGACY, REVISIONS, shape

encode = msgspec.json.encode
TOOLS = [Tool(name=f"t{number}", title="A", inputSchema={"type": "object"}) for number in range(5)]


class Shaping:
    """Shapes, and remembers what."""

    def __init__(self) -> None:
        self.done: list[Any] = []

    def __call__(self, item: Any) -> Any:
        self.done.append(item)
        return item


def test_nothing_is_kept_before_as_many_were_asked_for_as_there_are() -> None:
    listed, shaping = Listed([1, 2, 3], encode), Shaping()

    assert [listed.part(start, start + 1).written("a", shaping) for start in range(3)] == [None] * 3
    assert listed.part(0, 3).written("b", shaping) is None
    assert shaping.done == []
    assert listed.part(0, 3).written("a", shaping) == [Raw(b"1"), Raw(b"2"), Raw(b"3")]


def test_an_item_is_written_once_for_a_revision() -> None:
    listed, shaping = Listed([1, 2, 3], encode), Shaping()
    for revision in "ab":
        listed.part(0, 3).written(revision, shaping)

    assert listed.part(0, 2).written("a", shaping) == [Raw(b"1"), Raw(b"2")]
    assert listed.part(1, 9).written("a", shaping) == [Raw(b"2"), Raw(b"3")]
    assert shaping.done == [1, 2, 3]
    assert listed.part(0, 1).written("b", shaping) == [Raw(b"1")]
    assert shaping.done == [1, 2, 3, 1]


def test_a_page_is_a_list_of_its_own() -> None:
    listed = Listed(TOOLS, encode)
    part = listed.part(1, 3)

    assert part == TOOLS[1:3]
    part.clear()
    assert listed.items == TOOLS


@pytest.mark.parametrize("change", ["append", "pop", "reverse", "replace"])
def test_a_page_that_was_changed_is_written_as_it_is_now(change: str) -> None:
    listed = Listed(TOOLS, encode)
    part = listed.part(0, 3)
    match change:
        case "append":
            part.append(TOOLS[4])
        case "pop":
            part.pop()
        case "reverse":
            part.reverse()
        case _:
            part[1] = msgspec.structs.replace(TOOLS[1], title="B")

    assert [part.written(LATEST, lambda tool: tool) for _ in range(9)] == [None] * 9
    shaped = shape(ListToolsResult(tools=part), LATEST)
    assert msgspec.json.encode(shaped) == msgspec.json.encode(shape(ListToolsResult(tools=list(part)), LATEST))


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_page_reads_as_the_same_list_does(revision: str) -> None:
    listed = Listed(TOOLS, encode)

    for start, end in ((0, 5), (0, 5), (1, 3), (4, 9), (5, 6)):
        kept = shape(ListToolsResult(tools=listed.part(start, end)), revision)
        plain = shape(ListToolsResult(tools=TOOLS[start:end]), revision)
        assert msgspec.json.decode(msgspec.json.encode(kept)) == msgspec.json.decode(msgspec.json.encode(plain))


def test_what_cannot_be_written_is_told() -> None:
    part = Listed([object()], encode).part(0, 1)
    assert part.written(LATEST_LEGACY, lambda thing: thing) is None

    with pytest.raises(TypeError):
        part.written(LATEST_LEGACY, lambda thing: thing)
