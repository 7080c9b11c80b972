"""Ids that carry their session: what comes out is what went in, for the right caller alone."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.session import Terms
from dedalus_mcp.types import ClientCapabilities, ElicitationCapability, Implementation
from dedalus_mcp.types.capabilities import Capability
from dedalus_mcp.types.revisions import LEGACY
from dedalus_mcp_transports.http_seal import MAX_AGE_SECONDS, MAX_ID, SessionSeal
from dedalus_mcp_transports.http_session import SessionNotFound

KEY, OTHER = b"k" * 32, b"o" * 40
NOW = 1_800_000_000.5
ASKING = ClientCapabilities(elicitation=ElicitationCapability(url=Capability()))


def terms(capabilities: ClientCapabilities = ASKING, info: Implementation | None = None) -> Terms:
    return Terms("2025-11-25", info, capabilities, "info")


def said(found: Terms) -> tuple[Any, ...]:
    return found.revision, found.client_info, found.capabilities, found.log_level


@pytest.mark.parametrize("owner", [None, "", "alice", "é\udcff"])
@pytest.mark.parametrize("revision", LEGACY)
def test_what_was_agreed_on_comes_out_again(revision: str, owner: str | None) -> None:
    """HTTP-41: visible ASCII."""
    agreed = Terms(revision, Implementation(name="né", version="1", title="T"), ASKING, None)
    id = SessionSeal([KEY]).seal(agreed, owner, NOW)

    assert said(SessionSeal([KEY]).open(id, owner, NOW)) == said(agreed)
    assert all(0x21 <= ord(each) <= 0x7E for each in id)


def test_no_two_ids_are_the_same() -> None:
    seal = SessionSeal([KEY])

    assert len({seal.seal(terms(), None, NOW) for _ in range(100)}) == 100


def test_an_id_is_its_owners_alone() -> None:
    """SEC-01."""
    seal = SessionSeal([KEY])
    for owner in (None, "", "alice"):
        id = seal.seal(terms(), owner, NOW)
        for other in {None, "", "alice", "alic", "alicee"} - {owner}:
            with pytest.raises(SessionNotFound):
                seal.open(id, other, NOW)


def test_an_owner_cannot_move_between_name_and_content() -> None:
    seal = SessionSeal([KEY])
    id = seal.seal(terms(), "a", NOW)
    with pytest.raises(SessionNotFound):
        seal.open(id[1:], "a1", NOW)


@pytest.mark.parametrize("keys", [[], [OTHER], [KEY + b"k"]])
def test_another_key_opens_nothing(keys: list[bytes]) -> None:
    id = SessionSeal([KEY]).seal(terms(), None, NOW)
    with pytest.raises(SessionNotFound):
        SessionSeal(keys).open(id, None, NOW)


def test_the_first_key_seals_and_all_open() -> None:
    both = SessionSeal([KEY, OTHER])

    assert SessionSeal([KEY]).open(both.seal(terms(), None, NOW), None, NOW)
    assert both.open(SessionSeal([OTHER]).seal(terms(), None, NOW), None, NOW)
    with pytest.raises(SessionNotFound):
        SessionSeal([OTHER]).open(both.seal(terms(), None, NOW), None, NOW)


def test_without_keys_every_seal_has_its_own() -> None:
    seal = SessionSeal()
    id = seal.seal(terms(), None, NOW)

    assert seal.open(id, None, NOW)
    with pytest.raises(SessionNotFound):
        SessionSeal().open(id, None, NOW)


def test_a_key_in_words_is_its_bytes() -> None:
    id = SessionSeal(["ä" * 16]).seal(terms(), None, NOW)

    assert SessionSeal(["ä".encode() * 16]).open(id, None, NOW)


def test_an_id_is_good_for_a_long_time_but_not_for_ever() -> None:
    seal = SessionSeal([KEY])
    id = seal.seal(terms(), None, NOW)

    assert seal.open(id, None, NOW + MAX_AGE_SECONDS - 1)
    assert seal.open(id, None, NOW - 3600)  # the clock of another process may be behind
    with pytest.raises(SessionNotFound):
        seal.open(id, None, NOW + MAX_AGE_SECONDS + 1)


@given(at=st.integers(0, 400), with_=st.characters(codec="utf-8"))
def test_an_id_that_was_changed_anywhere_is_none(at: int, with_: str) -> None:
    seal = SessionSeal([KEY])
    id = seal.seal(terms(), None, NOW)
    at %= len(id)
    changed = id[:at] + with_ + id[at + 1 :]
    if changed != id:
        with pytest.raises(SessionNotFound):
            seal.open(changed, None, NOW)
    with pytest.raises(SessionNotFound):
        seal.open(id[:at], None, NOW)


@given(id=st.text())
def test_nothing_but_the_one_error_comes_of_any_text(id: str) -> None:
    with pytest.raises(SessionNotFound):
        SessionSeal([KEY]).open(id, None, NOW)


def forged(said: str) -> str:
    """Something with a seal that is right, as another version of this module might have made it."""
    key = hmac.digest(KEY, b"dedalus-mcp legacy session 1", "sha256")
    mac = urlsafe_b64encode(hmac.digest(key, b"0:" + said.encode(), "sha256"))
    return f"{said}.{mac.rstrip(b'=').decode()}"


def test_a_seal_can_be_made_with_the_key_alone() -> None:
    """Other processes do so; and what the next two tests refuse is refused for its content."""
    content = b'["2025-11-25",{},null,"info",1800000000,""]'

    found = SessionSeal([KEY]).open(forged(f"1.{urlsafe_b64encode(content).decode()}"), None, NOW)
    assert said(found) == ("2025-11-25", None, ClientCapabilities(), "info")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'["2025-11-25"]', b"\xff", b'["2025-11-25",{},null,"loud",1,""]']
)
def test_what_another_version_sealed_is_none(content: bytes) -> None:
    with pytest.raises(SessionNotFound):
        SessionSeal([KEY]).open(forged(f"1.{urlsafe_b64encode(content).decode()}"), None, NOW)


@pytest.mark.parametrize("said", ["1", "1.", "1.a", "1.!", "2.e30", ""])
def test_what_is_sealed_is_still_read_with_care(said: str) -> None:
    with pytest.raises(SessionNotFound):
        SessionSeal([KEY]).open(forged(said), None, NOW)


def test_an_id_has_room_for_what_clients_say() -> None:
    info = Implementation(name="client", version="1.2.3", title="A client", websiteUrl="https://" + "x" * 999)
    capabilities = msgspec.structs.replace(ASKING, experimental={"x": {"y": 1}}, extensions={"e": {}})
    found = SessionSeal([KEY]).open(SessionSeal([KEY]).seal(terms(capabilities, info), None, NOW), None, NOW)

    assert found.capabilities == capabilities
    assert found.client_info == Implementation(name="client", version="1.2.3", title="A client")


@pytest.mark.parametrize("size", [10, 1000, 3000, 100_000])
@pytest.mark.parametrize("where", ["name", "experimental", "extensions", "all"])
def test_what_is_too_long_goes_and_what_decides_stays(where: str, size: int) -> None:
    long = "x" * size
    info = Implementation(name=long if where in ("name", "all") else "n", version="1")
    more = {long: {"a": 1}}
    capabilities = msgspec.structs.replace(
        ASKING,
        experimental=more if where in ("experimental", "all") else None,
        extensions=more if where in ("extensions", "all") else None,
    )
    seal = SessionSeal([KEY])
    id = seal.seal(terms(capabilities, info), None, NOW)
    found = seal.open(id, None, NOW)

    assert len(id) <= MAX_ID
    assert (found.revision, found.log_level) == ("2025-11-25", "info")
    assert found.capabilities.elicitation == ASKING.elicitation
    assert (found.client_info is None) == (where in ("name", "all") and size > 1000)
