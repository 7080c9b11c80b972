"""Capabilities."""

from __future__ import annotations

import msgspec

from dedalus_mcp import types


def test_a_capability_without_settings_is_there() -> None:
    capabilities = msgspec.json.decode(b'{"logging":{},"tools":{}}', type=types.ServerCapabilities)

    assert capabilities.logging
    assert capabilities.tools
    assert capabilities.completions is None
    assert msgspec.json.encode(capabilities) == b'{"logging":{},"tools":{}}'
