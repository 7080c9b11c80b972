"""A form or a page for the user, and what the user did."""

from __future__ import annotations

import msgspec
import pytest

from dedalus_mcp import types
from dedalus_mcp.types.methods import ELICITATION_CREATE


def test_a_form_reads_as_form_and_writes_no_mode() -> None:
    params = types.ElicitRequestParams(message="Deploy?", requestedSchema={"type": "object", "properties": {}})

    assert params.mode == "form"
    assert types.ElicitRequestParams(mode="form", message="m", requestedSchema={}).message == "m"
    assert b"mode" not in msgspec.json.encode(params)
    with pytest.raises(TypeError, match="has mode='form', not 'url'"):
        types.ElicitRequestParams(mode="url", message="m", requestedSchema={})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_the_mode_of_an_elicitation_picks_its_type() -> None:
    form = types.ElicitRequestParams(message="m", requestedSchema={})
    url = types.ElicitRequestURLParams(message="m", url="u", elicitationId="e")
    decode = ELICITATION_CREATE.decode_params

    assert decode(b'{"message":"m","requestedSchema":{}}') == form
    assert decode(b'{"mode":null,"message":"m","requestedSchema":{}}') == form
    assert decode(b'{"mode":"form","message":"m","requestedSchema":{}}') == form
    assert decode(b'{"mode":"url","message":"m","url":"u","elicitationId":"e"}') == url
    with pytest.raises(msgspec.ValidationError, match="legal are 'form' and 'url'"):
        decode(b'{"mode":"sms","message":"m"}')


@pytest.mark.parametrize(
    "answer", [b'{"action":"cancel","content":null}', b'{"action":"cancel"}', b'{"action":"decline","content":{}}']
)
def test_an_answer_without_content_is_read_however_it_is_written(answer: bytes) -> None:
    """B014: null and missing content are the same."""
    result = ELICITATION_CREATE.decode_result(answer)

    assert result.action in ("cancel", "decline")
    assert not result.content


def test_an_answer_keeps_floats_and_lists() -> None:
    result = ELICITATION_CREATE.decode_result(b'{"action":"accept","content":{"a":1,"b":1.5,"c":["x"],"d":true}}')

    assert msgspec.json.encode(result) == b'{"action":"accept","content":{"a":1,"b":1.5,"c":["x"],"d":true}}'
