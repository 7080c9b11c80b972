"""Where metadata may send a client, and where not."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.client.auth.failures import DiscoveryError
from dedalus_mcp.client.auth.reach import MAX_URL, Reach, is_local, is_loopback, shown

PUBLIC = Reach("https://mcp.example.com/mcp")
LOCAL = Reach("http://localhost:8000/mcp")

PRIVATE_HOSTS = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "0.0.0.0",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "evil.localhost",
    "10.0.0.1",
    "172.16.3.4",
    "192.168.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "[::1]",
    "[::]",
    "[fe80::1]",
    "[fe80::1%25eth0]",
    "[fd00::1]",
    "[ff02::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::1]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b:1::7f00:1]",
    "[fec0::1]",
    "metadata.google.internal",
    "printer.local",
    "router.home.arpa",
    "intranet",
]


@pytest.mark.parametrize("host", PRIVATE_HOSTS)
def test_a_server_of_the_internet_sends_nobody_into_a_private_network(host: str) -> None:
    """SEC-09: however the address is written."""
    with pytest.raises(DiscoveryError, match=r"is in a private network, and|is the address of no server"):
        PUBLIC.check(f"https://{host}/token", "the address")


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "0.0.0.0", "224.0.0.1", "[::ffff:a9fe:a9fe]"])
def test_nobody_is_sent_where_no_server_is(host: str) -> None:
    """SEC-09: above all not to the metadata of a cloud."""
    with pytest.raises(DiscoveryError, match="is the address of no server"):
        LOCAL.check(f"https://{host}/token", "the address")


@pytest.mark.parametrize("host", ["10.0.0.1", "192.168.0.1", "idp.corp.internal", "[fd00::1]", "localhost"])
def test_a_server_of_a_private_network_may_name_its_neighbours(host: str) -> None:
    assert Reach("https://mcp.corp.internal/mcp").check(f"https://{host}/token", "it") == f"https://{host}/token"


@pytest.mark.parametrize(
    "url",
    [
        "https://as.example.com/token",
        "https://as.example.com:8443",
        "https://8.8.8.8/x",
        "https://[2001:4860:4860::8888]/",
    ],
)
@pytest.mark.parametrize("reach", [PUBLIC, LOCAL], ids=["public", "local"])
def test_everybody_may_name_the_internet(reach: Reach, url: str) -> None:
    assert reach.check(url, "the address") == url


@pytest.mark.parametrize("url", ["http://localhost:9/token", "http://127.0.0.1/token", "http://[::1]:9/x"])
def test_this_machine_needs_no_tls(url: str) -> None:
    """AUTH-47."""
    assert LOCAL.check(url, "the address") == url


@pytest.mark.parametrize("url", ["http://as.example.com/token", "http://192.168.0.1/token"])
def test_all_others_do(url: str) -> None:
    """AUTH-47, SEC-09."""
    with pytest.raises(DiscoveryError, match="is not https://, and not on this machine"):
        LOCAL.check(url, "the address")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "token",
        "//as.example.com/token",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "vbscript:x",
        "ftp://as.example.com/",
        "https://",
        "https:///token",
        "https://as.example.com:99999/",
        "https://[::1/",
        "https://me:word@as.example.com/",
        "https://as.example.com@evil.example/",
        "https://as.example.com/#fragment",
        "https://as.example.com/a b",
        "https://as.example.com/\r\nx: y",
        "https://as.example.com\\@evil.example/",
        "https://ümlaut.example/",
        "https://as.example.com/" + "x" * MAX_URL,
    ],
    ids=lambda url: url[:24],
)
@pytest.mark.parametrize("reach", [PUBLIC, LOCAL], ids=["public", "local"])
def test_what_is_no_address_of_a_web_server_is_refused(reach: Reach, url: str) -> None:
    """SEC-10: javascript, data, file and the like are no pages to open either."""
    with pytest.raises(DiscoveryError) as caught:
        reach.check(url, "the address")

    assert len(str(caught.value)) < 400


def test_a_host_can_be_trusted_by_name() -> None:
    reach = Reach("https://mcp.example.com/mcp", ["idp.corp.internal", "MCP-Server"])

    assert reach.check("http://idp.corp.internal:8080/token", "it")
    assert reach.check("http://mcp-server/token", "it")
    with pytest.raises(DiscoveryError):
        reach.check("http://other.corp.internal/token", "it")
    assert not reach.must_resolve("http://mcp-server/token")


def test_names_of_the_internet_are_looked_up_where_that_matters() -> None:
    """SEC-09: a name may stand for any address."""
    assert PUBLIC.must_resolve("https://as.example.com/token")
    assert not PUBLIC.must_resolve("https://8.8.8.8/token")
    assert LOCAL.must_resolve("https://as.example.com/token")
    assert not LOCAL.must_resolve("http://localhost/token")
    assert not PUBLIC.allows_addresses(["8.8.8.8", "10.0.0.1"])
    assert not PUBLIC.allows_addresses(["fe80::1%eth0"])
    assert PUBLIC.allows_addresses(["8.8.8.8", "2001:4860:4860::8888"])
    assert PUBLIC.allows_addresses([])
    assert LOCAL.allows_addresses(["10.0.0.1"])
    assert not LOCAL.allows_addresses(["169.254.169.254"])


def test_inside_a_company_names_of_the_internet_may_lead_to_its_own_network() -> None:
    """Where the server's own name does."""
    assert PUBLIC.allows_addresses(["10.0.0.1"], own=["10.0.0.2"])
    assert not PUBLIC.allows_addresses(["10.0.0.1"], own=["10.0.0.2", "8.8.8.8"])
    assert not PUBLIC.allows_addresses(["10.0.0.1"], own=[])
    assert not PUBLIC.allows_addresses(["169.254.169.254"], own=["10.0.0.2"])


def test_a_url_is_shown_without_what_may_be_secret() -> None:
    assert shown("https://me:word@as.example.com/token?code=s3cret#x") == "https://as.example.com/token"
    assert len(shown("https://as.example.com/" + "x" * 5000)) == 200


@given(st.text(max_size=60))
def test_no_host_breaks_the_judgement(host: str) -> None:
    assert is_loopback(host) in (True, False)
    assert is_local(host) in (True, False)


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_an_address_is_judged_the_same_in_every_spelling(address: IPv4Address) -> None:
    number, dotted = int(address), str(address)

    for spelt in (str(number), hex(number), f"[::ffff:{dotted}]"):
        assert is_local(spelt) == is_local(dotted)


@given(st.text(max_size=80))
def test_no_url_gets_by_without_being_one(url: str) -> None:
    try:
        PUBLIC.check(url, "the address")
    except DiscoveryError:
        return
    assert url.startswith("https://")
