"""The manifest of the specification's rules and the tests agree, in both directions."""

from __future__ import annotations

import pytest

from tests.requirements import cited, listed


@pytest.mark.parametrize("name", ["musts", "others", "untested"])
def test_a_list_is_sorted_and_names_nothing_twice(name: str) -> None:
    assert listed(name) == sorted(set(listed(name)))


def test_every_must_has_a_test_or_is_listed_as_untested() -> None:
    assert sorted(set(listed("musts")) - set(listed("untested")) - set(cited())) == []


def test_nothing_that_has_a_test_is_listed_as_untested() -> None:
    """Run ``python -m tests.requirements`` after writing tests; the list only shrinks."""
    assert sorted(set(listed("untested")) & set(cited())) == []


def test_only_musts_are_listed_as_untested() -> None:
    assert sorted(set(listed("untested")) - set(listed("musts"))) == []


def test_every_rule_that_a_test_names_exists() -> None:
    known = {*listed("musts"), *listed("others")}

    assert {id: sorted(files) for id, files in cited().items() if id not in known} == {}
