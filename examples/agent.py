"""An agent's client that fills in forms by itself: what it may say is written here, and not left to a model.

python examples/agent.py                                        has deploy.py do three things
python examples/agent.py http://127.0.0.1:8000/mcp TOOL '{}'    calls a tool of a server
AGENT_PROFILE=me.json                                           whose answers: {"email": "ann@example.com"}

Nobody is at hand, so each question of a server has one of three ends:

    it reads as if it wanted a secret      declined; and no profile should have any
    all that must be said is known         accepted, with the profile's values
    anything else                          cancelled: the tool hears that nobody answered

What the server proposes is no answer: a yes, and a choice, are only given where the profile has them or
`MAY` lists the question.  The words are the server's, so `MAY` is for servers that you trust.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
from msgspec import UNSET

from dedalus_mcp import Form, MCPClient, StdioServer, types
from dedalus_mcp.client import Connectable

SECRET = re.compile(
    r"\b(pass(word|phrase|code)|(\w+ ?)?token|secret|credentials?|(api|private|secret) ?key|pin|cvv|card number)s?\b"
)
MAY = (re.compile(r"Deploy to (staging|test)\?"),)
HOSTS = frozenset({"login.example.com"})  # whose pages a user may be sent to
PROFILE = {"name": "sitar", "email": "ann@example.com", "replicas": 3, "size": "small"}
DECISIONS = frozenset({"boolean", "choice", "choices"})  # their defaults are not taken
THINGS: list[tuple[str, dict[str, Any]]] = [
    ("configure", {}),
    ("deploy", {"env": "staging"}),
    ("deploy", {"env": "production"}),
]
DEPLOY = Path(__file__).with_name("deploy.py")


class Policy:
    """Says what an agent answers.  It only reads: the same question always has the same end."""

    def __init__(self, profile: Mapping[str, Any]) -> None:
        self._profile = {plain(name): value for name, value in profile.items()}

    def answer(self, form: Form) -> types.ElicitResult:
        result = self._answer(form)
        print(f"  {form.message!r}: {result.action}", *[result.content] if result.content else "")
        return result

    def answer_url(self, params: types.ElicitRequestURLParams) -> types.ElicitResult:
        """Refuse pages of strangers.  Others wait for a person, since here is nobody to open them."""
        page = urlsplit(params.url)
        known = page.scheme == "https" and page.hostname in HOSTS
        result = types.ElicitResult(action="cancel" if known else "decline")
        print(f"  {params.message!r} {params.url!r}: {result.action}")
        return result

    def _answer(self, form: Form) -> types.ElicitResult:
        if any(SECRET.search(plain(text)) for text in words(form)):
            return form.decline()
        may = any(question.fullmatch(form.message) for question in MAY)
        content: dict[str, Any] = {}
        for field in form.fields:
            value = self._profile.get(plain(field.name), UNSET)
            if value is not UNSET and not field.faults(value):
                content[field.name] = value
            elif may and field.kind == "boolean":
                content[field.name] = True
            elif field.kind in DECISIONS and (field.required or field.default is not UNSET):
                return form.cancel()
        try:
            return form.accept(content)
        except ValueError:  # something must be said that is not known
            return form.cancel()


def plain(text: str) -> str:
    """`apiKey`, `api_key` and `API key` are the same word."""
    return re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)).strip().lower()


def words(form: Form) -> list[str]:
    """All that a server says of a form, which is where it would ask for a secret."""
    said = [form.message]
    for field in form.fields:
        said += [field.name, field.title, field.description or ""]
    return said


async def work(target: Connectable, policy: Policy, name: str, arguments: Mapping[str, Any]) -> str:
    """Call one tool, and answer what it asks."""
    async with MCPClient.connect(target, elicitation=policy.answer, elicitation_url=policy.answer_url) as client:
        result = await client.call_tool(name, dict(arguments))
        return f"failed: {result.text}" if result.isError else result.text


async def main(arguments: list[str]) -> None:
    file = os.environ.get("AGENT_PROFILE")
    policy = Policy(json.loads(await anyio.Path(file).read_text()) if file else PROFILE)
    match arguments:
        case [target, called, values]:
            print(await work(target, policy, called, json.loads(values)))
        case []:
            deploy = StdioServer(sys.executable, [str(DEPLOY)], env=os.environ)
            for name, given in THINGS:
                print(name, given)
                print("  =", await work(deploy, policy, name, given))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:])
