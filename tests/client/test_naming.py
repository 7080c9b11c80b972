"""Names in a group: no two are the same, and each says whose it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dedalus_mcp.client.naming import in_group, parted, server_name

names = st.text(min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("files", "files"),
        ("My Server", "My_Server"),
        ("a__b", "a_b"),
        ("_a_", "a"),
        ("@scope/pkg", "scope_pkg"),
        ("a-b.c", "a-b_c"),
    ],
)
def test_a_servers_name_has_what_models_take_in_names_of_tools(given: str, found: str) -> None:
    assert server_name(given) == found


@pytest.mark.parametrize("name", ["", "___", "é", "x" * 65])
def test_a_name_of_which_nothing_is_left_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="a server's name has 1 to 64 letters"):
        server_name(name)


@pytest.mark.parametrize("name", ["", "files", "files_read", "__read", "files__"])
def test_what_is_no_name_of_a_group_is_refused(name: str) -> None:
    with pytest.raises(LookupError, match="names in a group are 'server__name'"):
        parted(name)


@given(server=names, own=names)
def test_every_name_leads_back_to_its_server_and_to_its_own_name(server: str, own: str) -> None:
    try:
        known = server_name(server)
    except ValueError:
        assume(condition=False)
        return

    assert re.fullmatch("[A-Za-z0-9_-]{1,64}", known)
    assert server_name(known) == known
    assert parted(in_group(known, own)) == (known, own)
