"""What is built and what an installation has: two import packages, and `mcp.shared.exceptions` as a stand-in."""

from __future__ import annotations

import itertools
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

import dedalus_mcp
from tests.installed import ROOT, Installation, run

pytestmark = pytest.mark.packaging

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
STAND_IN = "from mcp.shared.exceptions import McpError"
OURS = "import dedalus_mcp.errors"
SAME = "print(McpError is dedalus_mcp.errors.McpError)"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, and the wheel that was built from it."""
    directory = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory))
    return directory


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (wheel,) = built.glob("*.whl")
    return wheel


@pytest.fixture(scope="module", params=["wheel", "editable"])
def installation(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    directory = tmp_path_factory.mktemp(request.param)
    requirement = [str(wheel)] if request.param == "wheel" else ["--editable", str(ROOT)]
    return Installation(directory, *requirement)


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def metadata(wheel: Path) -> Message:
    (name,) = [name for name in names(wheel) if name.endswith(".dist-info/METADATA")]
    with zipfile.ZipFile(wheel) as archive:
        return Parser().parsestr(archive.read(name).decode())


def test_site_packages_gets_two_packages_and_one_path_file(wheel: Path) -> None:
    version = wheel.name.split("-")[1]

    assert {name.partition("/")[0] for name in names(wheel)} == {
        "dedalus_mcp",
        "dedalus_mcp_transports",
        "dedalus_mcp_names.pth",
        f"dedalus_mcp-{version}.dist-info",
    }


def test_every_module_of_the_tree_is_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    tree = [
        path.relative_to(root).as_posix()
        for root, package in ((ROOT, "dedalus_mcp"), (ROOT / "transports", "dedalus_mcp_transports"))
        for path in (root / package).rglob("*")
        if path.suffix == ".py" or path.name == "py.typed"
    ]

    assert sorted(name for name in names(wheel) if "dist-info/" not in name and not name.endswith(".pth")) == sorted(
        tree
    )
    assert {"dedalus_mcp/py.typed", "dedalus_mcp_transports/py.typed"} <= set(tree)


def test_the_path_file_runs_nothing(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("dedalus_mcp_names.pth") == b"dedalus_mcp/_names\n"


def test_the_stand_in_is_a_namespace_so_that_an_installed_mcp_wins(wheel: Path) -> None:
    inside = [name for name in names(wheel) if name.startswith("dedalus_mcp/_names/")]

    assert inside == ["dedalus_mcp/_names/mcp/shared/exceptions.py"]


def test_the_wheel_from_the_source_distribution_is_the_wheel_from_the_tree(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(tmp_path))
    (from_tree,) = tmp_path.glob("*.whl")

    assert names(from_tree) == names(wheel)
    assert from_tree.read_bytes() == wheel.read_bytes()


def test_the_source_distribution_has_what_its_users_need(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}

    assert {"LICENSE", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml", "tests/conftest.py"} <= inside
    assert {name.partition("/")[0] for name in inside} <= {
        "LICENSE", "README.md", "CHANGELOG.md", "Makefile", "PKG-INFO", "pyproject.toml", ".gitignore",
        "SECURITY.md", "CONTRIBUTING.md", "zensical.toml",
        "dedalus_mcp", "dedalus_mcp_names.pth", "transports", "tests", "benchmarks", "docs", "examples",
    }  # fmt: skip


def test_metadata_say_what_the_project_file_says(wheel: Path) -> None:
    said = metadata(wheel)
    core = [item.replace(" ", "") for item in said.get_all("Requires-Dist", []) if "extra ==" not in item]

    assert said["Name"] == "dedalus-mcp"
    assert said["Requires-Python"] == PROJECT["requires-python"] == ">=3.11"
    assert said["License-Expression"] == "MIT"
    assert sorted(core) == sorted(PROJECT["dependencies"])
    assert sorted(said.get_all("Provides-Extra", [])) == sorted(PROJECT.get("optional-dependencies", {}))


@pytest.mark.parametrize("lines", list(itertools.permutations([STAND_IN, OURS])), ids=["stand-in first", "ours first"])
def test_the_name_from_the_official_package_is_our_error(installation: Installation, lines: tuple[str, ...]) -> None:
    assert installation.say("\n".join([*lines, SAME])) == "True"


def test_the_bare_import_of_the_official_name_works(installation: Installation) -> None:
    assert installation.say(f"{STAND_IN}\nprint(McpError.__module__)") == "dedalus_mcp.errors"


def test_starting_the_interpreter_loads_nothing_of_ours(installation: Installation) -> None:
    assert installation.say("import sys; print([name for name in sys.modules if name.startswith('dedalus')])") == "[]"


def test_both_packages_can_be_imported(installation: Installation) -> None:
    assert installation.say("import dedalus_mcp, dedalus_mcp_transports; print(dedalus_mcp.__name__)") == "dedalus_mcp"


def test_an_error_raised_where_only_ours_is_installed_is_plainly_ours(installation: Installation) -> None:
    program = (
        f"{STAND_IN}\nprint([cls.__module__ for cls in type(McpError(1, 'x')).__mro__ if 'mcp' in cls.__module__])"
    )

    assert installation.say(program) == "['dedalus_mcp.errors', 'dedalus_mcp.errors']"


def test_the_program_is_installed_and_does_what_the_module_does(installation: Installation) -> None:
    program = run(str(installation.python.with_name("dedalus-mcp")), "--version")
    module = run(str(installation.python), "-m", "dedalus_mcp", "--version")

    assert program == module == f"dedalus-mcp {dedalus_mcp.__version__}\n"
