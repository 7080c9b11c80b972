"""The documents hang together: every page is in the site's navigation, and every link leads somewhere."""

from __future__ import annotations

import re
import sys
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.sources import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
PICTURES = sorted((DOCS / "images").glob("*.svg"))
RECORDED = ("terminal.svg",)  # looks as the terminal did
FENCED = re.compile(r"^( *)(```+|~~~+)[^\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*([^)\s]+)[^)]*\)")
HEADING = re.compile(r"^#+ +(.*?)(?: *\{ *#(\S+) *\})?$", re.MULTILINE)
GIVEN = re.compile(r"\bid=\"([^\"]+)\"")
PUBLIC = (
    "dedalus_mcp",
    "dedalus_mcp.auth",
    "dedalus_mcp.client",
    "dedalus_mcp.client.auth",
    "dedalus_mcp.errors",
    "dedalus_mcp.testing",
    "dedalus_mcp.transport",
    "dedalus_mcp.types",
)
GENERATED = re.compile(r"^::: ([\w.]+)", re.MULTILINE)


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return FENCED.sub("", page.read_text())


def links(page: Path) -> Iterator[str]:
    """Every target on the page, of links and of images, that is no URL."""
    for match in LINK.finditer(CODE.sub("", prose(page))):
        if not re.match(r"[a-z]+:", match[1]):
            yield match[1]


def slug(heading: str) -> str:
    """The anchor that the site makes of a heading's text."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


@cache
def anchors(page: Path) -> frozenset[str]:
    """Every anchor of a page: of its headings, given by hand, and of what is generated from docstrings."""
    text = prose(page)
    found = set(GIVEN.findall(text))
    for heading, given in HEADING.findall(text):
        name = given or slug(heading)
        while not name or name in found:  # a twin is numbered, and so is one that has no letter in it
            stem, _, number = name.rpartition("_")
            name = f"{stem}_{int(number) + 1}" if number.isdigit() else f"{name}_1"
        found.add(name)
    return frozenset(found)


def is_generated(page: Path, anchor: str) -> bool:
    """Whether the page has the name's documentation, and the name exists."""
    shown = GENERATED.findall(page.read_text())
    return any(anchor == each or anchor.startswith(f"{each}.") for each in shown) and exists(anchor)


def exists(name: str) -> bool:
    """Whether a dotted name leads from a module to something."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part) and part not in getattr(found, "__annotations__", {}):
                return False
            found = getattr(found, part, None)
        return True
    return False


def navigation(entries: Any) -> Iterator[str]:
    """The files that the site's navigation names, in its order."""
    match entries:
        case str():
            yield entries
        case list():
            for entry in entries:  # pyright: ignore[reportUnknownVariableType]
                yield from navigation(entry)
        case dict():
            for entry in entries.values():  # pyright: ignore[reportUnknownVariableType]
                yield from navigation(entry)
        case _:
            raise TypeError(entries)


def test_every_page_is_in_the_navigation_once() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text())

    assert sorted(navigation(site["project"]["nav"])) == [str(page.relative_to(DOCS)) for page in PAGES]


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    lost: list[str] = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (page != ROOT / "README.md" and not target.is_relative_to(DOCS)):
            lost.append(f"{link}: no such file in the site")
        elif anchor and anchor not in anchors(target) and not is_generated(target, anchor):
            lost.append(f"{link}: no such anchor; there are {sorted(anchors(target))}")

    assert lost == []


def test_the_reference_has_every_public_name() -> None:
    shown = [name for page in (DOCS / "reference").glob("*.md") for name in GENERATED.findall(page.read_text())]
    assert [name for name in shown if not exists(name)] == []
    covered: set[str] = set()
    for name in shown:
        whole = name in sys.modules
        covered |= set(sys.modules[name].__all__) if whole else {name.rpartition(".")[2]}

    missing = {f"{module}.{name}" for module in PUBLIC for name in import_module(module).__all__ if name not in covered}
    assert missing == {"dedalus_mcp.__version__", "dedalus_mcp.types"}


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_is_told_in_words_and_readable_by_day_and_by_night(picture: Path) -> None:
    drawing = picture.read_text()
    root = ElementTree.fromstring(drawing)
    shown = [page for page in [ROOT / "README.md", *PAGES] if f"images/{picture.name}" in "".join(links(page))]

    assert shown
    assert "http" not in drawing.replace('xmlns="http://www.w3.org/2000/svg"', ""), "nothing comes from elsewhere"
    if picture.name not in RECORDED:
        assert root.get("role") == "img"
        assert root.find("{http://www.w3.org/2000/svg}title") is not None
        assert "prefers-color-scheme: dark" in drawing


def test_links_and_anchors_are_found_as_readers_see_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)

    assert list(links(page)) == ["a.md#b", "images/c.svg", "#two-words"]
    assert anchors(page) == {"two-words", "two-words_1", "code-of-things", "given", "by-hand"}


def test_a_generated_anchor_is_a_name_that_exists(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("::: dedalus_mcp.MCPServer\n")

    assert is_generated(page, "dedalus_mcp.MCPServer.collect")
    assert not is_generated(page, "dedalus_mcp.MCPServer.colect")
    assert not is_generated(page, "dedalus_mcp.MCPClient")


PAGE = """# Two words

[a `[b]`](a.md#b) ![c](images/c.svg "title") `[no](no.md)` [out](https://example.com) [here](#two-words)

```python
# no heading
x = "[no](no.md)"
```

## Two words
## `Code` of [things](https://example.com)
## Something { #given }
<a id="by-hand"></a>
"""
