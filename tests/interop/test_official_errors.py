"""Our errors beside the official package: its module wins, and its `except` catches what we raise."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest

from tests.installed import ROOT, Installation
from tests.interop.install import MCP1, MCP2, home

OFFICIAL = {MCP1: "McpError", MCP2: "MCPError"}
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"


LOOP = """
import contextlib as _contextlib, io as _io, json as _json, sys as _sys, traceback as _traceback
import copy, pickle
from dedalus_mcp.errors import ErrorData, McpError, NoActiveCall
for _line in _sys.stdin:
    _out = _io.StringIO()
    with _contextlib.redirect_stdout(_out):
        try:
            exec(_json.loads(_line))
        except BaseException:
            _traceback.print_exc(file=_out)
    print(_json.dumps(_out.getvalue()), flush=True)
"""


class Beside(Installation):
    """Our editable installation in an environment that has the official package too."""

    def __init__(self, directory: Path, requirement: str) -> None:
        self.error = OFFICIAL[requirement]
        self.official_site = home(requirement) / "lib" / VERSION / "site-packages"
        super().__init__(directory, "--editable", str(ROOT), beside=(self.official_site,))

    @cached_property
    def _both(self) -> subprocess.Popen[str]:
        program = f"from mcp.shared.exceptions import {self.error} as Theirs\n{LOOP}"
        command = [str(self.python), "-I", "-c", program]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.site)

    def both(self, *lines: str) -> str:
        """Run lines where both are imported, the official error as `Theirs`; one interpreter for all tests."""
        assert self._both.stdin is not None
        assert self._both.stdout is not None
        self._both.stdin.write(json.dumps("\n".join(lines)) + "\n")
        self._both.stdin.flush()
        return str(json.loads(self._both.stdout.readline())).strip()

    def close(self) -> None:
        with self._both:  # closes its input, and waits
            pass


@pytest.fixture(scope="module", params=OFFICIAL)
def beside(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    beside = Beside(tmp_path_factory.mktemp("beside"), request.param)
    yield beside
    beside.close()


def test_the_official_module_wins(beside: Beside) -> None:
    said = beside.say("import dedalus_mcp, mcp.shared.exceptions as e; print(e.__file__)")

    assert Path(said).is_relative_to(beside.official_site)


def test_we_never_import_the_official_package(beside: Beside) -> None:
    said = beside.say(
        "import sys, dedalus_mcp.errors as e\nprint(type(e.McpError(1, 'x')) is e.McpError, 'mcp' in sys.modules)"
    )

    assert said == "True False"


def test_the_official_except_catches_ours_even_when_it_was_imported_last(beside: Beside) -> None:
    said = beside.say(f"""
from dedalus_mcp.errors import McpError
before = McpError(1, "x")
from mcp.shared.exceptions import {beside.error} as Theirs
print(isinstance(before, Theirs))
try:
    raise McpError(-32602, "Bad", [1])
except Theirs as caught:
    print(caught.error.code, caught.error.message, caught.error.data, str(caught))
""")

    assert said.splitlines() == ["False", "-32602 Bad [1] Bad"]


@pytest.mark.parametrize("name", ["McpError", "NoActiveCall"])
def test_both_names_catch_what_is_raised(beside: Beside, name: str) -> None:
    said = beside.both(
        f"error = {name}(-32601, 'Outside', {{'a': 1}})",
        "for kind in (Theirs, McpError, type(error)):",
        "    try: raise error",
        "    except kind as caught: print(caught is error)",
        "print(type(error.error) is ErrorData, error.args, repr(error))",
    )

    fields = "(-32601, 'Outside', {'a': 1})"
    assert said.splitlines() == ["True"] * 3 + [f"True {fields} {name}{fields}"]


def test_a_traceback_names_our_class(beside: Beside) -> None:
    said = beside.both("import traceback; print(traceback.format_exception_only(McpError(1, 'x'))[0])")

    assert said == "dedalus_mcp.errors.McpError: x"


def test_the_error_object_of_the_official_package_is_taken(beside: Beside) -> None:
    said = beside.both(
        "import mcp.types" if beside.error == "McpError" else "import mcp_types",
        "theirs = (mcp.types if 'mcp' in dir() else mcp_types).ErrorData(code=7, message='m', data={'k': 1})",
        "ours = McpError(theirs)",
        "print(isinstance(ours, Theirs), type(ours.error) is ErrorData, ours.code, ours.message, ours.data)",
    )

    assert said == "True True 7 m {'k': 1}"


@pytest.mark.parametrize("again", ["copy.copy(e)", "copy.deepcopy(e)", "pickle.loads(pickle.dumps(e))"])
def test_a_copy_is_caught_by_both_too(beside: Beside, again: str) -> None:
    said = beside.both(
        "e = NoActiveCall(-32601, 'Outside', {'a': 1}); e.seat = '12A'",
        f"f = {again}",
        "print(type(f) is type(e), isinstance(f, Theirs), f.args == e.args, f.error == e.error, f.seat)",
    )

    assert said == "True True True True 12A"


def test_what_was_pickled_beside_the_official_package_can_be_read_without_it(beside: Beside, tmp_path: Path) -> None:
    file = tmp_path / "error"
    beside.both(f"with open({str(file)!r}, 'wb') as f: pickle.dump(NoActiveCall(-32601, 'Outside'), f)")

    said = beside.say(f"import pickle; e = pickle.load(open({str(file)!r}, 'rb')); print(type(e), e.code)")

    assert said == "<class 'dedalus_mcp.errors.NoActiveCall'> -32601"


def test_a_subclass_with_arguments_of_its_own_is_caught_too(beside: Beside) -> None:
    said = beside.both(
        "class SeatTaken(McpError):",
        "    def __init__(self, seat): super().__init__(1, f'{seat} is taken'); self.seat = seat",
        "e = SeatTaken('12A'); f = pickle.loads(pickle.dumps(e))",
        "print(isinstance(e, Theirs), isinstance(f, SeatTaken), f.seat, f.message)",
    )

    assert said == "True True 12A 12A is taken"


def test_a_class_that_refuses_to_be_subclassed_can_still_be_raised(beside: Beside) -> None:
    said = beside.both(
        "class Final(McpError):",
        "    def __init_subclass__(cls): raise TypeError('final')",
        "print(type(Final(1, 'x')) is Final)",
    )

    assert said == "True"


def test_a_class_that_is_both_by_itself_is_left_alone(beside: Beside) -> None:
    said = beside.both("class Both(McpError, Theirs): pass", "print(type(Both(1, 'x')) is Both, Both(1, 'x').code)")

    assert said == "True 1"


def test_once_the_official_package_is_gone_the_name_is_ours_again(tmp_path: Path) -> None:
    beside = Beside(tmp_path / "venv", MCP2)
    program = "import mcp.shared.exceptions as e; print(e.__name__, hasattr(e, 'MCPError'), hasattr(e, 'McpError'))"

    with_it = beside.say(program)
    beside.put_beside()
    without = beside.say(program)

    assert (with_it, without) == ("mcp.shared.exceptions True False", "mcp.shared.exceptions False True")
