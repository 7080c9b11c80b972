"""`Completions`: registered, asked for suggestions."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from enum import Enum
from typing import Any

import anyio.lowlevel
import pytest

from dedalus_mcp import (
    CompletionResult,
    CompletionSpec,
    Context,
    McpError,
    MCPServer,
    ServerConfig,
    completion,
    extract_spec,
    prompt,
    resource,
    resource_template,
)
from dedalus_mcp.server.completions import completion_of
from dedalus_mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    CompletionReference,
    PromptReference,
    ResourceTemplateReference,
)

REVIEW = PromptReference(name="review")
FILES = ResourceTemplateReference(uri="repo://{owner}/{+path}{?ref}")


@prompt
def review(language: str, framework: str = "") -> list[tuple[str, str]]:
    return [("user", f"{language} {framework}")]


@resource_template("file", uri_template=FILES.uri)
def file(owner: str, path: str, ref: str = "main") -> str:
    return f"{owner} {path} {ref}"


def offering(*completers: Any, **settings: Any) -> MCPServer:
    server = MCPServer("test", config=ServerConfig(**settings))
    server.collect(review, file, *completers)
    return server


async def suggested(
    server: MCPServer, ref: CompletionReference, name: str, value: str = "", context: CompletionContext | None = None
) -> list[str]:
    return (await server.invoke_completion(ref, CompletionArgument(name=name, value=value), context)).values


@completion(prompt="review")
def anything(argument: CompletionArgument, context: CompletionContext | None) -> list[str]:
    return [argument.name, argument.value, str(context and context.arguments)]


async def test_a_completer_is_told_what_is_typed_and_what_is_chosen() -> None:
    """COMP-02, COMP-03."""
    server = offering(anything)
    chosen = CompletionContext(arguments={"language": "python"})

    assert await suggested(server, REVIEW, "framework", "fl", chosen) == [
        "framework",
        "fl",
        "{'language': 'python'}",
    ]
    for nothing in (None, CompletionContext()):
        assert await suggested(server, REVIEW, "language", "", nothing) == ["language", "", "{}"]


async def test_the_completer_of_one_argument_comes_before_that_of_all() -> None:
    @completion(prompt="review", argument="language")
    async def languages(argument: CompletionArgument) -> list[str]:
        await anyio.lowlevel.checkpoint()
        return [each for each in ("python", "rust") if each.startswith(argument.value)]

    for order in ((anything, languages), (languages, anything)):
        server = offering(*order)
        assert await suggested(server, REVIEW, "language", "ru") == ["rust"]
        assert (await suggested(server, REVIEW, "framework", "ru"))[0] == "framework"
    assert await suggested(offering(languages), REVIEW, "framework") == []


async def test_a_template_is_completed_by_its_text_and_a_resource_has_nothing_to_complete() -> None:
    """COMP-02."""

    @resource("repo://readme")
    def readme() -> str:
        return ""

    @completion(resource=FILES.uri)
    def complete(argument: CompletionArgument) -> str:
        return f"{argument.name}!"

    server = offering(complete, readme)
    assert [await suggested(server, FILES, name) for name in ("owner", "path", "ref")] == [
        ["owner!"],
        ["path!"],
        ["ref!"],
    ]
    assert await suggested(server, ResourceTemplateReference(uri="repo://readme"), "x") == []


@pytest.mark.parametrize(
    ("ref", "name", "message"),
    [
        (PromptReference(name="nope"), "language", "Prompt 'nope' is not registered"),
        (REVIEW, "lang", "no argument 'lang'; there are language, framework"),
        (ResourceTemplateReference(uri="a://nope"), "x", "nope"),
        (FILES, "x", "there are owner, path, ref"),
    ],
    ids=["unknown prompt", "unknown argument", "unknown template", "unknown variable"],
)
async def test_what_is_not_there_is_refused(ref: CompletionReference, name: str, message: str) -> None:
    """COMP-05, COMP-08."""
    with pytest.raises(McpError, match=message) as raised:
        await suggested(offering(anything), ref, name)
    assert raised.value.code == -32602


async def test_a_prompt_that_takes_a_mapping_has_arguments_of_any_name() -> None:
    @prompt("free")
    def free(arguments: dict[str, str]) -> None: ...

    @completion(prompt="free")
    def complete(argument: CompletionArgument) -> str:
        return argument.name

    server = offering(free, complete)
    assert await suggested(server, PromptReference(name="free"), "whatever") == ["whatever"]


async def test_what_is_completed_may_be_registered_later() -> None:
    server = MCPServer("test")
    with server.binding():
        completion(prompt="review")(anything)
        prompt(review)

    assert (await suggested(server, REVIEW, "language"))[0] == "language"


class Color(Enum):
    RED = "red"


COUNT = Completion(values=["a", "b"], total=7, hasMore=True)


@pytest.mark.parametrize(
    ("returned", "made"),
    [
        (None, Completion(values=[])),
        ("one", Completion(values=["one"])),
        (["a", 1, Color.RED], Completion(values=["a", "1", "red"])),
        (iter("ab"), Completion(values=["a", "b"])),
        ({"values": ("a", "b"), "total": 7, "hasMore": True}, COUNT),
        ({"values": ["a", "b"], "total": 7, "has_more": True}, COUNT),
        (COUNT, COUNT),
        (CompletionResult(("a", "b"), total=7, has_more=True), COUNT),
        (CompletionResult("one"), Completion(values=["one"])),
        (CompletionResult(iter("abcd")), Completion(values=["a", "b", "c"], hasMore=True)),
        (CompletionResult(list("abcd"), 9, False), Completion(values=["a", "b", "c"], total=9, hasMore=False)),
        (list("abcd"), Completion(values=["a", "b", "c"], total=4, hasMore=True)),
        ({"values": list("abcd"), "total": 9}, Completion(values=["a", "b", "c"], total=9, hasMore=True)),
        (Completion(values=list("abcd"), hasMore=False), Completion(values=["a", "b", "c"], total=4, hasMore=False)),
        (itertools.count(), Completion(values=["0", "1", "2"], hasMore=True)),
    ],
)
def test_what_a_completer_returns_becomes_at_most_so_many_suggestions(returned: Any, made: Completion) -> None:
    """COMP-04: the first ones, since they are ranked."""
    assert completion_of(returned, 3) == made


async def stream() -> AsyncIterator[str]:
    yield "a"


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        ({"total": 1}, ValueError, r"^Completion mapping must include 'values'\.$"),
        (7, TypeError, r"^Unsupported completion return type: int$"),
        (CompletionResult(7), TypeError, r"^Unsupported completion return type: int$"),  # type: ignore[arg-type]
        (b"ab", TypeError, r"^Unsupported completion return type: bytes$"),
        (stream(), TypeError, r"^Unsupported completion return type: async_generator$"),
        ({"values": [], "total": "many"}, TypeError, "total"),
    ],
    ids=["no values", "number", "number of a result", "bytes", "async generator", "wrong total"],
)
def test_what_is_no_suggestion_is_an_error_of_the_author(returned: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        completion_of(returned, 3)


async def test_the_limit_is_a_setting_and_a_generator_is_read_no_further() -> None:
    """COMP-04."""
    read: list[int] = []

    @completion(prompt="review")
    def endless(argument: CompletionArgument) -> Iterator[int]:
        for number in itertools.count():
            read.append(number)
            yield number

    server = offering(endless, completion_limit=2)
    found = await server.invoke_completion(REVIEW, CompletionArgument(name="language", value=""))

    assert found == Completion(values=["0", "1"], hasMore=True)
    assert read == [0, 1, 2]


@pytest.mark.parametrize("limit", [0, 101])
def test_a_limit_that_the_protocol_does_not_allow_is_refused(limit: int) -> None:
    """COMP-04."""
    with pytest.raises(ValueError, match="completion_limit"):
        ServerConfig(completion_limit=limit)


def test_a_completer_that_takes_something_else_is_refused_with_its_name() -> None:
    @completion(prompt="review")
    def nothing() -> None: ...

    @completion(prompt="review")
    def everything(ref: str, argument: str, context: str) -> None: ...

    for wrong in (nothing, everything):
        with pytest.raises(TypeError, match=rf"{wrong.__name__}\(\): a completer takes the argument"):
            offering(wrong)


async def test_contexts_are_given_wherever_they_stand_and_to_positional_parameters_too() -> None:
    """B146: a context is no argument; here there is none."""

    @completion(prompt="review")
    def complete(ctx: Context | None, argument: CompletionArgument, /, context: Any = None) -> list[str]:
        return [argument.name, str(ctx), str(context.arguments)]

    assert await suggested(offering(complete), REVIEW, "language") == ["language", "None", "{}"]


def test_the_decorator_wants_exactly_one_reference() -> None:
    for wrong in ({}, {"prompt": "a", "resource": "b://{c}"}):
        with pytest.raises(ValueError, match=r"^Provide exactly one of 'prompt' or 'resource'\.$"):
            completion(**wrong)


def test_the_decorated_function_stays_what_it_was() -> None:
    assert extract_spec(anything) == CompletionSpec(prompt="review")
    assert anything(CompletionArgument(name="a", value="b"), None) == ["a", "b", "None"]


def test_a_second_completer_of_the_same_argument_replaces_the_first(caplog: pytest.LogCaptureFixture) -> None:
    @completion(prompt="review")
    def other(argument: CompletionArgument) -> None: ...

    server = offering(anything, other)

    assert len(server.completions) == 1
    assert "registered twice" in caplog.text
