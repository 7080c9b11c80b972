"""`render`: what a prompt renderer may return, and the one error for all the rest."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.server.rendering import UnrenderableError, as_block, render
from dedalus_mcp.types import (
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    PromptMessage,
    ResourceLink,
    TextContent,
    TextResourceContents,
    UnknownContent,
)
from dedalus_mcp.types.methods import PROMPTS_GET

HI = PromptMessage(role="user", content=TextContent(text="hi"))
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a"}
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
EMBEDDED = {"type": "resource", "resource": {"uri": "file:///a", "text": "a"}}


def spoken() -> Iterator[tuple[str, str]]:
    yield "user", "hi"


@pytest.mark.parametrize(
    "returned",
    [
        [("user", "hi")],
        [["user", "hi"]],
        (("user", "hi"),),
        [{"role": "user", "content": "hi"}],
        [MappingProxyType({"role": "user", "content": "hi"})],
        [{"role": "user", "content": {"type": "text", "text": "hi"}}],
        [("user", TextContent(text="hi"))],
        [HI],
        HI,
        {"role": "user", "content": "hi"},
        MappingProxyType({"role": "user", "content": "hi"}),
        {"messages": [("user", "hi")]},
        UserDict(messages=[("user", "hi")]),
        spoken(),
        GetPromptResult(messages=[HI]),
    ],
    ids=lambda returned: type(returned).__name__,
)
def test_every_legal_form_gives_the_same_messages(returned: Any) -> None:
    assert render(returned, "About") == GetPromptResult(description="About", messages=[HI])


def test_nothing_is_no_messages() -> None:
    assert render(None, None) == GetPromptResult(messages=[])
    assert render({"messages": None}, None) == GetPromptResult(messages=[])


def test_the_renderers_own_description_wins() -> None:
    assert render({"messages": [], "description": "Mine"}, "Yours").description == "Mine"
    assert render({"messages": [], "description": None}, "Yours").description is None
    assert render(GetPromptResult(messages=[], description="Mine"), "Yours").description == "Mine"


def test_a_results_meta_is_kept() -> None:
    assert render(GetPromptResult(messages=[], meta={"a": 1}), "Yours").meta == {"a": 1}


@pytest.mark.parametrize(
    ("content", "block"),
    [
        (IMAGE, ImageContent(data="aGk=", mimeType="image/png")),
        (LINK, ResourceLink(uri="file:///a", name="a")),
        (EMBEDDED, EmbeddedResource(resource=TextResourceContents(uri="file:///a", text="a"))),
    ],
    ids=["image", "link", "embedded"],
)
def test_mappings_of_every_kind_of_block_are_content(content: dict[str, Any], block: Any) -> None:
    """PROMPT-09."""
    assert render([("assistant", content)], None).messages == [PromptMessage(role="assistant", content=block)]


UNRENDERABLE: list[tuple[Any, str]] = [
    ("hi", "raw string; supply role"),
    (7, "returned int; return messages"),
    ({"description": "no messages"}, "must include 'messages'"),
    ({"messages": [], "description": 5}, "description must be a string, not int"),
    ({"messages": "hi"}, "raw string"),
    ([{"role": "user"}], "requires 'role' and 'content'"),
    ({"role": "user"}, "must include 'messages'"),
    ({"role": "system", "content": "hi"}, "role must be 'user' or 'assistant'"),
    (
        ("user", "hi"),
        r"must be PromptMessage, mapping, or \(role, content\) tuple. Got str; a single tuple goes into a list",
    ),
    ([("user", "a", "b")], "Got tuple"),
    ([None], "Got NoneType"),
    ([("system", "hi")], "role must be 'user' or 'assistant', not 'system'"),
    ([([], "hi")], r"not \[\]"),
    ([("user", 7)], "Unsupported prompt content: int"),
    ([("user", {"type": "hologram"})], "Unsupported prompt content: dict"),
    ([("user", {"type": 7})], "Unsupported prompt content: dict"),
    ([("user", {"type": "text"})], "Invalid prompt content: .*text"),
    ([("user", {"type": "image", "data": 1})], "Invalid prompt content"),
]


@pytest.mark.parametrize(("returned", "said"), UNRENDERABLE, ids=repr)
def test_anything_else_is_refused_in_words_for_the_author(returned: Any, said: str) -> None:
    with pytest.raises(UnrenderableError, match=said):
        render(returned, None)


def test_what_is_refused_is_a_type_error() -> None:
    assert issubclass(UnrenderableError, TypeError)


def test_a_renderers_own_error_is_not_taken_for_a_wrong_value() -> None:
    def broken() -> Iterator[tuple[str, str]]:
        yield "user", "hi"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        render(broken(), None)


def test_blocks_that_nobody_knows_are_blocks_when_made_on_purpose() -> None:
    unknown = UnknownContent({"type": "hologram"})

    assert as_block(unknown) is unknown
    assert as_block({"type": "hologram"}) is None
    assert as_block("text") is None


RETURNS = st.recursive(
    st.none()
    | st.integers()
    | st.text(max_size=4)
    | st.sampled_from(["user", "assistant", HI, TextContent(text="a"), IMAGE, LINK, EMBEDDED, object()]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(st.sampled_from(["user", "assistant", "system"]), inner)
        | st.dictionaries(
            st.sampled_from(["messages", "description", "role", "content", "type", "text", "resource"]), inner
        )
    ),
    max_leaves=10,
)


@given(returned=RETURNS, description=st.none() | st.text(max_size=4))
def test_any_value_gives_messages_or_that_error(returned: Any, description: str | None) -> None:
    try:
        result = render(returned, description)
    except UnrenderableError as error:
        said = str(error)
        assert said
    else:
        assert PROMPTS_GET.decode_result(msgspec.json.encode(result)).messages == result.messages
