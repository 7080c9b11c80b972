"""The secrets under which states are sealed."""

from __future__ import annotations

from typing import Any

import pytest

from dedalus_mcp.state_keys import key_bytes

KEY = b"k" * 32


def test_keys_are_bytes_or_text() -> None:
    assert key_bytes([KEY, "x" * 32]) == [KEY, b"x" * 32]
    assert key_bytes([]) == []


@pytest.mark.parametrize("keys", [[b"k" * 31], ["x" * 31], [KEY, b""], [None], [bytearray(32)], KEY, "x" * 32])
def test_keys_that_are_none_are_refused(keys: Any) -> None:
    with pytest.raises(ValueError, match="state_keys"):
        key_bytes(keys)


def test_the_refusal_shows_no_key() -> None:
    with pytest.raises(ValueError, match="31 bytes") as caught:
        key_bytes([KEY, "secret".ljust(31)])

    assert "secret" not in str(caught.value)
