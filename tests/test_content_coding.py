"""Bodies that come compressed: what is in them, in pieces, however they come."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.content_coding import MAX_PIECE, folded, ignored


class Chunks(httpx.AsyncByteStream):
    """A body in chunks."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


def answer(coding: str, *chunks: bytes) -> httpx.Response:
    return httpx.Response(200, headers={"content-encoding": coding}, stream=Chunks(*chunks))


def unfolded(coding: str, *chunks: bytes) -> Iterator[bytes]:
    _, unfold = folded(answer(coding, *chunks))
    for chunk in chunks:
        yield from unfold(chunk)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("", b"text"),
        ("identity", b"text"),
        ("gzip", gzip.compress(b"text", mtime=0)),
        ("X-GZip", gzip.compress(b"text", mtime=0)),
        ("deflate", zlib.compress(b"text")),
        ("deflate", gzip.compress(b"text", mtime=0)),
        ("gzip", gzip.compress(b"text", mtime=0) + b"and more"),
    ],
)
async def test_a_body_is_what_it_stands_for(coding: str, body: bytes) -> None:
    chunks, unfold = folded(answer(coding, body))

    assert b"".join([piece async for chunk in chunks for piece in unfold(chunk)]) == b"text"


@given(body=st.binary(max_size=2000), times=st.integers(0, 300), size=st.integers(1, 5000))
def test_a_body_may_come_in_any_chunks(body: bytes, times: int, size: int) -> None:
    whole = body * times
    packed = gzip.compress(whole, mtime=0)
    pieces = list(unfolded("gzip", *(packed[at : at + size] for at in range(0, len(packed), size))))

    assert b"".join(pieces) == whole
    assert all(0 < len(piece) <= MAX_PIECE for piece in pieces)


@pytest.mark.parametrize("length", [MAX_PIECE - 1, MAX_PIECE, MAX_PIECE + 1, 2 * MAX_PIECE])
def test_nothing_is_held_back_where_a_piece_is_full(length: int) -> None:
    """A stream of events may say nothing more for an hour."""
    compressor = zlib.compressobj()
    chunk = compressor.compress(b"x" * length) + compressor.flush(zlib.Z_SYNC_FLUSH)

    assert sum(map(len, unfolded("deflate", chunk))) == length


def test_who_has_enough_takes_no_more() -> None:
    first = next(unfolded("gzip", gzip.compress(b"\0" * 50_000_000, mtime=0)))

    assert len(first) == MAX_PIECE
    assert list(ignored(b"more")) == []


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "gzip,gzip,gzip", "x" * 1000])
def test_another_coding_is_refused(coding: str) -> None:
    with pytest.raises(ValueError, match="legal are gzip, deflate and none"):
        folded(answer(coding))


def test_what_is_not_compressed_is_told() -> None:
    with pytest.raises(ValueError, match="the body is not compressed as it says"):
        list(unfolded("gzip", b"text"))


async def test_a_body_that_was_read_already_is_there() -> None:
    made = answer("gzip", gzip.compress(b"text", mtime=0))
    await made.aread()
    chunks, unfold = folded(made)

    assert [piece async for chunk in chunks for piece in unfold(chunk)] == [b"text"]
