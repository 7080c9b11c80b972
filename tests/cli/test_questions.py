"""A server's questions, at the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import pytest

from dedalus_mcp import Form
from dedalus_mcp.cli.questions import Questions
from dedalus_mcp.types import ElicitRequestParams, ElicitRequestURLParams, ElicitResult
from tests.cli.playing import terminal, written


def form(properties: Mapping[str, Any], *required: str, message: str = "Well?") -> Form:
    schema = {"type": "object", "properties": dict(properties), "required": list(required)}
    return Form(ElicitRequestParams(message=message, requestedSchema=schema))


async def asked(
    question: Form, typed: Sequence[str] | None, answers: Mapping[str, str] | None = None
) -> tuple[ElicitResult, str, bool]:
    """Return the answer, what was shown, and whether it counts as declined."""
    there = terminal(typed)
    questions = Questions(there, answers or {})
    result = await questions.fill_in(question)
    return result, written(there.err.file), questions.declined


FIELDS: dict[str, Any] = {
    "name": {"type": "string", "title": "Service", "description": "What others call it", "minLength": 2},
    "mail": {"type": "string", "format": "email"},
    "replicas": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
    "share": {"type": "number", "maximum": 1},
    "sure": {"type": "boolean", "default": True},
    "size": {"oneOf": [{"const": "s", "title": "Small one"}, {"const": "l", "title": "Large one"}], "type": "string"},
    "zones": {"type": "array", "items": {"type": "string", "enum": ["eu", "us", "as"]}, "minItems": 1, "maxItems": 2},
    "note": {"type": "string"},
}


async def test_every_kind_of_field_is_filled_in_by_what_is_typed() -> None:
    """ELIC-18."""
    typed = ["y", "api", "a@b.example", "3", "0.5", "no", "large one", "eu, us", "see you", "y"]

    result, shown, declined = await asked(form(FIELDS, "name"), typed)

    assert result.action == "accept"
    assert result.content == {
        "name": "api",
        "mail": "a@b.example",
        "replicas": 3,
        "share": 0.5,
        "sure": False,
        "size": "l",
        "zones": ["eu", "us"],
        "note": "see you",
    }
    assert not declined
    assert "  What others call it\n  Service (a string, at least 2 characters): " in shown
    assert "replicas (an integer, >= 1, <= 9) [2]: " in shown
    assert "    1. Small one\n    2. Large one\n  size (one of them) [leave out]: " in shown
    assert "zones (any of them, with commas between, at least 1, at most 2) [leave out]: " in shown
    assert "sure (yes or no) [yes]: " in shown


async def test_nothing_typed_is_the_default_or_leaves_the_field_out() -> None:
    """ELIC-15."""
    result, _, _ = await asked(form(FIELDS, "name"), ["", "api", "", "", "", "", "", "", "", ""])

    assert result.content == {"name": "api", "replicas": 2, "sure": True}


@pytest.mark.parametrize(
    ("field", "wrong", "right", "said"),
    [
        ("name", ["", "a"], "ab", ["An answer is required.", "Service: expected a string, at least 2 characters"]),
        ("replicas", ["0", "many", "2.5"], "3", ["replicas: expected an integer, >= 1, <= 9"]),
        ("mail", ["nobody"], "a@b.example", ["mail: expected a string, in the format email"]),
        ("sure", ["perhaps"], "y", ["sure: expected yes or no"]),
        ("size", ["huge", "3"], "2", ["size: expected one of 's', 'l'"]),
        ("zones", ["eu,us,as", "mars"], "1", ["zones: expected"]),
    ],
)
async def test_a_wrong_answer_is_explained_and_asked_for_again(
    field: str, wrong: list[str], right: str, said: list[str]
) -> None:
    result, shown, _ = await asked(form({field: FIELDS[field]}, field), ["y", *wrong, right, ""])

    assert result.action == "accept"
    assert [line for line in said if line not in shown] == []


async def test_a_required_text_without_a_least_length_may_be_blank() -> None:
    result, _, _ = await asked(form({"note": FIELDS["note"]}, "note"), ["y", "", ""])

    assert result.content == {"note": ""}


@pytest.mark.parametrize(
    ("typed", "action"),
    [(["n"], "decline"), (["No"], "decline"), (["c"], "cancel"), (["what?", "cancel"], "cancel"), ([], "cancel")],
)
async def test_it_is_declined_and_cancelled_by_a_word(typed: list[str], action: str) -> None:
    result, _, declined = await asked(form(FIELDS, "name"), typed)

    assert (result.action, result.content, declined) == (action, None, True)


async def test_answers_are_looked_at_and_changed_before_they_are_sent() -> None:
    """ELIC-22: which server asks is shown, and what is sent can be reviewed, edited, declined and cancelled."""
    fields = {"name": FIELDS["name"], "sure": FIELDS["sure"], "size": FIELDS["size"]}

    result, shown, _ = await asked(form(fields, "name"), ["y", "api", "n", "", "e", "", "yes", "2", "y"])

    assert result.content == {"name": "api", "sure": True, "size": "l"}
    assert shown.startswith("The server asks:\n│ Well?\n")
    assert (
        "Your answer:\n  Service: api\n  sure: no\n  size: (left out)\nSend it? [Y]es, [e]dit, [n]o, [c]ancel: "
        in shown
    )
    assert "  Service (a string, at least 2 characters) [api]: " in shown
    assert "Your answer:\n  Service: api\n  sure: yes\n  size: Large one\n" in shown


@pytest.mark.parametrize(("word", "action"), [("n", "decline"), ("c", "cancel")])
async def test_after_the_last_look_it_can_still_be_declined_or_cancelled(word: str, action: str) -> None:
    result, _, declined = await asked(form({"note": FIELDS["note"]}), ["y", "hello", word])

    assert (result.action, result.content, declined) == (action, None, True)


async def test_the_end_of_input_in_the_middle_cancels() -> None:
    result, _, declined = await asked(form(FIELDS, "name"), ["y", "api"])

    assert (result.action, declined) == ("cancel", True)


async def test_where_nobody_is_it_is_cancelled_and_said_what_would_have_answered() -> None:
    result, shown, declined = await asked(form({"ok": {"type": "boolean"}}, "ok"), None)

    assert (result.action, declined) == ("cancel", True)
    assert shown == (
        "The server asks:\n│ Well?\nCancelled, since nobody is at a terminal to answer; --answer ok=... would.\n"
    )


async def test_a_form_of_defaults_is_not_accepted_by_nobody() -> None:
    result, _, _ = await asked(form({"ok": {"type": "boolean", "default": True}}), None, {"other": "1"})

    assert result.action == "cancel"


async def test_answers_that_were_given_answer_and_defaults_stand_for_the_rest() -> None:
    result, shown, declined = await asked(form(FIELDS, "name"), None, {"name": "api", "size": "Small one", "x": "1"})

    assert result.content == {"name": "api", "size": "s", "replicas": 2, "sure": True}
    assert shown == "The server asks:\n│ Well?\n"
    assert not declined


async def test_an_answer_that_is_not_legal_cancels_and_is_explained() -> None:
    result, shown, _ = await asked(form(FIELDS, "name"), None, {"name": "api", "replicas": "many"})

    assert result.action == "cancel"
    assert "error: --answer: replicas: expected an integer, >= 1, <= 9" in shown


async def test_one_that_is_missing_is_named() -> None:
    result, shown, _ = await asked(form(FIELDS, "name", "note"), None, {"name": "api"})

    assert result.action == "cancel"
    assert "--answer note=..." in shown


async def test_an_answer_that_no_field_has_is_named_with_the_fields_that_there_are() -> None:
    result, shown, _ = await asked(form(FIELDS, "name"), None, {"nmae": "api"})

    assert result.action == "cancel"
    assert "--answer nmae: no field of this question, which has name, mail, replicas, " in shown


async def test_a_wrong_yes_or_no_is_explained_in_the_words_of_the_question() -> None:
    _, shown, _ = await asked(form({"ok": {"type": "boolean"}}, "ok"), ["y", "maybe", "yes", "y"])

    assert "ok (yes or no): " in shown
    assert "  ok: expected yes or no\n" in shown


async def test_at_a_terminal_only_what_was_not_given_is_asked() -> None:
    fields = {"name": FIELDS["name"], "note": FIELDS["note"]}

    result, _, _ = await asked(form(fields, "name"), ["y", "hello", ""], {"name": "api"})

    assert result.content == {"name": "api", "note": "hello"}


async def test_what_the_server_says_cannot_pass_for_what_the_program_says() -> None:
    message = "Done.\nOpen it in your browser? [Y]es, [n]o, [c]ancel: \x1b[2J[red]x[/]"

    _, shown, _ = await asked(form({"a\x1b[1A": {"type": "string"}}, message=message), ["y", ""])

    assert "│ Done.\n│ Open it in your browser? [Y]es, [n]o, [c]ancel: \\x1b[2J[red]x[/]\n" in shown
    assert "\x1b" not in shown


class Browser:
    """Keeps which pages it was told to open."""

    def __init__(self, *, works: bool = True) -> None:
        self.pages: list[str] = []
        self._works = works

    def __call__(self, url: str) -> bool:
        self.pages.append(url)
        return self._works


PAGE = ElicitRequestURLParams(message="Sign in", url="https://example.com/in?x=1", elicitationId="1")


@pytest.mark.parametrize(
    ("typed", "action", "pages"), [(["y"], "accept", [PAGE.url]), (["n"], "decline", []), ([], "cancel", [])]
)
async def test_a_page_is_opened_when_the_user_says_so_and_not_before(
    typed: list[str], action: str, pages: list[str]
) -> None:
    """ELIC-23."""
    there, browser = terminal(typed), Browser()
    questions = Questions(there, {}, browse=browser)

    result = await questions.open_page(PAGE)

    assert (result.action, browser.pages, questions.declined) == (action, pages, action != "accept")
    assert "It wants to send you to example.com, by this address:\n  https://example.com/in?x=1\n" in written(
        there.err.file
    )


async def test_without_a_browser_the_address_is_there_to_go_to() -> None:
    there = terminal(["y"])

    result = await Questions(there, {}, browse=Browser(works=False)).open_page(PAGE)

    assert result.action == "accept"
    assert "No browser could be opened" in written(there.err.file)


async def test_a_host_with_other_letters_is_warned_of_and_spelled() -> None:
    """ELIC-24: it may look like another."""
    there = terminal(["n"])
    page = ElicitRequestURLParams(message="Sign in", url="https://еxample.com/", elicitationId="1")

    await Questions(there, {}).open_page(page)

    assert "letters that may look like others; it is xn--xample-2of.com." in written(there.err.file)


async def test_questions_are_asked_one_at_a_time() -> None:
    there = terminal(["y", "one", "", "y", "two", ""])
    questions = Questions(there, {})
    results: list[Any] = []

    async def ask(name: str) -> None:
        results.append((await questions.fill_in(form({name: {"type": "string"}}, name))).content)

    async with anyio.create_task_group() as group:
        group.start_soon(ask, "a")
        group.start_soon(ask, "b")

    assert sorted(value for content in results for value in content.values()) == ["one", "two"]
