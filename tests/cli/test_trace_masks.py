"""Secrets are masked by the names of members, and in text by their looks."""

from __future__ import annotations

from typing import Any

import pytest

from dedalus_mcp.cli.trace_masks import MASK, masked, masked_text


@pytest.mark.parametrize(
    "name",
    ["Authorization", "access_token", "refreshToken", "TOKEN", "x-api-key", "clientSecret", "password", "requestState"],
)
def test_a_member_is_a_secret_by_its_name_however_deep(name: str) -> None:
    assert masked({"a": [{name: "abc", "b": 1}]}) == {"a": [{name: MASK, "b": 1}]}


@pytest.mark.parametrize(
    "message",
    [
        {"progressToken": 7, "nextToken": "abc", "maxTokens": 100},
        {"properties": {"password": {"type": "string"}}, "token": None, "secret": True},
        ["plain", 1, 1.5, None],
    ],
)
def test_what_is_no_secret_stays(message: Any) -> None:
    assert masked(message) == message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abc.def-1", f"Authorization: Bearer {MASK}"),
        ("see https://a.example/?x=1&access_token=abc&y=2", f"see https://a.example/?x=1&access_token={MASK}&y=2"),
        ("got eyJhbGciOi.eyJzdWIi.c2ln!", f"got {MASK}!"),
        ("the bearer", "the bearer"),
    ],
)
def test_tokens_in_text_are_masked_and_the_rest_stays(text: str, shown: str) -> None:
    assert masked_text(text) == shown
    assert masked({"text": text}) == {"text": shown}
