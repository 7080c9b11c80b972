"""Promises in capabilities: which changes they name, and what is left without them."""

from __future__ import annotations

from dedalus_mcp.server.capabilities import promised, without_promises
from dedalus_mcp.server.changes import PROMPTS, RESOURCES, TOOLS
from dedalus_mcp.types import (
    LoggingCapability,
    PromptsCapability,
    ResourcesCapability,
    ServerCapabilities,
    ToolsCapability,
)

WHOLE = ServerCapabilities(
    logging=LoggingCapability(),
    tools=ToolsCapability(listChanged=True),
    prompts=PromptsCapability(listChanged=True),
    resources=ResourcesCapability(subscribe=True, listChanged=True),
)


def test_what_is_promised_is_what_the_flags_say() -> None:
    some = ServerCapabilities(tools=ToolsCapability(listChanged=True), prompts=PromptsCapability(listChanged=False))

    assert promised(WHOLE) == {TOOLS, PROMPTS, RESOURCES}
    assert promised(some) == {TOOLS}
    assert promised(ServerCapabilities()) == set()


def test_without_promises_the_capabilities_are_still_there() -> None:
    bare = ServerCapabilities(
        logging=LoggingCapability(),
        tools=ToolsCapability(),
        prompts=PromptsCapability(),
        resources=ResourcesCapability(),
    )

    assert without_promises(WHOLE) == bare
    assert without_promises(ServerCapabilities()) == ServerCapabilities()
