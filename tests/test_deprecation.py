"""What goes away warns whoever uses it, says what to use instead, and is gone in the version that it names."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import anyio.lowlevel
import pytest

import dedalus_mcp
from dedalus_mcp.deprecation import DedalusDeprecationWarning, deprecated, warn_deprecated
from tests.sources import PACKAGES, ROOT, modules

TEXT = "`old` is deprecated since 0.9, removed in 0.11: use `new`"
FORM = re.compile(r"`[^`]+` is deprecated since (\d+)\.(\d+), removed in (\d+)\.(\d+): \S.*")

shown = pytest.mark.filterwarnings("always")


class Old:
    @deprecated("`old` is deprecated since 0.9, removed in 0.11: use `new`")
    def method(self) -> str:
        """Was here."""
        return "method"

    @classmethod
    @deprecated("`old` is deprecated since 0.9, removed in 0.11: use `new`")
    def of_class(cls) -> str:
        return cls.__name__


@deprecated("`old` is deprecated since 0.9, removed in 0.11: use `new`")
async def asynchronous(a: int) -> int:
    await anyio.lowlevel.checkpoint()
    return a


def takes(*, old: int) -> int:
    warn_deprecated(TEXT)
    return old


async def takes_too(*, old: int) -> int:
    await anyio.lowlevel.checkpoint()
    warn_deprecated(TEXT)
    return old


def hands_on() -> int:
    return inner()


def inner() -> int:
    warn_deprecated(TEXT, above=2)
    return 1


def told(caught: list[warnings.WarningMessage], word: str) -> bool:
    """Whether that is the one warning, and of the line with this word."""
    (one,) = caught
    assert (str(one.message), one.category, one.filename) == (TEXT, DedalusDeprecationWarning, __file__)
    return word in Path(__file__).read_text().splitlines()[one.lineno - 1]


@shown
def test_the_line_that_calls_is_told() -> None:
    with warnings.catch_warnings(record=True) as caught:
        assert Old().method() == "method"  # pyright: ignore[reportDeprecated]  # here, the method

    assert told(caught, "here, the method")


@shown
def test_what_belongs_to_a_class_warns_likewise() -> None:
    with warnings.catch_warnings(record=True) as caught:
        assert Old.of_class() == "Old"  # pyright: ignore[reportDeprecated]  # here, of the class

    assert told(caught, "here, of the class")


@shown
async def test_the_line_that_awaits_is_told() -> None:
    with warnings.catch_warnings(record=True) as caught:
        assert await asynchronous(1) == 1  # pyright: ignore[reportDeprecated]  # here, awaited

    assert told(caught, "here, awaited")


@shown
async def test_an_argument_warns_the_line_that_gives_it() -> None:
    with warnings.catch_warnings(record=True) as caught:
        assert takes(old=1) == 1  # here, given
    assert told(caught, "here, given")

    with warnings.catch_warnings(record=True) as caught:
        assert await takes_too(old=1) == 1  # here, given and awaited
    assert told(caught, "here, given and awaited")


@shown
def test_who_stands_further_above_can_be_meant() -> None:
    with warnings.catch_warnings(record=True) as caught:
        hands_on()  # here, further above

    assert told(caught, "here, further above")


def test_a_function_stays_what_it_was() -> None:
    assert inspect.iscoroutinefunction(asynchronous)  # pyright: ignore[reportDeprecated]
    assert not inspect.iscoroutinefunction(Old.method)  # pyright: ignore[reportDeprecated]
    assert str(inspect.signature(Old.method)) == "(self) -> 'str'"  # pyright: ignore[reportDeprecated]
    assert Old.method.__doc__ == "Was here."  # pyright: ignore[reportDeprecated]
    assert getattr(Old.method, "__deprecated__", None) == TEXT  # pyright: ignore[reportDeprecated]


def test_a_warning_is_shown_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    """A module's `DeprecationWarning` is not: those who run a program would never see it."""
    (tmp_path / "theirs.py").write_text(
        f"from dedalus_mcp.deprecation import *\ndef use(): warn_deprecated({TEXT!r})\n"
    )
    paths = [str(tmp_path), *map(str, PACKAGES.values())]
    program = f"import sys; sys.path[:0] = {paths}; import theirs; theirs.use()"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert TEXT in done.stderr


def uses(source: str) -> Iterator[str]:
    """What is said of each thing that goes away; an empty text where it is not written out in its place."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _name(node.func) in {"deprecated", "warn_deprecated"}:
            text = node.args[0] if node.args else None
            yield text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""


def _name(function: ast.expr) -> str:
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def fault(text: str, version: str) -> str | None:
    """What is wrong with a text in this version of the library."""
    form = FORM.fullmatch(text)
    if form is None:
        return f"not of the form {TEXT!r}"
    since, removed = (int(form[1]), int(form[2])), (int(form[3]), int(form[4]))
    now = tuple(int(part) for part in version.split(".")[:2])
    if since >= removed:
        return "it warns for at least one minor release"
    return f"{version} is to be without it" if now >= removed else None


def test_what_goes_away_is_told_in_one_form_and_is_gone_in_its_version() -> None:
    faults = {
        f"{name}: {text!r}": found
        for name, path in modules()
        if name != "dedalus_mcp.deprecation"
        for text in uses(path.read_text())
        if (found := fault(text, dedalus_mcp.__version__)) is not None
    }

    assert faults == {}


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("0.9.0", None),
        ("0.10.4", None),
        ("0.11.0", "0.11.0 is to be without it"),
        ("1.0.0", "1.0.0 is to be without it"),
    ],
)
def test_what_should_be_gone_is_found(version: str, found: str | None) -> None:
    source = f"class A:\n    @deprecated({TEXT!r})\n    def f(self): deprecation.warn_deprecated({TEXT!r}, above=2)\n"

    assert [fault(text, version) for text in uses(source)] == [found, found]


@pytest.mark.parametrize("given", ["", "text", "f'since {x}'", "'is deprecated'", repr(TEXT.replace("0.11", "0.9"))])
def test_what_does_not_say_when_is_found(given: str) -> None:
    (text,) = uses(f"warn_deprecated({given})")

    assert fault(text, "0.8.0") is not None


def test_the_version_is_written_in_one_place() -> None:
    """`dedalus_mcp.__version__`; the build reads it there, and the changelog tells of released ones."""
    version, named = dedalus_mcp.__version__, re.compile(rf"['\"]{re.escape(dedalus_mcp.__version__)}['\"]")
    repeated = [name for name, path in modules() if name != "dedalus_mcp" and named.search(path.read_text())]

    assert repeated == []
    assert version not in (ROOT / "pyproject.toml").read_text()
