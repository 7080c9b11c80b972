"""Which of the specification's rules have a test: a manifest that can only become better.

Every rule of the protocol has an id.  A test names the rules that it checks in its docstring or in
a comment.  Beside this module lie three lists of ids, one a line, sorted:

    musts.txt      what the specification says a server or client MUST or MUST NOT do
    others.txt     the other ids: recommendations, notes, and what binds other parties
    untested.txt   the musts that no test names yet

After writing tests, ``python -m tests.requirements`` takes from `untested.txt` what they name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ("cited", "listed", "shrink")

HERE = Path(__file__).parent
TESTS = HERE.parent


def listed(name: str) -> list[str]:
    """The ids of one list, as they stand in the file."""
    return (HERE / f"{name}.txt").read_text().split()


def cited() -> dict[str, set[str]]:
    """Every id that looks like a rule's and stands in a test file, with the files that name it."""
    areas = {id.partition("-")[0] for name in ("musts", "others") for id in listed(name)}
    pattern = re.compile(rf"\b(?:{'|'.join(sorted(areas))})-\d+\b")
    found: dict[str, set[str]] = {}
    for path in _tests():
        for id in pattern.findall(path.read_text()):
            found.setdefault(id, set()).add(path.relative_to(TESTS).as_posix())
    return found


def shrink() -> list[str]:
    """Take the tested ids from the list of untested ones, and return them.  Nothing is ever added."""
    untested, tested = listed("untested"), cited()
    (HERE / "untested.txt").write_text("".join(f"{id}\n" for id in untested if id not in tested))
    return [id for id in untested if id in tested]


def _tests() -> Iterator[Path]:
    for path in sorted(TESTS.rglob("*.py")):
        if HERE not in path.parents and path.name != "test_requirements.py":
            yield path
