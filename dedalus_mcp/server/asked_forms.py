"""The forms that a handler asks for, as far as its source tells: what makes no form is refused when it is registered.

    await ctx.elicit("Deploy?", Rollout)

`ctx` is a parameter annotated `Context`, or what `get_context()` has returned; `Rollout` a class that the
function finds by that name.  Any other form is looked at when it is first asked for.

Layer: L4.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

from dedalus_mcp.schema.signature import label, parameters
from dedalus_mcp.schema.typed_forms import typed_form
from dedalus_mcp.server.context_parameters import is_context

__all__ = ("check_forms",)

_ASKING, _FORM = "elicit", "form"
_FINDING = "get_context"


def check_forms(fn: Callable[..., Any]) -> None:
    """Refuse a handler that asks for what makes no form.

    Raises:
        TypeError: A class that it asks for has a field that no form can ask for; the text names both.
    """
    function = _function(fn)
    if function is None or not _names(function.__code__, _ASKING):
        return
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):  # it has none, or is a part of a longer line
        return
    contexts = {one.name for one in parameters(fn) if is_context(one.annotation)} | _found(tree)
    for expression in _forms(tree, contexts):
        found = _value(expression, function)
        if isinstance(found, type):
            _check(fn, found)


def _check(fn: Callable[..., Any], form: type[Any]) -> None:
    try:
        typed_form(form)
    except TypeError as error:
        if not isinstance(error.__cause__, NameError):  # a name may be there by the time that it is asked
            raise TypeError(f"{label(fn)}() asks for it: {error}") from error


def _function(fn: Any) -> FunctionType | None:
    while isinstance(fn, partial):
        fn = cast("Any", fn.func)
    plain: object = inspect.unwrap(getattr(fn, "__func__", fn))
    if not isinstance(plain, FunctionType):
        plain = getattr(type(plain), "__call__", None)  # noqa: B004 - the function, not whether there is one
    return plain if isinstance(plain, FunctionType) else None


def _names(code: CodeType, name: str) -> bool:
    """Whether code uses a name, functions inside of it included; the source is read only then."""
    return name in code.co_names or any(_names(part, name) for part in code.co_consts if isinstance(part, CodeType))


def _found(tree: ast.AST) -> set[str]:
    """The variables that hold what `get_context()` returned."""
    assigned = (node for node in ast.walk(tree) if isinstance(node, ast.Assign) and _finds(node.value))
    return {target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)}


def _finds(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _FINDING


def _forms(tree: ast.AST, contexts: set[str]) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == _ASKING):
            continue
        asked = node.func.value
        if _finds(asked) or (isinstance(asked, ast.Name) and asked.id in contexts):
            yield from node.args[1:2]
            yield from (each.value for each in node.keywords if each.arg == _FORM)


def _value(expression: ast.expr, function: FunctionType) -> Any:
    """What an expression is, where it is a name, or one of a module; None where that cannot be told."""
    if isinstance(expression, ast.Attribute):
        owner = _value(expression.value, function)
        return vars(owner).get(expression.attr) if isinstance(owner, ModuleType) else None
    if not isinstance(expression, ast.Name) or expression.id in function.__code__.co_varnames:
        return None
    if expression.id in function.__code__.co_freevars:
        return _held(function, expression.id)
    return function.__globals__.get(expression.id)


def _held(function: FunctionType, name: str) -> Any:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    try:
        return cells[name].cell_contents
    except ValueError:  # not assigned yet
        return None
