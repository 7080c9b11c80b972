"""Values of `Mcp-Name` and `Mcp-Param-*`: any header is a text or a `ValueError`, and any text a header.

A text comes back as it was.  Any tool's schema names headers, or says why not; any arguments are in them, or not.

    a header's value
    ---
    the input schema of a tool
    ---
    arguments
"""

from __future__ import annotations

from typing import Any

from dedalus_mcp_transports.http_headers import Headers, decode_value, encode_value
from dedalus_mcp_transports.http_params import annotation_fault, check_params, mirrored, param_headers
from tests.fuzz.pieces import json_object, parts

__all__ = ("target",)

LONGEST = 400


def target(data: bytes) -> None:
    """Read a header, and mirror arguments into headers."""
    value, schema, arguments = parts(data, 3)
    _read(value)
    _read_back(value.decode(errors="replace"))
    found = json_object(schema) or {}
    fault = annotation_fault(found)
    if fault is None:
        _mirror(found, json_object(arguments), value)
    assert fault is None or len(fault) < LONGEST


def _read(value: bytes) -> None:
    try:
        text = decode_value(value)
    except ValueError:
        return
    _read_back(text)


def _read_back(text: str) -> None:
    header = encode_value(text)
    assert header.isascii()
    assert header.isprintable()
    assert decode_value(header) == text


def _mirror(schema: dict[str, Any], arguments: dict[str, Any] | None, value: bytes) -> None:
    mirrors = mirrored(schema)
    try:
        sent = param_headers(mirrors, arguments)
    except ValueError:
        return
    said = Headers([(name.lower().encode(), text.encode()) for name, text in sent.items()])
    assert check_params(mirrors, arguments, said) is None
    for mirror in mirrors:
        check_params(mirrors, arguments, Headers([(mirror.header.lower().encode(), value)]))
