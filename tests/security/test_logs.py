"""What a peer says forges no line of the log, and takes over no terminal that shows one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from dedalus_mcp import MCPServer, completion, types
from dedalus_mcp.testing import REVISIONS, raw_client
from tests.sources import ROOT, modules

FORGED = "x\r\n2026-01-01 INFO signed in as root\x1b[2J\x9b1m\u202e" + "!" * 100_000

LEVELS = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log"})
FIELD = re.compile(r"%[-\d.]*([a-z])")

OURS = frozenset(
    {
        "CANCELLED",
        "PROGRESS",
        "_name(self._callback)",  # a function of the program's
        "'for good' if is_final else 'for now'",
        "f'{text} (number %d of such; next is told of number %d)'",  # the text of who complains: a constant
        "text",  # likewise
        "bad",  # a `BadState`: its texts are constants
        "how",  # a process has ended so
        "kind",
        "kind.__name__",
        "line",  # the address that is served
        "method",  # of a question, one of the protocol's
        "method.name",
        "notice.method",  # one of those that are of subscriptions
        "out.method or 'a reply'",  # of a message of ours
        "refusal.message",  # harmless characters: see `http_security`
        "self._name",
        "self._sender.where",  # the URL that the program gave
        "waiter.value",
        "verdict.value",
        "whole",  # made of excerpts
    }
)
"""What goes into a log as it is: nothing of it was said by a peer."""


def written() -> Iterator[tuple[str, str]]:
    """Each value that a call of a logger writes as it is: where, and the expression."""
    for _, path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name("logger"), attr=attr), args=args) if attr in LEVELS:
                    where = f"{path.relative_to(ROOT)}:{node.lineno}"
                    for each in as_it_is(args[1:] if attr == "log" else args):
                        yield where, each
                case _:
                    pass


def as_it_is(args: list[ast.expr]) -> Iterator[str]:
    text, *values = args
    if not isinstance(text, ast.Constant):
        yield ast.unparse(text)
        return
    kinds = FIELD.findall(str(text.value))
    for kind, value in zip(kinds, values, strict=True):
        if kind == "s":
            yield ast.unparse(value)


def test_whatever_is_logged_of_what_a_peer_said_is_quoted_or_an_excerpt() -> None:
    """OWASP's log injection: one text with a line break is two entries, one with ESC is a command to a terminal."""
    found = list(written())

    assert [each for each in found if each[1] not in OURS and not each[1].startswith("excerpt(")] == []
    assert OURS - {expression for _, expression in found} == set(), "nothing is listed that is not there"


@completion(prompt="greet", argument="name")
def names(argument: types.CompletionArgument) -> list[str]:
    return [argument.value]


@pytest.mark.parametrize("revision", REVISIONS)
async def test_what_a_client_is_told_of_its_mistake_repeats_little_of_it_and_that_harmlessly(revision: str) -> None:
    """The text reaches the log of a client, or of whatever shows it."""
    server = MCPServer("s", version="1")
    server.collect(names)
    async with raw_client(server) as raw:
        await raw.open(revision)
        params = {"ref": {"type": FORGED, "name": "greet"}, "argument": {"name": "name", "value": ""}}
        await raw.begin(2, "completion/complete", **params)
        reply = await raw.expect({"id": 2, "error": {"code": -32602, ...: ...}})

    said = reply["error"]["message"]
    assert said.startswith("Invalid params: Invalid value 'x 2026-01-01 INFO")
    assert said.isprintable()
    assert len(said) < 300
