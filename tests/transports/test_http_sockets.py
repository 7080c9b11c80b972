"""Sockets to listen on: bound at once, told apart, and given back."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dedalus_mcp_transports.http_sockets import address_of, listening


def reaches(bound: socket.socket) -> bool:
    """Whether somebody can connect, and is accepted there."""
    with socket.socket(bound.family) as client:
        client.settimeout(5)
        client.connect(bound.getsockname())
        bound.setblocking(True)
        accepted, _ = bound.accept()
        accepted.close()
        return True


@contextmanager
def taken() -> Generator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_any_free_port_is_found_and_known() -> None:
    with listening("127.0.0.1", 0) as sockets:
        (bound,) = sockets
        port = bound.getsockname()[1]

        assert reaches(bound)
        assert port != 0
        assert address_of(sockets, "127.0.0.1") == f"127.0.0.1:{port}"
    assert bound.fileno() == -1


def test_a_socket_says_that_it_is_tcp_so_that_event_loops_send_without_delay() -> None:
    with listening("127.0.0.1", 0) as sockets:
        assert sockets[0].proto == socket.IPPROTO_TCP
        with socket.create_connection(sockets[0].getsockname(), timeout=5):
            sockets[0].setblocking(True)
            accepted, _ = sockets[0].accept()
            with accepted:
                assert accepted.proto == socket.IPPROTO_TCP


def test_a_name_with_several_addresses_has_one_port() -> None:
    with listening("localhost", 0) as sockets:
        assert len({bound.getsockname()[1] for bound in sockets}) == 1
        assert all(reaches(bound) for bound in sockets)


@pytest.mark.parametrize("host", ["", "0.0.0.0"])
def test_every_interface_can_be_meant(host: str) -> None:
    with listening(host, 0) as sockets:
        assert any(bound.getsockname()[0] == "0.0.0.0" for bound in sockets)
        assert address_of(sockets, host).rpartition(":")[0] in ("0.0.0.0", "[::]")


def test_an_address_that_is_taken_is_an_error_that_names_it() -> None:
    with (
        taken() as port,
        pytest.raises(OSError, match=rf"cannot listen on \('127.0.0.1', {port}\)") as caught,
        listening("127.0.0.1", port),
    ):
        pass

    assert caught.value.errno == errno.EADDRINUSE


@pytest.mark.parametrize("host", ["no such host", "a" * 70])
def test_a_host_that_is_none_is_an_error(host: str) -> None:
    with pytest.raises(OSError, match=r"\w"), listening(host, 0):
        pass


def test_brackets_round_an_address_are_no_part_of_it() -> None:
    try:
        with listening("[::1]", 0) as sockets:
            assert sockets[0].getsockname()[0] == "::1"
            assert address_of(sockets, "::1").startswith("[::1]:")
            assert address_of(sockets, "[::1]").startswith("[::1]:")
    except OSError as error:
        assert error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)  # noqa: PT017 - a machine without IPv6


def test_a_unix_socket_is_there_while_it_is_listened_on(tmp_path: Path) -> None:
    """SEC-13."""
    path = tmp_path / "mcp"
    with listening("127.0.0.1", 0, uds=str(path)) as sockets:
        assert reaches(sockets[0])
        assert address_of(sockets, "127.0.0.1") == f"unix:{path}"
    assert not path.exists()


def test_a_unix_socket_that_a_dead_program_left_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "mcp")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    with listening("", 0, uds=path) as sockets:
        assert reaches(sockets[0])


def test_a_unix_socket_that_is_served_is_not_stolen(tmp_path: Path) -> None:
    path = str(tmp_path / "mcp")
    with listening("", 0, uds=path) as sockets:
        with pytest.raises(OSError, match="cannot listen on"), listening("", 0, uds=path):
            pass
        assert reaches(sockets[0])


def test_a_file_is_not_replaced_by_a_socket(tmp_path: Path) -> None:
    path = tmp_path / "mcp"
    path.write_text("precious")
    with pytest.raises(OSError, match="cannot listen on"), listening("", 0, uds=str(path)):
        pass

    assert path.read_text() == "precious"


def test_a_descriptor_stays_its_owners() -> None:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        with listening("", 0, fd=own.fileno()) as sockets:
            assert reaches(sockets[0])
            assert address_of(sockets, "").startswith("127.0.0.1:")
        own.listen()
        assert reaches(own)


def test_a_descriptor_of_no_socket_is_an_error(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match=r"not a socket|non-socket"), listening("", 0, fd=fd):
            pass
    finally:
        os.close(fd)
