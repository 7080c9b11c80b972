"""The names of questions, and what became of them."""

from __future__ import annotations

import msgspec

from dedalus_mcp.errors import ErrorData
from dedalus_mcp.server.journal import Abandoned, Answer, Fault, Journal, Outcome


def test_the_author_s_key_is_the_name_and_each_asking_has_its_own() -> None:
    journal = Journal()

    assert [journal.name("m", b"{}", "deploy") for _ in range(3)] == ["deploy", "deploy.2", "deploy.3"]


def test_without_a_key_the_name_is_that_of_the_question_whatever_the_order() -> None:
    first, second = Journal(), Journal()
    one = {first.name("m", params, None) for params in (b"1", b"2", b"1")}
    other = {second.name("m", params, None) for params in (b"1", b"1", b"2")}

    assert one == other
    assert len(one) == 3


def test_the_method_is_part_of_a_question() -> None:
    assert Journal().name("a", b"b", None) != Journal().name("ab", b"", None)


def test_what_became_of_a_question_is_known_from_then_on() -> None:
    journal = Journal({"known": Answer(b"1")})
    journal.record("new", Fault(ErrorData(-1, "m")))

    assert journal.outcome("known") == Answer(b"1")
    assert journal.outcome("new") == Fault(ErrorData(-1, "m"))
    assert journal.outcome("other") is None
    assert set(journal.outcomes) == {"known", "new"}


def test_outcomes_survive_being_written_and_read() -> None:
    outcomes: dict[str, Outcome] = {"a": Answer(b'{"x":1}'), "b": Fault(ErrorData(-1, "m", [1])), "c": Abandoned()}

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(outcomes), type=dict[str, Outcome]) == outcomes
