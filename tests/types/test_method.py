"""A method decodes what is sent under its name."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from dedalus_mcp import types
from dedalus_mcp.types.methods import (
    CANCELLED,
    ELICITATION_CREATE,
    PING,
    PROMPTS_GET,
    SAMPLING_CREATE_MESSAGE,
    TOOLS_CALL,
    TOOLS_LIST,
)

ASK = b'{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"s"}'


def test_params_are_decoded_from_bytes_and_from_a_view() -> None:
    params = types.CallToolRequestParams(name="add", arguments={"a": 1})
    raw = b'{"name":"add","arguments":{"a":1}}'

    assert TOOLS_CALL.decode_params(raw) == params
    assert TOOLS_CALL.decode_params(Raw(raw)) == params
    assert TOOLS_CALL.convert_params({"name": "add", "arguments": {"a": 1}}) == params


def test_absent_and_null_params_are_an_empty_object() -> None:
    """B118: absent `params` mean an empty object."""
    assert TOOLS_LIST.decode_params() == types.PaginatedRequestParams()
    assert TOOLS_LIST.decode_params(Raw(b" null ")) == types.PaginatedRequestParams()
    with pytest.raises(msgspec.ValidationError, match="name"):
        TOOLS_CALL.decode_params()
    with pytest.raises(msgspec.ValidationError, match="name"):
        TOOLS_CALL.decode_params(b"null")


@pytest.mark.parametrize("raw", [b'"x"', b"5", b"[]", b'{"name":5}', b'{"name":"n","arguments":"{}"}', b"{}"])
def test_params_of_the_wrong_shape_are_refused(raw: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        TOOLS_CALL.decode_params(raw)


def test_what_is_no_json_is_told_apart() -> None:
    with pytest.raises(msgspec.DecodeError) as caught:
        TOOLS_CALL.decode_params(b"{")

    assert not isinstance(caught.value, msgspec.ValidationError)


def test_ids_keep_their_type() -> None:
    assert CANCELLED.decode_params(b'{"requestId":1}').requestId == 1
    assert CANCELLED.decode_params(b'{"requestId":"1"}').requestId == "1"
    for wrong in (b"1.0", b"true", b"[1]"):
        with pytest.raises(msgspec.ValidationError):
            CANCELLED.decode_params(b'{"requestId":' + wrong + b"}")


def test_a_method_says_whether_it_needs_params() -> None:
    assert TOOLS_CALL.params_required
    assert ELICITATION_CREATE.params_required
    assert CANCELLED.params_required is False
    assert PING.params_required is False


def test_an_outcome_is_the_result_or_asks_for_input_first() -> None:
    result = types.CallToolResult(content=[types.TextContent(text="a")], resultType="complete")
    ask = types.InputRequiredResult(inputRequests={"a": types.ListRootsRequest()}, requestState="s")

    assert TOOLS_CALL.decode_outcome(msgspec.json.encode(result)) == result
    assert TOOLS_CALL.decode_outcome(b"{}") == types.CallToolResult()  # absent means complete: AMB-10
    assert TOOLS_CALL.decode_outcome(ASK) == ask
    assert PROMPTS_GET.decode_outcome(ASK) == ask


def test_an_outcome_of_a_kind_that_the_method_does_not_have_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="tools/call has no resultType 'task'"):
        TOOLS_CALL.decode_outcome(b'{"resultType":"task"}')
    with pytest.raises(msgspec.ValidationError, match="tools/list has no resultType 'input_required'"):
        TOOLS_LIST.decode_outcome(ASK)


def test_an_input_response_is_converted_by_the_method_it_answers() -> None:
    answer = {"role": "assistant", "model": "m", "content": {"type": "hologram", "x": 1}}
    result = SAMPLING_CREATE_MESSAGE.convert_result(answer)

    assert result.content == types.UnknownContent(type="hologram", x=1)
    assert ELICITATION_CREATE.convert_result({"action": "accept", "content": {"a": 1}}).content == {"a": 1}
    with pytest.raises(msgspec.ValidationError):
        ELICITATION_CREATE.convert_result({"action": "maybe"})


def test_a_method_shows_its_name() -> None:
    assert repr(TOOLS_CALL) == "<Method tools/call>"
    assert repr(CANCELLED) == "<NotificationMethod notifications/cancelled>"
    assert TOOLS_CALL.params is types.CallToolRequestParams
    assert TOOLS_CALL.result is types.CallToolResult


def test_a_result_of_the_wrong_shape_is_refused() -> None:
    for method in (PING, TOOLS_CALL):  # without content blocks in it, and with
        with pytest.raises(msgspec.ValidationError):
            method.decode_result(b"[]")
        with pytest.raises(msgspec.ValidationError):
            method.convert_result([])


def test_a_block_of_an_unknown_type_does_not_fail_the_result() -> None:
    result = TOOLS_CALL.decode_result(b'{"content":[{"type":"hologram","x":1}]}')

    assert result.content == [types.UnknownContent(type="hologram", x=1)]
