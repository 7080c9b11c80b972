"""Measures each module that does no I/O by its own test file alone: ``make cover``.

Coverage that comes by the way, from tests of something else, says nothing about what is checked.
So the tests mirror the source: ``dedalus_mcp/jsonrpc/codec.py`` has ``tests/jsonrpc/test_codec.py``,
and that file alone must take every branch.  A module without functions has no branches to take.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.sources import ROOT, modules
from tests.test_layers import layer

__all__ = ("own_tests", "uncovered")

TESTS = ROOT / "tests"


def own_tests(module: str, path: Path) -> Path:
    """The test file of a module; that of a package lies among those of what is in it."""
    package, _, rest = module.partition(".")
    *folders, name = rest.split(".")
    if path.name == "__init__.py":
        folders.append(name)
    return TESTS.joinpath(*(["transports"] if package == "dedalus_mcp_transports" else []), *folders, f"test_{name}.py")


def pure() -> Iterator[tuple[str, Path]]:
    """The modules that are to be measured."""
    for module, path in modules():
        if layer(module) in {0, 1, 2} and any(map(has_code, ast.walk(ast.parse(path.read_text())))):
            yield module, path


def has_code(node: ast.AST) -> bool:
    """Whether this is a function, and more than a signature with a docstring."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return not all(isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) for line in node.body)
    return isinstance(node, ast.Lambda)


def uncovered(module: str, path: Path) -> str | None:
    """What is missing, in words, or None."""
    tests = own_tests(module, path)
    if not tests.exists():
        return f"{module}: there is no {tests.relative_to(ROOT)}"
    with tempfile.TemporaryDirectory() as directory:
        coverage = [sys.executable, "-m", "coverage"]
        data = f"--data-file={directory}/coverage"
        pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
        measured = _run(*coverage, "run", data, "--branch", *pytest)
        if measured.returncode != 0:
            return f"{module}: {tests.relative_to(ROOT)} fails\n{measured.stdout}"
        report = _run(*coverage, "report", data, f"--include={path}", "--show-missing", "--fail-under=100")
        return None if report.returncode == 0 else report.stdout.splitlines()[2]


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    wanted = sys.argv[1:]
    missing = [
        said
        for module, path in pure()
        if not wanted or module in wanted
        if (said := uncovered(module, path)) is not None
    ]
    print("\n".join(missing) or "Every branch is taken by the module's own tests.")
    sys.exit(bool(missing))
