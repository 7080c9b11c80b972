"""What the documents show is so: each Python block runs, each `make` target exists, each example works."""

from __future__ import annotations

import ast
import doctest
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

import anyio
import pytest

from tests.sources import PACKAGES, ROOT

ELSEWHERE = {
    ROOT / "docs" / "tutorial.md",  # its programs run in test_tutorial
    *(ROOT / "docs" / "seeds").glob("*.md"),  # pieces of functions, which run in seeds
}
DOCUMENTS = [ROOT / "README.md", *sorted(set((ROOT / "docs").rglob("*.md")) - ELSEWHERE)]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<source>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL
)
PATHS = {**os.environ, "PYTHONPATH": os.pathsep.join(str(root) for root in PACKAGES.values())}
TARGET = re.compile(r"^([a-z]+):", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, and the line that the text starts on."""

    document: Path
    language: str
    source: str
    line: int

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


@dataclass(slots=True)
class Reading:
    """One document, read from the top: its blocks share one module, and each runs once.

    A real module, because annotations are looked up in the module of the class that has them.
    """

    blocks: list[Block]
    module: ModuleType = field(default_factory=lambda: ModuleType("document"))
    done: int = 0

    def __post_init__(self) -> None:
        self.module.__name__ = f"document_{id(self.module)}"
        sys.modules[self.module.__name__] = self.module

    def run_to(self, block: Block) -> None:
        """Run what has not run yet, to the end of `block`."""
        while self.done <= self.blocks.index(block):
            run(self.blocks[self.done], self.module)
            self.done += 1


def fenced(document: Path, *languages: str) -> Iterator[Block]:
    text = document.read_text()
    for match in FENCE.finditer(text):
        if match["language"] in languages:
            line = text.count("\n", 0, match.start("source")) + 1
            source = inspect.cleandoc("\n" + match["source"]) if match["indent"] else match["source"]
            yield Block(document, match["language"], source, line)


def run(block: Block, module: ModuleType) -> None:
    if block.language == "pycon":
        run_console(block, module)
        return
    padded = "\n" * (block.line - 1) + block.source  # so that a traceback names the document's own line
    code = compile(padded, block.document, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    if not code.co_flags & inspect.CO_COROUTINE:
        exec(code, vars(module))
        return

    async def top_level() -> None:
        await eval(code, vars(module))

    anyio.run(top_level)


def run_console(block: Block, module: ModuleType) -> None:
    test = doctest.DocTestParser().get_doctest(
        block.source, vars(module), block.document.name, str(block.document), block.line - 1
    )
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    vars(module).update(test.globs)

    assert runner.failures == 0, "".join(report)


@cache
def reading(document: Path) -> Reading:
    return Reading(list(fenced(document, "python", "pycon")))


BLOCKS = [block for document in DOCUMENTS for block in reading(document).blocks]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_in_a_document_runs(block: Block) -> None:
    reading(block.document).run_to(block)


def test_every_make_target_that_a_document_names_exists() -> None:
    targets = set(TARGET.findall((ROOT / "Makefile").read_text()))
    lines = [
        line
        for document in DOCUMENTS
        for block in fenced(document, "sh", "console")
        for line in block.source.splitlines()
    ]
    named = {match[1] for line in lines if (match := re.match(r"(?:\$ )?make (\w+)", line))}

    assert {"demo", "test"} <= targets
    assert named - targets == set()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_by_itself(example: Path) -> None:
    """A server among them finds its input at an end, and so has nothing left to do."""
    done = subprocess.run(
        [sys.executable, str(example)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=PATHS,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_blocks_share_a_module_and_each_runs_once(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(PAGE)
    blocks = list(fenced(document, "python", "pycon"))
    page = Reading(blocks)

    page.run_to(blocks[-1])
    page.run_to(blocks[0])

    assert [(block.language, block.line) for block in blocks] == [("python", 4), ("python", 16), ("pycon", 21)]
    assert vars(page.module)["runs"] == ["first", "second"]


def test_a_wrong_answer_in_a_console_block_is_found(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("```pycon\n>>> 1 + 1\n3\n```\n")
    (block,) = fenced(document, "pycon")

    with pytest.raises(AssertionError, match="Expected"):
        run(block, ModuleType("page"))


def test_an_error_names_the_line_of_the_document(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("Text\n\n```python\nx = 1\nx.y\n```\n")
    (block,) = fenced(document, "python")

    with pytest.raises(AttributeError) as caught:
        run(block, ModuleType("page"))

    assert (caught.traceback[-1].path, caught.traceback[-1].lineno + 1) == (document, 5)


PAGE = """Words

```python
from dataclasses import dataclass
runs = ["first"]
@dataclass
class Point:
    x: "int"
```

```sh
make test
```

```python
import anyio, typing
await anyio.lowlevel.checkpoint(); runs.append("second"); fields = typing.get_type_hints(Point)
```

```pycon
>>> fields
{'x': <class 'int'>}
```
"""
