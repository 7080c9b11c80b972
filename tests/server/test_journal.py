"""The names of questions, and what became of them."""

from __future__ import annotations

import msgspec
import pytest

from dedalus_mcp.errors import AskFailed, CapabilityMissing, ErrorData
from dedalus_mcp.server.journal import Abandoned, Answer, Fault, Journal, Outcome, check_name


def test_the_author_s_key_is_the_name_and_each_asking_has_its_own() -> None:
    journal = Journal()

    assert [journal.name("m", b"{}", "deploy") for _ in range(3)] == ["deploy", "deploy.2", "deploy.3"]


def test_without_a_key_the_name_is_that_of_the_question_whatever_the_order() -> None:
    first, second = Journal(), Journal()
    one = {first.name("m", params, None) for params in (b"1", b"2", b"1")}
    other = {second.name("m", params, None) for params in (b"1", b"1", b"2")}

    assert one == other
    assert len(one) == 3


def test_no_two_questions_share_a_name_whatever_their_keys_look_like() -> None:
    journal = Journal()
    keys = ["deploy", "deploy.2", "deploy", "deploy.2", "deploy.2.1", "deploy", ".1", ".1"]
    names = [journal.name("m", b"{}", key) for key in keys]

    assert len(set(names)) == len(keys)
    assert names[:3] == ["deploy", "deploy.2.1", "deploy.2"]


@pytest.mark.parametrize("name", ["", "\0step", "\ud800", "two\nlines", "x" * 201])
def test_a_name_is_printable_and_short(name: str) -> None:
    with pytest.raises(ValueError, match="1 to 200 printable characters"):
        check_name("the key", name)


def test_a_name_is_a_text() -> None:
    with pytest.raises(TypeError, match="the key is a text, not 5"):
        check_name("the key", 5)


def test_an_error_is_kept_without_what_is_not_json() -> None:
    assert Fault.of(ErrorData(-1, "half \ud800", {"n": 10**30})).read() == ErrorData(-1, "half \ufffd", {"n": 10**30})
    assert Fault.of(ErrorData(-1, "m", object())).read() == ErrorData(-1, "m")


def test_a_missing_capability_is_told_as_one_again() -> None:
    missing = Fault.of(ErrorData(-32601, "m"), {"sampling": {}}).as_failure()

    assert isinstance(missing, CapabilityMissing)
    assert missing.required == {"sampling": {}}
    assert type(Fault.of(ErrorData(-32603, "m")).as_failure()) is AskFailed


def test_the_method_is_part_of_a_question() -> None:
    assert Journal().name("a", b"b", None) != Journal().name("ab", b"", None)


def test_what_became_of_a_question_is_known_from_then_on() -> None:
    journal = Journal({"known": Answer(b"1")})
    journal.record("new", Fault.of(ErrorData(-1, "m")))

    assert journal.outcome("known") == Answer(b"1")
    assert journal.outcome("new") == Fault.of(ErrorData(-1, "m"))
    assert journal.outcome("other") is None
    assert set(journal.outcomes) == {"known", "new"}


def test_outcomes_survive_being_written_and_read() -> None:
    outcomes: dict[str, Outcome] = {"a": Answer(b'{"x":1}'), "b": Fault.of(ErrorData(-1, "m", [1])), "c": Abandoned()}

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(outcomes), type=dict[str, Outcome]) == outcomes
