"""Keys of `_meta`, and ids of extensions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.types import meta
from dedalus_mcp.types.keys import extensions_of, is_meta_key, meta_of

NAMES = ["a", "A1", "a.b", "a_b-c", "0", "progressToken", ""]
PREFIXES = ["", "a/", "com.example/", "io.modelcontextprotocol/", "a-b.c1/", "x.y-z9.q/"]
WRONG = [
    *["_a", "a_", "-a", "a.", ".a", "a/b/c", "/a", "1a/b", "a-/b", ".a/b", "a..b/c", "a./b", "a_b/c", "ä"],
    "a b",
    "a\n",
]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("name", NAMES)
def test_a_key_is_a_name_that_may_have_a_prefix(prefix: str, name: str) -> None:
    """META-12."""
    assert is_meta_key(prefix + name)


@pytest.mark.parametrize("key", WRONG, ids=ascii)
def test_nothing_else_is(key: str) -> None:
    """META-12."""
    assert not is_meta_key(key)
    with pytest.raises(ValueError, match="a key of meta is a name of"):
        meta_of({"fine": 1, key: 2})


def test_the_keys_of_the_protocol_are_keys() -> None:
    """META-12."""
    assert [name for name in meta.__all__ if not is_meta_key(getattr(meta, name))] == []


def test_what_is_given_is_kept_as_a_copy_and_nothing_as_nothing() -> None:
    given = {"com.example/x": {"a": 1}}

    assert meta_of(given) == extensions_of(given) == given
    assert meta_of(given) is not given
    assert [meta_of(None), meta_of({}), extensions_of(None), extensions_of({})] == [None] * 4


@pytest.mark.parametrize("id", [*WRONG, "a", "name", "progressToken", ""], ids=ascii)
def test_an_extension_has_a_prefix_and_a_name(id: str) -> None:
    """VER-17."""
    with pytest.raises(ValueError, match="an extension's id has a prefix"):
        extensions_of({"com.example/fine": {}, id: {}})


@pytest.mark.parametrize("settings", [None, True, [], "x"], ids=repr)
def test_an_extension_that_needs_no_settings_has_empty_ones(settings: Any) -> None:
    """VER-21."""
    assert extensions_of({"com.example/x": {}}) == {"com.example/x": {}}
    with pytest.raises(TypeError, match=r"'com\.example/x' are a mapping"):
        extensions_of({"com.example/x": settings})


@given(st.text(alphabet="aZ0./-_ é\n", max_size=12))
def test_what_is_no_key_is_told_by_its_parts(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    labels = prefix.split(".") if slash else []

    def fits(part: str, inside: str) -> bool:
        return all(each.isascii() and (each.isalnum() or each in inside) for each in part)

    legal = all(
        label != "" and label[0].isalpha() and label[-1].isalnum() and fits(label, "-") for label in labels
    ) and (name == "" or (fits(name[0] + name[-1], "") and fits(name, "._-")))
    assert is_meta_key(key) == legal
