"""States: what a client keeps between two rounds, and what they are bound to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from dedalus_mcp.server.journal import Answer
from dedalus_mcp.server.request_state import State, StateWriter, request_digest
from dedalus_mcp.server.rounds import BadState
from dedalus_mcp.server.seal import Seal

KEY = b"k" * 32
LATER = 2.0**40  # seconds since the epoch, long after everybody who runs this


def of_params(params: Any, method: str = "tools/call") -> bytes:
    return request_digest(method, Raw(json.dumps(params).encode()))


REQUEST = of_params({"name": "t"})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def rewritten(node: Any) -> Any:
    """The same JSON, with its members the other way round, and whole numbers with a point."""
    if isinstance(node, dict):
        return {key: rewritten(item) for key, item in reversed(node.items())}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(node, list):
        return [rewritten(item) for item in node]  # pyright: ignore[reportUnknownVariableType]
    return float(node) if type(node) is int else node


def of(arguments: Any) -> bytes:
    return of_params({"name": "t", "arguments": arguments})


@given(json_values)
def test_it_is_the_same_request_however_it_was_written(value: Any) -> None:
    assert of({"a": value}) == of(rewritten({"a": value}))


@given(json_values, json_values)
def test_other_arguments_make_another_request(one: Any, other: Any) -> None:
    same = json.dumps(rewritten(one), sort_keys=True) == json.dumps(rewritten(other), sort_keys=True)

    assert (of({"a": one}) == of({"a": other})) == same


def test_arguments_may_be_nested_as_deeply_as_they_could_be_read() -> None:
    deep = b"[" * 600 + b"]" * 600  # the parser itself ends near 1,000

    one, other = (
        request_digest("tools/call", Raw(b'{"name":"t","arguments":{"%b":%b}}' % (key, deep))) for key in (b"a", b"b")
    )
    assert one != other


def test_target_and_method_belong_to_it_and_the_members_of_rounds_do_not() -> None:
    more = {"_meta": {"progressToken": 1}, "inputResponses": {"a": 1}, "requestState": "x"}

    assert of({}) == of(None) == of_params({"name": "t", **more}) == REQUEST
    others = {
        of_params({"name": "u"}),
        of_params({"uri": "t"}),
        request_digest("tools/call", UNSET),
        of_params({"name": "t"}, "prompts/get"),
        of({"a": 1}),
    }
    assert len({REQUEST, *others}) == 6


def test_a_state_without_keys_names_a_call_and_a_round_and_nothing_else() -> None:
    writer = StateWriter("s", None)
    text = writer.write(State("handle", 3, asked={"a": "roots/list"}, outcomes={}), REQUEST, None)

    assert writer.read(text, REQUEST, None) == State("handle", 3)
    with pytest.raises(BadState, match="another process"):
        StateWriter("s", None).read(text, REQUEST, None)


@pytest.mark.parametrize("text", ["", ".", "..", "~", "~x", "é", "x.y.1", "x.y.z"])
def test_what_was_never_given_out_is_no_state(text: str) -> None:
    for seal in (None, Seal([KEY])):
        with pytest.raises(BadState):
            StateWriter("s", seal).read(text, REQUEST, None)


@pytest.mark.parametrize("digits", ["", "x", "-1", "1.0", "١", "1" * 5])
def test_a_round_is_a_short_number(digits: str) -> None:
    writer = StateWriter("s", None)
    mark = writer.write(State("h", 1), REQUEST, None).partition(".")[0]

    with pytest.raises(BadState, match="none of ours"):
        writer.read(f"{mark}.h.{digits}", REQUEST, None)


def test_a_sealed_state_carries_everything_and_is_bound_to_its_request() -> None:
    writer = StateWriter("s", Seal([KEY]))
    state = State("h", 2, 1.0, LATER, {"a": "roots/list"}, {"b": Answer(b"{}")})
    text = writer.write(state, REQUEST, None)

    assert StateWriter("s", Seal([b"n" * 32, KEY])).read(text, REQUEST, None) == state
    for request, principal in ((of_params({"name": "u"}), None), (REQUEST, "somebody")):
        with pytest.raises(BadState, match="another request or client"):
            writer.read(text, request, principal)
    with pytest.raises(BadState, match="other keys"):
        StateWriter("another server", Seal([KEY])).read(text, REQUEST, None)


def test_a_sealed_state_expires() -> None:
    writer = StateWriter("s", Seal([KEY]))
    text = writer.write(State("h", 1, 0.0, 1.0, {}, {}), REQUEST, None)

    with pytest.raises(BadState, match="expired"):
        writer.read(text, REQUEST, None)


@pytest.mark.parametrize("length", range(3))
def test_a_sealed_state_is_written_in_one_way_alone(length: int) -> None:
    """Base64 has spare bits at its end, and decoders pass over what is none of it."""
    seal = Seal([KEY])
    text = seal.seal(b"x" * length, b"")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    others = [text[:-1] + last for last in alphabet if last != text[-1]]

    assert seal.open(text, b"") == b"x" * length
    assert {seal.open(other, b"") for other in [*others, text + "=", text + "!", f"!{text}", f"{text}\n"]} == {None}


@given(position=st.integers(0, 10_000), change=st.integers(1, 127))
def test_no_character_of_a_sealed_state_can_be_changed(position: int, change: int) -> None:
    writer = StateWriter("s", Seal([KEY]))
    text = writer.write(State("h", 1, 0.0, LATER, {}, {}), REQUEST, None)
    at = position % (len(text) - 1) + 1  # not the mark in front
    spoilt = text[:at] + chr((ord(text[at]) + change) % 128) + text[at + 1 :]

    if spoilt != text:
        with pytest.raises(BadState):
            writer.read(spoilt, REQUEST, None)
