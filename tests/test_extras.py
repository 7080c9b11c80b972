"""Fresh installations, with the core alone and with each extra: what is there works, the rest says what to install."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.installed import Installation, run
from tests.test_packaging import PROJECT

pytestmark = pytest.mark.packaging

EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]

CORE = """
import anyio
from dedalus_mcp import MCPClient, MCPServer, tool

@tool
async def add(a: int, b: int) -> int:
    return a + b

server = MCPServer("sums")
server.collect(add)

async def main():
    async with MCPClient.connect(server) as client:
        print((await client.call_tool("add", {"a": 1, "b": 2})).text)

anyio.run(main)
"""
FEATURES = {
    "auth": """
from dedalus_mcp.auth.dpop import generate_dpop_keypair
generate_dpop_keypair()
print("used")
""",
    "cli": """
import sys
from dedalus_mcp.cli import main
sys.exit(main(["inspect", "--help"]))
""",
    "schema": """
from dedalus_mcp import MCPServer, tool

@tool(input_schema={"type": "object", "properties": {"a": {"type": "integer"}}})
async def given(arguments: dict[str, int]) -> str:
    return "used"

MCPServer("given").collect(given)
print("used")
""",
    "seal": """
from dedalus_mcp import MCPServer
MCPServer("sealed", state_keys=["k" * 32])
print("used")
""",
}
"""What needs an extra, used once; `fast` has no feature of its own, and is looked at by itself."""

FAST = """
import asyncio, os, signal
from contextlib import asynccontextmanager
from dedalus_mcp import MCPServer

@asynccontextmanager
async def life(server):
    loop = asyncio.get_running_loop()
    loop.call_soon(os.kill, os.getpid(), signal.SIGTERM)
    yield
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    print(type(loop).__module__.partition(".")[0], HttpToolsProtocol.__name__, flush=True)

MCPServer("fast", lifespan=life).run("streamable-http", port=0)
"""
"""A server that is told to stop as soon as it runs."""


@cache
def needed(requirements: tuple[str, ...]) -> dict[str, Distribution]:
    """What these requirements lead to, of what the environment of the tests has."""
    found: dict[str, Distribution] = {}
    open = [Requirement(each) for each in requirements]
    while open:
        requirement = open.pop()
        if requirement.name in found or not _applies(requirement):
            continue
        there = distribution(requirement.name)
        found[requirement.name] = there
        open += [
            each
            for each in map(Requirement, there.requires or [])
            if _applies(each) or any(_applies(each, extra) for extra in requirement.extras)
        ]
    return found


def _applies(requirement: Requirement, extra: str = "") -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def link(distributions: Iterable[Distribution], site: Path) -> None:
    """Put what these consist of into a site-packages directory, and nothing else."""
    for each in distributions:
        tops = {file.parts[0] for file in each.files or [] if file.parts[0] not in {"..", "__pycache__"}}
        for top in tops:
            there = Path(str(each.locate_file(top)))
            if not (site / top).exists():
                (site / top).symlink_to(there)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(directory))
    (wheel,) = directory.glob("*.whl")
    return wheel


def installed(wheel: Path, directory: Path, *requirements: str) -> Installation:
    """Our wheel, and beside it the distributions of these requirements and no others."""
    installation = Installation(directory, str(wheel))
    installation.stand_alone()
    link(needed((*PROJECT["dependencies"], *requirements)).values(), installation.site)
    return installation


@pytest.fixture(scope="module")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return installed(wheel, tmp_path_factory.mktemp("core"))


def test_the_core_alone_serves_and_calls(core: Installation) -> None:
    assert core.say(CORE) == "3"


def test_every_extra_is_looked_at_here() -> None:
    assert set(EXTRAS) == {*FEATURES, "fast"}


@pytest.mark.parametrize("extra", FEATURES)
def test_without_an_extra_its_feature_names_it(core: Installation, extra: str) -> None:
    wrapped = f"try:\n    exec({FEATURES[extra]!r})\nexcept (ImportError, SystemExit) as error:\n    print(error)\n"

    assert f"dedalus-mcp[{extra}]" in core.say(f"import sys; sys.stderr = sys.stdout\n{wrapped}")


@pytest.mark.parametrize("extra", FEATURES)
def test_with_an_extra_its_feature_works(wheel: Path, extra: str, tmp_path: Path) -> None:
    said = installed(wheel, tmp_path, *EXTRAS[extra]).say(FEATURES[extra])

    assert said.endswith("used") or (extra == "cli" and "inspect" in said)


def test_with_the_fast_extra_http_has_the_faster_loop(wheel: Path, tmp_path: Path) -> None:
    try:
        needed(tuple(EXTRAS["fast"]))
    except PackageNotFoundError as error:
        pytest.skip(f"{error} is not in the environment of the tests")

    assert installed(wheel, tmp_path, *EXTRAS["fast"]).say(FAST).split() == ["uvloop", "HttpToolsProtocol"]


def test_a_checker_sees_the_types_of_an_installation(core: Installation, tmp_path: Path) -> None:
    program = tmp_path / "theirs.py"
    program.write_text("from dedalus_mcp import Form, MCPServer\nreveal_type(MCPServer('a').name)\nreveal_type(Form)\n")
    shown = run(
        sys.executable, "-m", "mypy", "--strict", "--python-executable", str(core.python),
        "--cache-dir", str(tmp_path / "cache"), str(program), cwd=tmp_path,
    )  # fmt: skip

    assert 'Revealed type is "builtins.str"' in shown or 'Revealed type is "str"' in shown
    assert "Any" not in shown
