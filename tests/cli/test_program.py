"""The program: help, exit codes, and what it loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dedalus_mcp import __version__
from dedalus_mcp.cli.program import COMMANDS, main
from tests.sources import PACKAGES, ROOT

PATHS = [str(root) for root in PACKAGES.values()]


def run(program: str, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a fresh interpreter, after some code."""
    lines = f"import sys; sys.path[:0] = {PATHS!r}\nfrom dedalus_mcp.cli import main\n{program}"
    command = [sys.executable, "-I", "-c", lines, *argv]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("argv", [[], ["-h"], ["--help"]])
def test_help_names_every_command_and_exit_code(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)

    shown = capsys.readouterr().out
    assert caught.value.code == 0
    assert [name for name in COMMANDS if f"\n  {name} " not in shown] == []
    assert [code for code in (0, 1, 2, 3, 4, 130) if f"\n  {code} " not in shown] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_of_its_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])

    assert caught.value.code == 0
    assert f"usage: dedalus-mcp {name} " in capsys.readouterr().out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])

    assert capsys.readouterr().out == f"dedalus-mcp {__version__}\n"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["brew"], "invalid choice: 'brew'"),
        (["inspect"], "TARGET"),
        (["inspect", "x", "--revision", "2020-01-01"], "2025-11-25"),
        (["inspect", "x", "--timeout", "soon"], "a number of seconds"),
        (["inspect", "x", "--timeout", "-1"], "a number of seconds"),
        (["inspect", "x", "--rev", "2025-11-25"], "unrecognized arguments"),
        (["run", "x.py", "--", "y"], "nothing for `run` after `--`"),
        (["complete", "x", "tool", "n", "a", "v"], "invalid choice: 'tool'"),
    ],
)
def test_what_is_not_legal_ends_it_with_2(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)

    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_help_loads_nothing_but_what_it_needs() -> None:
    done = run("try:\n  main(['--help'])\nfinally:\n  print(sorted({name.partition('.')[0] for name in sys.modules}))")

    loaded = done.stdout.splitlines()[-1]
    assert [name for name in ("anyio", "asyncio", "httpx", "msgspec", "rich") if f"'{name}'" in loaded] == []


def test_without_rich_it_says_in_one_line_what_to_install() -> None:
    done = run("sys.modules['rich'] = None\nsys.exit(main(sys.argv[1:]))", "inspect", "server.py")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: `inspect` needs an extra: pip install 'dedalus-mcp[cli]'\n"


def test_serving_needs_no_rich_and_loads_nothing_of_http() -> None:
    program = "sys.modules['rich'] = sys.modules['httpx'] = sys.modules['uvicorn'] = None\nsys.exit(main(sys.argv[1:]))"

    done = run(program, "run", str(ROOT / "examples" / "deploy.py"))

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_module_that_is_missing_elsewhere_is_an_error_as_ever(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import nowhere_at_all\n")

    done = run("sys.exit(main(sys.argv[1:]))", "run", str(tmp_path / "broken.py"))

    assert done.returncode == 1
    assert done.stderr.startswith('Traceback (most recent call last):\n  File "')
    assert "ModuleNotFoundError: No module named 'nowhere_at_all'" in done.stderr
    assert "dedalus_mcp/cli" not in done.stderr
