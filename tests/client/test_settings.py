"""`ClientSettings`: one list of what may be set, checked before anything is opened."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from dedalus_mcp import ClientSettings, MCPClient
from dedalus_mcp.client.settings import conduct_of
from tests.client.serving import offering


def test_a_setting_that_does_not_exist_is_refused_before_anything_is_opened() -> None:
    wrong: Any = {"elicitatoin": None}

    with pytest.raises(TypeError, match=r"no setting 'elicitatoin'; legal are elicitation, elicitation_url, "):
        MCPClient.connect(offering(), **wrong)


def test_every_setting_is_documented_and_has_a_default() -> None:
    documented = inspect.getdoc(ClientSettings) or ""

    assert [name for name in ClientSettings.__annotations__ if f"{name}:" not in documented] == []
    assert conduct_of({}).max_rounds == 10
    assert conduct_of({}).opening.revision is None


@pytest.mark.parametrize("wrong", [-1, -10])
def test_rounds_that_are_no_count_are_refused(wrong: int) -> None:
    with pytest.raises(ValueError, match="max_rounds is a count >= 0"):
        conduct_of({"max_rounds": wrong})
