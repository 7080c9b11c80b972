"""Docstrings: parameter texts in three styles, and what is left of the text."""

from __future__ import annotations

import pytest

from dedalus_mcp.schema.docstrings import split

GOOGLE = """Move a file.

    It is copied where it cannot be renamed.

    Args:
        source: What to move.
        target (str, optional): Where to,
            note: relative to the root.

            A second paragraph.
        *rest: The others.
        mode (Callable[[int], str]):
            How.
        unknown: Not a parameter, so part of the text above.

    Returns:
        The new path.

    Raises:
        OSError: It did not work.

    Example:
        move("a", "b")
"""

NUMPY = """Move a file.

    Parameters
    ----------
    source : str
        What to move.
    target, other : str, optional
        Where to.
    bare
        No type.

    Returns
    -------
    str
        The new path.

    Notes
    -----
    It is copied.
"""

SPHINX = """Move a file.

    :param source: What to move,
        in full.
    :param str target: Where to.
    :type target: str
    :returns: The new path.
    :raises OSError: It did not work.

    Afterwards.
"""


def test_google_sections_are_read_and_taken_out() -> None:
    summary, texts = split(GOOGLE, {"source", "target", "rest", "mode"})

    assert summary == ('Move a file.\n\nIt is copied where it cannot be renamed.\n\nExample:\n    move("a", "b")')
    assert texts == {
        "source": "What to move.",
        "target": "Where to, note: relative to the root. A second paragraph.",
        "rest": "The others.",
        "mode": "How. unknown: Not a parameter, so part of the text above.",
    }


def test_numpy_sections_are_read_and_taken_out() -> None:
    summary, texts = split(NUMPY, {"source", "target", "other", "bare"})

    assert summary == "Move a file.\n\nNotes\n-----\nIt is copied."
    assert texts == {"source": "What to move.", "target": "Where to.", "other": "Where to.", "bare": "No type."}


def test_sphinx_fields_are_read_and_taken_out() -> None:
    summary, texts = split(SPHINX, {"source", "target"})

    assert summary == "Move a file.\n\nAfterwards."
    assert texts == {"source": "What to move, in full.", "target": "Where to."}


def test_a_section_after_the_arguments_is_no_argument() -> None:
    summary, texts = split("Do it.\n\nArgs:\n    a: First.\nTodo:\n    b: later\n", {"a", "b"})

    assert texts == {"a": "First."}
    assert summary == "Do it.\n\nTodo:\n    b: later"


@pytest.mark.parametrize("doc", [None, "", "   \n  "], ids=repr)
def test_no_docstring_has_nothing(doc: str | None) -> None:
    assert split(doc, {"a"}) == ("", {})


@pytest.mark.parametrize(
    ("doc", "texts"),
    [
        ("Args:\n", {}),
        ("Args:\n    a:\n", {}),
        ("Parameters\n----------\n", {}),
        ("Args:\n    stray text\n    a: b", {"a": "b"}),
        ("Parameters:\n  a: b\n", {"a": "b"}),
    ],
)
def test_odd_sections_are_no_error(doc: str, texts: dict[str, str]) -> None:
    assert split("\n" + doc, {"a"}) == ("", texts)


def test_a_line_that_only_looks_like_a_header_stays() -> None:
    assert split("\nThings to know:\n    all of it", ()) == ("Things to know:\n    all of it", {})


def alone(a: int, b: int) -> None:
    """Args:
    a: First.
    b: Second,
        in full.
    """


def followed(a: int) -> None:
    """Args:
        a: First.

    Returns:
        Something.

    More text.
    """


def test_a_docstring_may_begin_with_a_section() -> None:
    assert split(alone.__doc__, {"a", "b"}) == ("", {"a": "First.", "b": "Second, in full."})
    assert split(followed.__doc__, {"a"}) == ("More text.", {"a": "First."})
    assert split("Args:\na: First.\n\nMore text.", {"a"}) == ("More text.", {"a": "First."})


@pytest.mark.parametrize("marks", ["`", "``"])
def test_names_may_be_marked_as_code(marks: str) -> None:
    doc = f"Do it.\n\nArgs:\n    {marks}a{marks} (int): First.\n    {marks}*b{marks}: Second."

    assert split(doc, {"a", "b"}) == ("Do it.", {"a": "First.", "b": "Second."})


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=repr)
@pytest.mark.parametrize("indent", ["  ", "    ", "\t"], ids=repr)
def test_line_ends_and_tabs_make_no_difference(indent: str, end: str) -> None:
    doc = end.join(["Do it.", "", "Args:", f"{indent}a: First.", f"{indent}b: Second."])

    assert split(doc, {"a", "b"}) == ("Do it.", {"a": "First.", "b": "Second."})
