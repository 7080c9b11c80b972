"""Inputs near those that are kept, and any others, hold the invariant of each target."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.mutation import LONGEST, mutated
from tests.fuzz.targets import NAMES, corpus, load

EXAMPLES = 150


def near(name: str) -> st.SearchStrategy[bytes]:
    """Inputs that came of those that are kept by a few changes."""
    kept = corpus(name)

    def changed(number: int, times: int) -> bytes:
        random = Random(number)
        data = random.choice(kept)
        for _ in range(times):
            data = mutated(data, kept, random)
        return data

    return st.builds(changed, st.integers(0, 2**32), st.integers(1, 3))


@pytest.mark.parametrize("name", NAMES)
def test_the_invariant_holds_near_what_is_kept(name: str) -> None:
    """B101."""
    target = load(name)

    @settings(max_examples=EXAMPLES)
    @given(near(name) | st.binary(max_size=200))
    def check(data: bytes) -> None:
        target(data)

    check()


def test_a_changed_input_is_another_and_not_too_long() -> None:
    random = Random(0)
    data = b"seed" * 100

    made = [mutated(data, [data, b"x" * LONGEST], random) for _ in range(1000)]

    assert max(map(len, made)) <= LONGEST
    assert len(set(made)) > 900
