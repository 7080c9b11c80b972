"""The two documents over HTTP: every block does what its document says, in a server process of its own."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest

from dedalus_mcp import MCPClient
from tests.interaction.reach import PATIENCE, text_of
from tests.interop.listening import ours
from tests.seeds.test_elicitation import OUTCOMES, User
from tests.seeds.test_prompts import RENDERED, said

PROGRAM = "from tests.seeds.servers import {0}; {0}().run('streamable-http', port=0)"

revisions = pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])


@pytest.fixture(scope="module")
def elicitation() -> Iterator[str]:
    with ours(PROGRAM.format("elicitation")) as url:
        yield url


@pytest.fixture(scope="module")
def prompts() -> Iterator[str]:
    with ours(PROGRAM.format("prompts")) as url:
        yield url


@revisions
async def test_the_document_on_elicitation(revision: str, elicitation: str) -> None:
    user = User()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(elicitation, revision=revision, elicitation=user) as client:
            for name, arguments, answers, outcome in OUTCOMES:
                user.answers = list(answers)

                assert text_of(await client.call_tool(name, arguments)) == outcome
                assert user.answers == []


@revisions
async def test_the_document_on_prompts(revision: str, prompts: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(prompts, revision=revision) as client:
            for name, arguments, description, messages in RENDERED:
                rendered = await client.get_prompt(name, arguments)

                assert (rendered.description, said(rendered)) == (description, messages)
