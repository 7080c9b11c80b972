"""`File` and `Directory`: what is served of a disk, and what never is."""

from __future__ import annotations

import errno
import os
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from dedalus_mcp import Directory, File, McpError, MCPServer, ResourceNotFound, resource, resource_template
from dedalus_mcp.errors import MAX_URI
from dedalus_mcp.server import files
from dedalus_mcp.server.files import mime_type_of
from dedalus_mcp.types import CompletionArgument, ResourceTemplateReference
from tests.interaction.raw import serving


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory to be served, and a secret beside it."""
    inside = tmp_path / "docs"
    (inside / "sub").mkdir(parents=True)
    (inside / "a.md").write_text("# é")
    (inside / "sub" / "b.json").write_text('{"b":1}')
    (inside / "sub" / "c d.png").write_bytes(b"\x89PNG\xff")
    (inside / ".env").write_text("secret")
    (inside / ".git").mkdir()
    (inside / ".git" / "config").write_text("secret")
    (tmp_path / "secret").write_text("secret")
    return inside


async def read(server: MCPServer, uri: str) -> Any:
    (contents,) = (await server.invoke_resource(uri)).contents
    return contents


def serving_at(uri: str, root: Path, **settings: Any) -> MCPServer:
    server = MCPServer("test")
    server.collect(*Directory(root, **settings).at(uri))
    return server


async def test_files_are_text_or_blobs_as_they_are(root: Path) -> None:
    """RES-05, RES-17."""
    server = serving_at("docs://", root)

    markdown, json, image = [await read(server, f"docs://{path}") for path in ("a.md", "sub/b.json", "sub/c%20d.png")]

    assert (markdown.uri, markdown.text, markdown.mimeType) == ("docs://a.md", "# é", "text/markdown")
    assert (json.text, json.mimeType) == ('{"b":1}', "application/json")
    assert (b64decode(image.blob), image.mimeType) == (b"\x89PNG\xff", "image/png")


async def test_the_files_are_listed_with_uris_that_can_be_read(root: Path) -> None:
    (root / "x..y\\..\\z").write_text("no URI leads here")
    (root / "link").symlink_to("a.md")
    server = serving_at("docs://", root)

    listing = Directory(root).at("docs://")[1]()

    assert listing == {
        "files": [
            {"uri": "docs://a.md", "mimeType": "text/markdown", "size": 4},
            {"uri": "docs://sub/b.json", "mimeType": "application/json", "size": 7},
            {"uri": "docs://sub/c%20d.png", "mimeType": "image/png", "size": 5},
        ],
        "more": False,
    }
    assert (await read(server, "docs://")).mimeType == "application/json"
    for each in listing["files"]:
        assert await read(server, each["uri"])


ATTACKS = [
    "../secret", "%2e%2e/secret", "..%2Fsecret", "%252e%252e/secret", "sub/../../secret", "sub/%2e%2e/%2e%2e/secret",
    "/etc/passwd", "%2Fetc%2Fpasswd", "//etc/passwd", "..\\secret", "..%5Csecret", "C:%5Csecret", "a.md%00",
    "%C0%AE%C0%AE/secret",
    ".", "..", "sub", "sub/", ".env", ".git/config", "%2Eenv", "none", "a.md/", "./a.md", "up/secret", "here", "pipe",
    "%F0%9F%92%A9", "x" * 5000, "s/" * 500 + "x", "file:///etc/passwd",
]  # fmt: skip


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_nothing_else_is_there_whatever_the_uri_says(root: Path, revision: str) -> None:
    """RES-06, RES-07, RES-18, SEC: and no error tells whether something is."""
    (root / "up").symlink_to("..")
    (root / "here").symlink_to("a.md")
    os.mkfifo(root / "pipe")
    code = -32002 if revision == "2025-11-25" else -32602

    async with serving(serving_at("docs://", root)) as raw:
        await raw.open(revision)
        for path in ATTACKS:
            uri = f"docs://{path}"
            error = (await raw.call(1, "resources/read", uri=uri))["error"]
            assert (error["code"], error["data"]) == (code, {"uri": uri[:MAX_URI]}), path
            assert str(root.parent) not in error["message"]


async def test_hidden_files_are_there_if_the_author_says_so(root: Path) -> None:
    server = serving_at("docs://", root, hidden=True)

    assert (await read(server, "docs://.env")).text == "secret"
    assert "docs://.git/config" in (await read(server, "docs://")).text


def test_a_directory_may_be_a_link_and_is_served_where_that_led(root: Path) -> None:
    (root.parent / "link").symlink_to("docs")
    directory = Directory(root.parent / "link")
    (root.parent / "link").unlink()

    assert directory.root == root.resolve()
    assert directory.read("a.md")["text"] == "# é"


def test_what_is_no_directory_is_refused(root: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Directory(root / "none")
    with pytest.raises(NotADirectoryError):
        Directory(root / "a.md")
    with pytest.raises(ValueError, match="ends with a slash"):
        Directory(root).at("docs://x")
    with pytest.raises(ValueError, match="no URI"):
        Directory(root).at("docs/")


async def test_a_file_that_is_too_large_is_refused_and_one_of_just_the_bound_read(root: Path) -> None:
    (root / "five").write_text("12345")

    assert (await read(serving_at("docs://", root, max_bytes=5), "docs://five")).text == "12345"
    with pytest.raises(McpError, match=r"^Resource is larger than 4 bytes$") as raised:
        await read(serving_at("docs://", root, max_bytes=4), "docs://five")
    assert raised.value.code == -32603


async def test_a_file_whose_size_says_nothing_is_bounded_all_the_same() -> None:
    """Those of a `/proc` have no size, and are read."""
    with pytest.raises(McpError, match="larger than 1 bytes"):
        File("/proc/self/status", max_bytes=1)()
    assert "Name:" in File("/proc/self/status")()["text"]


@pytest.mark.parametrize(
    ("name", "data", "mime_type", "is_text"),
    [
        ("x", b"abc", "text/plain", True),
        ("x", "é\r\n".encode(), "text/plain", True),
        ("x", b"", "text/plain", True),
        ("x", b"\xff", "application/octet-stream", False),
        ("x", b"a\0b", "application/octet-stream", False),
        ("x.txt", b"\xe9", "text/plain", False),
        ("x.svg", b"<svg/>", "image/svg+xml", True),
        ("x.js", b"1", mime_type_of("x.js"), True),
        ("x.pdf", b"%PDF", "application/pdf", False),
        ("x.txt.gz", b"abc", "application/octet-stream", False),
        ("data:text,x", b"abc", "text/plain", True),
        ("X.JSON", b"{}", "application/json", True),
    ],
)
async def test_the_kind_of_a_file_is_what_its_name_says_and_what_is_in_it(
    root: Path, name: str, data: bytes, mime_type: str, is_text: bool
) -> None:
    """RES-17."""
    (root / name).write_bytes(data)

    found = Directory(root).read(name)

    assert found["mimeType"] == mime_type
    assert (found["text"].encode() if is_text else b64decode(found["blob"])) == data


async def test_one_file_is_a_resource_and_read_anew_each_time(root: Path) -> None:
    server = MCPServer("test")
    server.collect(resource("config://app")(File(root / "app.toml")))
    (definition,) = server.resources.definitions

    with pytest.raises(ResourceNotFound, match="config://app"):
        await read(server, "config://app")
    for text in ("a = 1", "a = 2"):
        (root / "app.toml").write_text(text)
        assert (await read(server, "config://app")).text == text
    assert definition.description is None


async def test_one_file_may_be_a_link_since_the_author_chose_it(root: Path) -> None:
    """As mounted configuration is."""
    (root / "link").symlink_to("sub/b.json")

    assert File(root / "link", mime_type="text/x-mine")() == {"text": '{"b":1}', "mimeType": "text/x-mine"}
    with pytest.raises(ResourceNotFound):
        File(root / "sub")()


async def test_a_directory_is_the_function_of_a_template_of_ones_own(root: Path) -> None:
    server = MCPServer("test")
    server.collect(resource_template("mine", uri_template="mine://x/{path*}", title="Mine")(Directory(root)))
    (definition,) = server.resources.template_definitions

    assert (await read(server, "mine://x/sub/b.json")).text == '{"b":1}'
    assert (definition.title, definition.description) == ("Mine", None)


async def test_paths_are_completed(root: Path) -> None:
    server = serving_at("docs://", root)
    ref = ResourceTemplateReference(uri="docs://{path*}")

    found = [
        (await server.invoke_completion(ref, CompletionArgument(name="path", value=typed))).values
        for typed in ("", "sub/b", ".", "../")
    ]

    assert found == [["a.md", "sub/b.json", "sub/c d.png"], ["sub/b.json"], [], []]


async def test_the_parts_of_what_serves_a_directory_have_its_name(root: Path) -> None:
    server = serving_at("docs://", root)

    assert [(each.name, each.uriTemplate) for each in server.resources.template_definitions] == [
        ("docs", "docs://{path*}")
    ]
    assert [(each.name, each.uri) for each in server.resources.definitions] == [("docs", "docs://")]


def test_a_listing_has_an_end(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listing = Directory(root).at("docs://")[1]

    monkeypatch.setattr(files, "MAX_LISTED", 2)
    assert len(listing()["files"]) == 2
    assert listing()["more"]
    monkeypatch.setattr(files, "MAX_SEEN", 2)
    assert [path for path, _ in Directory(root).files()] == ["a.md"]


def test_a_directory_that_went_away_has_no_files(root: Path) -> None:
    directory = Directory(root)
    root.rename(root.parent / "elsewhere")

    assert list(directory.files()) == []
    with pytest.raises(ResourceNotFound):
        directory.read("a.md")


def test_a_failure_of_the_system_is_not_taken_for_a_missing_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_settings: object) -> int:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(OSError, match="too many open files"):
        Directory(root).read("a.md")
