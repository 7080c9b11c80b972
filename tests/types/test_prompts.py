"""A prompt argument is made of what people write."""

from __future__ import annotations

import pytest

from dedalus_mcp import types


def test_a_prompt_argument_is_made_of_a_mapping() -> None:
    argument = types.PromptArgument(name="language", required=False)

    assert types.PromptArgument.of({"name": "language", "required": False}) == argument
    assert types.PromptArgument.of(argument) is argument
    with pytest.raises(TypeError, match="PromptArgument has no 'requird'"):
        types.PromptArgument.of({"name": "n", "requird": True})
