"""`Catalogue`: what is whose, and in which order, without any server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.server.catalogue import Catalogue, Showing

Texts = Catalogue[str, str]


def catalogue(owner: str) -> Texts:
    return Catalogue("word", "name", owner)


def show(lender: Texts, borrower: Texts, prefix: str = "", name: str = "inner") -> None:
    showing = Showing(borrower, name, lambda key: prefix + key, lambda key, item: f"{key}={item}")
    lender.check_all(showing)
    lender.show(showing)


def test_what_is_shown_comes_and_goes_with_what_it_shows() -> None:
    inner, outer = catalogue("inner"), catalogue("outer")
    inner.add("a", "1")
    show(inner, outer, "x_")
    inner.add("b", "2")
    inner.add("a", "3")

    assert list(outer.items()) == [("x_a", "a=3"), ("x_b", "b=2")]
    inner.remove("a")
    assert list(outer) == ["x_b"]
    assert (outer.own, outer.lent) == ({}, {"x_b": "b=2"})


def test_what_is_lent_goes_on_to_whoever_includes_the_borrower() -> None:
    inner, middle, outer = catalogue("inner"), catalogue("middle"), catalogue("outer")
    show(middle, outer, "y_", "middle")
    show(inner, middle, "x_")
    inner.add("a", "1")

    assert list(outer.items()) == [("y_x_a", "x_a=a=1")]
    inner.remove("a")
    assert list(outer) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [("inner", "outer"), ("outer", "inner"), ("inner", "other"), ("other", "inner")],
)
def test_nobodys_item_takes_the_place_of_anothers(first: str, second: str) -> None:
    outer, inner, other = (them := {name: catalogue(name) for name in ("outer", "inner", "other")}).values()
    show(inner, outer)
    show(other, outer, name="other")
    them[first].add("a", "1")
    before = [list(each.items()) for each in them.values()]

    with pytest.raises(ValueError, match="word 'a'") as raised:
        them[second].add("a", "2")

    assert first in str(raised.value)
    assert second in str(raised.value)
    assert [list(each.items()) for each in them.values()] == before


def test_what_has_no_room_two_servers_away_is_refused_before_anything_has_changed() -> None:
    inner, middle, outer = catalogue("inner"), catalogue("middle"), catalogue("outer")
    outer.add("a", "0")
    show(inner, middle)
    show(middle, outer, name="middle")

    with pytest.raises(ValueError, match="'middle', which server 'outer' includes"):
        inner.add("a", "1")
    assert list(inner) == list(middle) == []


def test_only_what_is_the_servers_own_can_be_removed() -> None:
    inner, outer = catalogue("inner"), catalogue("outer")
    inner.add("a", "1")
    show(inner, outer)

    with pytest.raises(KeyError):
        outer.remove("a")


def test_nothing_changes_where_whoever_shows_it_is_closed() -> None:
    def closed() -> None:
        raise RuntimeError("closed")

    inner = catalogue("inner")
    show(inner, Catalogue("word", "name", "outer", closed))

    for change in (lambda: inner.add("a", "1"), inner.check_open):
        with pytest.raises(RuntimeError, match="closed"):
            change()
    assert len(inner) == 0


def test_what_was_offered_once_is_offered_by_whoever_shows_it() -> None:
    inner, early, late = catalogue("inner"), catalogue("early"), catalogue("late")
    show(inner, early)
    assert not early.offered
    inner.offer()
    show(inner, late)

    assert inner.offered
    assert early.offered
    assert late.offered


@given(
    steps=st.lists(st.tuples(st.sampled_from(["add", "remove"]), st.booleans(), st.sampled_from("abcd")), max_size=30)
)
def test_a_borrower_shows_its_own_and_the_lenders_items_and_nothing_else(steps: list[tuple[str, bool, str]]) -> None:
    """Invariant: after any steps, legal or refused, the outer catalogue is its own items and the inner's, in order."""
    inner, outer = catalogue("inner"), catalogue("outer")
    show(inner, outer)
    order: list[str] = []

    for what, is_inner, key in steps:
        whose = inner if is_inner else outer
        try:
            if what == "add":
                whose.add(key, "v")
                order += [] if key in order else [key]
            else:
                whose.remove(key)
                order.remove(key)
        except (KeyError, ValueError):
            pass

    assert list(outer) == order
    assert {*inner} == {*outer.lent}
    assert {*outer.own} | {*outer.lent} == {*outer}
    assert not {*outer.own} & {*outer.lent}
