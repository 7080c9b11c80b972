"""`Lines`: framing alone, with no event loop in sight."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedalus_mcp.transport import Oversized
from dedalus_mcp_transports.lines import MAX_FRAME, Lines

MARK = b"\xef\xbb\xbf"


def frames_of(*chunks: bytes, limit: int = MAX_FRAME) -> list[bytes | Oversized]:
    lines = Lines(limit)
    return [frame for chunk in chunks for frame in lines.feed(chunk)] + lines.end()


def expected(data: bytes, limit: int) -> list[bytes | Oversized]:
    """The rules once more, on all of the bytes at once."""
    frames: list[bytes | Oversized] = []
    for line in data.removeprefix(MARK).split(b"\n"):
        if len(line) > limit:
            frames.append(Oversized(limit, line[:512], line[-512:].removesuffix(b"\r")))
        elif line.strip(b" \t\r\x0b\x0c"):
            frames.append(line.removesuffix(b"\r"))
    return frames


def test_lines_of_one_chunk_are_its_frames() -> None:
    assert frames_of(b'{"a":1}\n{"b":2}\n') == [b'{"a":1}', b'{"b":2}']


def test_a_line_is_complete_only_with_its_newline() -> None:
    lines = Lines()

    assert lines.feed(b'{"a"') == []
    assert lines.feed(b":1}") == []
    assert lines.feed(b'\n{"b":2}\n{') == [b'{"a":1}', b'{"b":2}']


def test_a_last_line_without_newline_counts() -> None:
    """B059."""
    assert frames_of(b"{}\n[]") == [b"{}", b"[]"]


def test_nothing_is_left_after_the_end() -> None:
    lines = Lines()
    lines.feed(b"{}")

    assert lines.end() == [b"{}"]
    assert lines.end() == []


def test_carriage_returns_and_blank_lines_are_no_part_of_frames() -> None:
    """B065."""
    assert frames_of(b"\r\n\n{}\r\n \t\r\n\r\n[]\r\n\n", b"1", b"\r", b"\n") == [b"{}", b"[]", b"1"]


def test_only_one_carriage_return_is_dropped_and_only_at_the_end() -> None:
    assert frames_of(b"a\r\r\nb\rc\n") == [b"a\r", b"b\rc"]


def test_only_a_newline_ends_a_line() -> None:
    """B058, STDIO-01."""
    text = '"a\u2028b\u2029c\u0085d\x0b\x0c\x1c\x1d\x1e"'.encode()

    assert frames_of(text + b"\n") == [text]


@pytest.mark.parametrize("cut", range(5))
def test_a_byte_order_mark_is_dropped_at_the_start_alone(cut: int) -> None:
    """B056."""
    data = MARK + b"{}\n" + MARK + b"[]\n"

    assert frames_of(data[:cut], data[cut:]) == [b"{}", MARK + b"[]"]


def test_part_of_a_byte_order_mark_is_text() -> None:
    assert frames_of(MARK[:2]) == [MARK[:2]]
    assert frames_of(MARK[:1], b"x\n") == [MARK[:1] + b"x"]
    assert frames_of(MARK) == []


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_a_line_above_the_limit_becomes_one_oversized(size: int) -> None:
    """B059."""
    line = b'{"id":7,' + b"x" * 5000 + b',"z":1}'
    data = b"{}\n" + line + b"\r\n[]\n"
    chunks = [data[start : start + size] for start in range(0, len(data), size)]

    assert frames_of(*chunks, limit=4096) == [b"{}", Oversized(4096, line[:512], line[-511:]), b"[]"]


def test_the_limit_itself_is_allowed() -> None:
    assert frames_of(b"x" * 10 + b"\n", limit=10) == [b"x" * 10]
    assert frames_of(b"x" * 11, limit=10) == [Oversized(10, b"x" * 11, b"x" * 11)]


def test_memory_stays_bounded_by_the_limit() -> None:
    """B059: 64 MiB of one line, against a limit of 1 MiB."""
    lines, chunk = Lines(1024 * 1024), b"x" * 65536
    tracemalloc.start()
    try:
        for _ in range(1024):
            assert lines.feed(chunk) == []
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 4 * 1024 * 1024
    assert [type(frame) for frame in lines.feed(b"\n")] == [Oversized]


@pytest.mark.parametrize(("size", "chunk"), [(1 << 20, 1), (8 << 20, 1 << 16), (8 << 20, 8 << 20)])
def test_a_big_line_in_chunks_of_any_size(size: int, chunk: int) -> None:
    """B059.  Were the bytes joined anew for each chunk, the first of these would take hours."""
    data = b"x" * size + b"\n"

    assert frames_of(*(data[start : start + chunk] for start in range(0, len(data), chunk))) == [data[:-1]]


pieces = st.lists(st.sampled_from([MARK, b"\n", b"\r", b"\r\n", b" ", b"{}", b"x" * 600, b"y" * 30, b"\xe2\x80\xa8"]))


@given(data=pieces.map(b"".join) | st.binary(), cuts=st.lists(st.integers(0, 4000)), limit=st.sampled_from([8, 700]))
@example(data=MARK + b"\n" + MARK, cuts=[1, 2, 3, 4, 5], limit=8)
def test_any_chunking_gives_the_same_frames(data: bytes, cuts: list[int], limit: int) -> None:
    edges = [0, *sorted(cuts), len(data)]
    chunks = [data[start:stop] for start, stop in pairwise(edges)]

    assert frames_of(*chunks, limit=limit) == expected(data, limit)
