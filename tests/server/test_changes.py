"""`MemoryBus`: what is published is heard by every subscriber."""

from __future__ import annotations

from dedalus_mcp.server.changes import PROMPTS, TOOLS, Change, MemoryBus, updated


def test_every_subscriber_hears_what_is_published_from_then_on() -> None:
    bus = MemoryBus()
    one: list[Change] = []
    other: list[Change] = []

    bus.publish(TOOLS)
    bus.subscribe(one.append)
    bus.publish(PROMPTS)
    bus.subscribe(other.append)
    bus.publish(updated("a://b"))

    assert one == [PROMPTS, updated("a://b")]
    assert other == [updated("a://b")]


def test_the_changes_of_two_resources_are_two() -> None:
    assert updated("a://b") == updated("a://b")
    assert len({updated("a://b"), updated("a://c"), TOOLS, PROMPTS}) == 4
