"""`Patient` and `made_patient`: who stops reading is waited for once, and loses the rest."""

from __future__ import annotations

import io
import os
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from dedalus_mcp_transports.stdio_patience import Patient, made_patient

MORE_THAN_A_PIPE_HOLDS = 1 << 20


@contextmanager
def pipe() -> Generator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for fd in ends:
            os.close(fd)


def drained(fd: int) -> bytes:
    os.set_blocking(fd, False)
    return os.read(fd, MORE_THAN_A_PIPE_HOLDS)


def test_what_is_read_arrives_whole() -> None:
    with pipe() as (reader, writer):
        assert Patient(writer, 0).write(b"x" * 10_000) == 10_000
        assert drained(reader) == b"x" * 10_000


def test_what_nobody_reads_is_dropped_and_counts_as_written() -> None:
    with pipe() as (reader, writer):
        patient = Patient(writer, 1)

        assert patient.write(b"x" * MORE_THAN_A_PIPE_HOLDS) == MORE_THAN_A_PIPE_HOLDS
        assert 0 < len(drained(reader)) < MORE_THAN_A_PIPE_HOLDS
        patient.write(b"again")
        assert drained(reader) == b"again"


def test_a_reader_that_is_gone_raises_nothing() -> None:
    reader, writer = os.pipe()
    os.close(reader)

    assert Patient(writer, 0).write(b"x") == 1
    os.close(writer)


def test_it_is_a_writable_file_with_the_descriptor_of_its_owner() -> None:
    with pipe() as (_, writer):
        patient = Patient(writer, 0)

        assert (patient.writable(), patient.fileno(), patient.isatty()) == (True, writer, False)
        patient.close()
        os.fstat(writer)  # still open


@pytest.mark.parametrize("errors", ["backslashreplace", "strict"])
def test_a_stream_keeps_its_manners_and_gets_its_own_buffer_back(errors: str) -> None:
    with pipe() as (reader, writer):
        raw = io.BufferedWriter(io.FileIO(writer, "w", closefd=False))
        stream = io.TextIOWrapper(raw, "latin-1", errors, line_buffering=True)
        undo = made_patient(stream, 1)

        print("é" * MORE_THAN_A_PIPE_HOLDS, file=stream)
        assert set(drained(reader)) == {0xE9}
        undo()
        assert stream.buffer is raw
        print("ü", file=stream)
        assert drained(reader) == b"\xfc\n"
        assert (stream.errors, stream.line_buffering) == (errors, True)


def test_a_stream_of_another_kind_is_left_alone() -> None:
    for stream in (None, io.StringIO()):
        made_patient(stream, 1)()


def test_a_closed_stream_is_left_alone() -> None:
    with pipe() as (_, writer):
        stream = io.TextIOWrapper(io.FileIO(writer, "w", closefd=False), "utf-8")
        undo = made_patient(stream, 1)
        stream.close()
        undo()
        made_patient(stream, 1)()
