"""Which capabilities a question needs; how it travels is tested in `interaction`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from dedalus_mcp.errors import CapabilityMissing
from dedalus_mcp.server.asker import check_capability
from dedalus_mcp.types import ClientCapabilities
from tests.ids import shown


def declaring(capabilities: Mapping[str, Any]) -> ClientCapabilities:
    return msgspec.convert(capabilities, ClientCapabilities)


@pytest.mark.parametrize(
    ("declared", "required"),
    [
        ({"elicitation": {}}, {"elicitation": {"form": {}}}),
        ({"elicitation": {"form": {}}}, {"elicitation": {"form": {}}}),
        ({"elicitation": {"form": {}, "url": {}}}, {"elicitation": {"url": {}}}),
        ({"sampling": {}}, {"sampling": {}}),
        ({"sampling": {"tools": {}}}, {"sampling": {"tools": {}}}),
        ({"roots": {}}, {"roots": {}}),
    ],
    ids=shown,
)
def test_what_the_client_declared_may_be_asked(declared: dict[str, Any], required: dict[str, Any]) -> None:
    """ELIC-02: neither mode said means by form."""
    check_capability(declaring(declared), required)


@pytest.mark.parametrize(
    ("declared", "required", "text"),
    [
        ({}, {"elicitation": {"form": {}}}, "Client does not advertise the elicitation capability"),
        ({"elicitation": {}}, {"elicitation": {"url": {}}}, "elicitation capability for mode 'url'"),
        ({"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}, "elicitation capability for mode 'form'"),
        ({}, {"sampling": {}}, "Client does not advertise the sampling capability"),
        ({"sampling": {}}, {"sampling": {"tools": {}}}, "sampling capability for 'tools'"),
        ({}, {"roots": {}}, "Client does not advertise the roots capability"),
    ],
    ids=shown,
)
def test_what_it_did_not_declare_is_refused_and_said(
    declared: dict[str, Any], required: dict[str, Any], text: str
) -> None:
    with pytest.raises(CapabilityMissing, match=text) as caught:
        check_capability(declaring(declared), required)

    assert caught.value.required == required
