"""Who may import whom: each module stands on a layer and imports downwards, or beside itself.

L0 errors    L1 words    L2 sans-IO    L3 peer    L4 server, client    L5 transports    L6 all together
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tests.sources import PACKAGES, modules

LAYERS = {
    "dedalus_mcp.complaints": 0,
    "dedalus_mcp.deprecation": 0,
    "dedalus_mcp.errors": 0,
    "dedalus_mcp.excerpt": 0,
    "dedalus_mcp.official_error": 0,
    "dedalus_mcp.state_keys": 0,
    "dedalus_mcp.tool_error_codes": 0,
    "dedalus_mcp.jsonrpc": 1,
    "dedalus_mcp.jsonrpc.messages": 1,
    "dedalus_mcp.jsonrpc.codec": 1,
    "dedalus_mcp.jsonrpc.ends": 1,
    "dedalus_mcp.jsonrpc.failures": 2,
    "dedalus_mcp.types*": 1,
    "dedalus_mcp.schema*": 1,
    "dedalus_mcp.auth.dpop": 6,
    "dedalus_mcp.auth*": 2,
    "dedalus_mcp.content_coding": 2,
    "dedalus_mcp.jsonrpc.clock": 2,
    "dedalus_mcp.jsonrpc.exchange": 2,
    "dedalus_mcp.jsonrpc.oversized": 2,
    "dedalus_mcp.session": 2,
    "dedalus_mcp.transport": 2,
    "dedalus_mcp_transports": 2,
    "dedalus_mcp_transports.lines": 2,
    "dedalus_mcp_transports.sse": 2,
    "dedalus_mcp_transports.event_log": 2,
    "dedalus_mcp_transports.http_classify": 2,
    "dedalus_mcp_transports.http_cors": 2,
    "dedalus_mcp_transports.http_failures": 2,
    "dedalus_mcp_transports.http_headers": 2,
    "dedalus_mcp_transports.http_early": 2,
    "dedalus_mcp_transports.http_mirrors": 2,
    "dedalus_mcp_transports.http_outgoing": 2,
    "dedalus_mcp_transports.http_params": 2,
    "dedalus_mcp_transports.http_posted": 2,
    "dedalus_mcp_transports.http_running": 2,
    "dedalus_mcp_transports.http_seal": 2,
    "dedalus_mcp_transports.http_principal": 2,
    "dedalus_mcp_transports.http_security": 2,
    "dedalus_mcp_transports.http_session": 2,
    "dedalus_mcp_transports.http_stream": 2,
    "dedalus_mcp.jsonrpc.*": 3,
    "dedalus_mcp.threads": 3,
    "dedalus_mcp.server*": 4,
    "dedalus_mcp.client*": 4,
    "dedalus_mcp_transports.*": 5,
    "dedalus_mcp.reaching": 6,
    "dedalus_mcp.run": 6,
    "dedalus_mcp.proxies*": 6,
    "dedalus_mcp.testing*": 6,
    "dedalus_mcp.cli*": 6,
    "dedalus_mcp.__main__": 6,
    "dedalus_mcp": 6,
}
"""The layer of each module; the first pattern that fits counts."""

THIRD_PARTY = {
    0: {"msgspec"},
    1: {"msgspec"},
    2: {"msgspec"},
    3: {"msgspec", "anyio"},
    4: {"msgspec", "anyio"},
    5: {"msgspec", "anyio"},
    6: {"msgspec", "anyio"},
}
"""What each layer may import from elsewhere, on top of the standard library."""

THIRD_PARTY_OF = {
    "dedalus_mcp.auth.jose": {"joserfc"},  # the extra `auth`
    "dedalus_mcp.client.auth.bearer": {"httpx"},
    "dedalus_mcp.client.auth.dpop": {"httpx"},
    "dedalus_mcp.client.auth.fetching": {"httpx"},
    "dedalus_mcp.client.auth.headless": {"httpx"},
    "dedalus_mcp.client.auth.lookup": {"httpx"},
    "dedalus_mcp.client.auth.oauth": {"httpx"},
    "dedalus_mcp.cli.inspect": {"rich"},  # the extra `cli`
    "dedalus_mcp.cli.terminal": {"rich"},
    "dedalus_mcp.cli.doctor": {"rich"},
    "dedalus_mcp.cli.doctor_http_line": {"httpx"},
    "dedalus_mcp.cli.trace": {"rich"},
    "dedalus_mcp.deprecation": {"typing_extensions"},  # for checkers of types, who bring it
    "dedalus_mcp.jsonrpc.tasks": {"trio"},  # only when that is the loop that runs
    "dedalus_mcp.schema.json_schema": {"jsonschema_rs"},  # only when an author gives a schema
    "dedalus_mcp.server.seal": {"cryptography"},  # the extra `seal`
    "dedalus_mcp_transports.http_client": {"httpx"},
    "dedalus_mcp_transports.http_one_piece": {"httpcore"},
    "dedalus_mcp_transports.http_plain": {"httpcore", "httpx"},
    "dedalus_mcp_transports.http_pool": {"httpcore", "httpx"},
    "dedalus_mcp_transports.http_uvicorn": {"uvicorn"},
}
"""What one module may import besides."""

APART = [("dedalus_mcp.server", "dedalus_mcp.client"), ("dedalus_mcp.client", "dedalus_mcp.server")]
"""Pairs on one layer of which the first may not import the second."""

DOORS = {
    "dedalus_mcp.server*": "dedalus_mcp.run",
    "dedalus_mcp.client*": "dedalus_mcp.reaching",
    "dedalus_mcp": "dedalus_mcp_transports",
    "dedalus_mcp.reaching": "dedalus_mcp_transports",
    "dedalus_mcp.run": "dedalus_mcp_transports",
    "dedalus_mcp.testing*": "dedalus_mcp_transports",
}
"""What may be imported inside functions only: there `serve`, `run` and `connect` open onto what is above them."""

SHARED = ("dedalus_mcp.jsonrpc.tasks", "dedalus_mcp.jsonrpc.loops")
"""The modules above L2 that transports may use: they start tasks too, and there is one of them for each loop."""

SAYS_LAYER = re.compile(r"^Layer: L(\d)", re.MULTILINE)
UNNEEDED = {"cryptography", "httpcore", "httpx", "joserfc", "pydantic", "starlette", "trio", "uvicorn"}
"""What a local server does without."""

EVENT_LOOPS = {"anyio", "asyncio", "httpcore", "httpx", "trio", "uvicorn"}


@dataclass(frozen=True, slots=True)
class Import:
    """`module` imports `target`; `lazy` is one inside a function."""

    module: str
    target: str
    line: int
    lazy: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def layer(module: str) -> int | None:
    return next((number for pattern, number in LAYERS.items() if fnmatchcase(module, pattern)), None)


def imports(module: str, path: Path) -> Iterator[Import]:
    """Every import of a module but those for type checkers only."""
    names = {name for name, _ in modules()}

    def walk(node: ast.AST, *, lazy: bool) -> Iterator[Import]:
        if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            return
        if isinstance(node, ast.Import):
            yield from (Import(module, alias.name, node.lineno, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            inner = [f"{base}.{alias.name}" for alias in node.names]
            yield from (Import(module, name if name in names else base, node.lineno, lazy) for name in inner)
        inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, lazy=inside)

    yield from walk(ast.parse(path.read_text()), lazy=False)


def allowed(found: Import) -> bool:
    top = found.target.partition(".")[0]
    own = layer(found.module)
    assert own is not None
    if top not in PACKAGES:
        outside = THIRD_PARTY[own] | THIRD_PARTY_OF.get(found.module, set())
        return top in sys.stdlib_module_names or top in outside
    doors = [door for owner, door in DOORS.items() if fnmatchcase(found.module, owner)]
    if any(within(found.target, door) for door in doors):
        return found.lazy
    if any(within(found.module, one) and within(found.target, other) for one, other in APART):
        return False
    target = layer(found.target)
    below = (0, 1, 2, 5) if own == 5 else range(own + 1)
    return target in below or (own == 5 and found.target in SHARED)


def test_every_module_has_a_layer() -> None:
    assert [name for name, _ in modules() if layer(name) is None] == []


def test_a_module_that_names_its_layer_names_the_right_one() -> None:
    said = [(name, int(match[1])) for name, path in modules() if (match := SAYS_LAYER.search(path.read_text()))]

    assert [(name, number) for name, number in said if number != layer(name)] == []
    assert ("dedalus_mcp.jsonrpc.messages", 1) in said


@pytest.mark.parametrize(("module", "path"), [pytest.param(*found, id=found[0]) for found in modules()])
def test_a_module_imports_only_what_its_layer_may(module: str, path: Path) -> None:
    assert [str(found) for found in imports(module, path) if not allowed(found)] == []


@pytest.mark.parametrize(
    ("module", "source", "legal"),
    [
        ("dedalus_mcp.jsonrpc.codec", "import anyio", False),
        ("dedalus_mcp.jsonrpc.codec", "def f():\n  import anyio", False),
        ("dedalus_mcp.jsonrpc.codec", "from dedalus_mcp.jsonrpc import exchange", False),
        ("dedalus_mcp.jsonrpc.exchange", "from dedalus_mcp.jsonrpc.codec import decode", True),
        ("dedalus_mcp.server.tools", "from dedalus_mcp.client import x", False),
        ("dedalus_mcp.server.tools", "import httpx", False),
        ("dedalus_mcp.server.tools", "from dedalus_mcp.run import serve", False),
        ("dedalus_mcp.server.tools", "async def f():\n  from dedalus_mcp.run import serve", True),
        ("dedalus_mcp_transports.memory", "from dedalus_mcp.jsonrpc.peer import Peer", False),
        ("dedalus_mcp_transports.memory", "from dedalus_mcp.transport import Duplex", True),
        ("dedalus_mcp_transports.memory", "import httpx", False),
        ("dedalus_mcp_transports.http_client", "import httpx", True),
        ("dedalus_mcp.run", "from dedalus_mcp_transports import stdio", False),
        ("dedalus_mcp.run", "def f():\n  from dedalus_mcp_transports import stdio", True),
        ("dedalus_mcp.errors", "if TYPE_CHECKING:\n  import anyio", True),
    ],
)
def test_the_rule_tells_right_from_wrong(module: str, source: str, legal: bool, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(source)

    assert all(allowed(found) for found in imports(module, path)) is legal


def loaded(program: str, input: str = "") -> set[str]:
    """The top-level names that a fresh interpreter has loaded after this program, to whose stdin this was written."""
    lines = [
        f"import sys; sys.path[:0] = {[str(root) for root in PACKAGES.values()]!r}",
        program,
        "import json; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))",
    ]
    command = [sys.executable, "-I", "-c", "\n".join(lines)]
    done = subprocess.run(command, input=input, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_what_does_no_io_needs_no_event_loop() -> None:
    pure = [name for name, _ in modules() if layer(name) in {0, 1, 2}]
    assert "dedalus_mcp.jsonrpc.exchange" in pure
    # Bare stand-ins for the packages' own faces, which are of another layer and would bring everything in.
    faces = "\n".join(
        f"sys.modules[{name!r}] = types.ModuleType({name!r}); sys.modules[{name!r}].__path__ = [{str(root / name)!r}]"
        for name, root in PACKAGES.items()
    )
    imported = "\n".join(f"import {name}" for name in pure if name not in PACKAGES)

    assert loaded(f"import types\n{faces}\n{imported}") & EVENT_LOOPS == set()


def test_importing_the_package_loads_nothing_that_a_local_server_does_not_need() -> None:
    """B142."""
    assert loaded("import dedalus_mcp") & {*UNNEEDED, "ssl"} == set()  # which asyncio brings in, later on


def test_serving_on_stdio_loads_nothing_that_it_does_not_need() -> None:
    """B142: a whole conversation with a tool that asks."""
    program = """
from dataclasses import dataclass
from dedalus_mcp import Context, MCPServer, tool
@dataclass
class Answer:
    sure: bool = False
@tool
async def ask(text: str, ctx: Context) -> str:
    return str(await ctx.elicit(text, Answer))
server = MCPServer("small")
server.collect(ask)
server.run()
"""
    info = {"name": "raw", "version": "1"}
    opening: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": info}
    said: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": {"name": "ask", "arguments": {"text": "?"}}},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in said)

    found = loaded(program, lines)
    assert "msgspec" in found
    assert found & UNNEEDED == set()
