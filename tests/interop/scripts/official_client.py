"""A client of the official package: runs one script against a server, and prints JSON.

    official_client.py REVISION STEPS -- COMMAND [ARG...]
    official_client.py REVISION STEPS -- URL

STEPS is a JSON array of steps, each an array whose first item is its name:

    ["list_tools"]  ["list_prompts"]  ["ping"]
    ["call_tool", NAME, ARGUMENTS]  ["get_prompt", NAME, ARGUMENTS]
    ["answer", ACTION, CONTENT]      what to answer to the next elicitations

Prints one object: the negotiated `revision`, the `outcomes` (one for each step but `answer`: the
result as that client read it, or ``{"error": {code, message, data}}``) and what was `asked`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import mcp.client.session
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

MODERN = "2026-07-28"


class Script:
    """The steps of one conversation, and what came of them."""

    def __init__(self) -> None:
        self.answer: dict[str, Any] = {"action": "cancel"}
        self.asked: list[Any] = []
        self.outcomes: list[Any] = []

    async def elicited(self, _context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.model_dump(mode="json", by_alias=True, exclude_none=True))
        return ElicitResult(**self.answer)

    async def step(self, client: Client, name: str, *args: Any) -> None:
        if name == "answer":
            self.answer = dict(zip(("action", "content"), args, strict=False))
            return
        call = client.send_ping if name == "ping" else getattr(client, name)
        try:
            result = await call(*args)
        except MCPError as error:
            outcome: Any = {"error": error.error.model_dump(mode="json", exclude_none=True)}
        else:
            outcome = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.outcomes.append(outcome)


async def main(revision: str, steps: list[list[Any]], command: list[str]) -> None:
    mcp.client.session.LATEST_HANDSHAKE_VERSION = revision  # what a legacy handshake offers
    script = Script()
    is_url = command[0].startswith("http:")
    server = command[0] if is_url else StdioServerParameters(command=command[0], args=command[1:])
    mode = revision if revision == MODERN else "auto" if revision == "auto" else "legacy"
    async with Client(server, mode=mode, elicitation_callback=script.elicited, read_timeout_seconds=30) as client:
        for step in steps:
            await script.step(client, *step)
        agreed = client.session.protocol_version
    print(json.dumps({"revision": agreed, "outcomes": script.outcomes, "asked": script.asked}))


if __name__ == "__main__":
    assert sys.argv[3] == "--", __doc__
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[4:]))
