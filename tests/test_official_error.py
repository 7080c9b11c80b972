"""`McpError` beside a package that looks like the official one.

`interop/test_official_errors.py` has it beside the real one.
"""

from __future__ import annotations

import copy
import pickle
import sys
from types import ModuleType

import pytest

from dedalus_mcp.errors import ErrorData, McpError, NoActiveCall

DATA = {"properties": ["a", "b"]}


class SeatTaken(McpError):
    """A user's own class, whose arguments are not ours."""

    def __init__(self, seat: str) -> None:
        super().__init__(-32001, f"Seat {seat} is taken", {"seat": seat})
        self.seat = seat


class First(Exception):
    """Shaped like the error of the official package 1.x."""

    def __init__(self, error: object) -> None:
        super().__init__(error)
        self.error = error


class Second(Exception):
    """Shaped like the error of the official package 2.x."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(code, message, data)
        self.error = (code, message, data)


@pytest.fixture(params=[("McpError", First), ("MCPError", Second)], ids=["1.x", "2.x"])
def official(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[Exception]:
    name: str = request.param[0]
    error: type[Exception] = request.param[1]
    module = ModuleType("mcp.shared.exceptions")
    setattr(module, name, error)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return error


@pytest.mark.parametrize("kind", [McpError, NoActiveCall])
def test_beside_the_official_package_an_error_is_also_its_error(
    kind: type[McpError], official: type[Exception]
) -> None:
    with pytest.raises(official) as caught:
        raise kind(-32602, "Bad", DATA)

    assert isinstance(caught.value, kind)
    assert caught.value.error == ErrorData(-32602, "Bad", DATA)
    assert caught.value.args == (-32602, "Bad", DATA)
    assert type(caught.value) is type(kind(1, "Other"))


def test_beside_the_official_package_a_subclass_and_its_copies_are_too(official: type[Exception]) -> None:
    error = SeatTaken("12A")

    for again in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert isinstance(again, official)
        assert isinstance(again, SeatTaken)
        assert (again.seat, again.message) == ("12A", "Seat 12A is taken")


def test_a_class_that_cannot_be_subclassed_is_raised_as_it_is(official: type[Exception]) -> None:
    class Final(McpError):
        def __init_subclass__(cls) -> None:
            raise TypeError("final")

    assert type(Final(1, "x")) is Final
    assert not isinstance(Final(1, "x"), official)


def test_our_own_stand_in_is_not_taken_for_the_official_package(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("mcp.shared.exceptions")
    monkeypatch.setattr(module, "McpError", McpError, raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)

    assert type(NoActiveCall(1, "x")) is NoActiveCall
