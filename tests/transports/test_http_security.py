"""`Guard`: which Host and Origin pass, and what is said to those that do not."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedalus_mcp_transports.http_security import Guard, TransportSecuritySettings


def guard(*hosts: str, origins: tuple[str, ...] = (), bound: str | None = "127.0.0.1") -> Guard:
    return Guard(TransportSecuritySettings(allowed_hosts=[*hosts], allowed_origins=[*origins]), bound)


def status(guard: Guard, host: str | None = "localhost", origin: str | None = None) -> int:
    refusal = guard.check(host, origin)
    return 200 if refusal is None else refusal.status


@pytest.mark.parametrize("bound", ["127.0.0.1", "localhost", "::1", "[::1]", None])
@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8000",
        "LocalHost:1",
        "localhost.",
        "localhost.:80",
        "127.0.0.1",
        "127.0.0.1:65535",
        "[::1]",
        "[::1]:8000",
    ],
)
def test_loopback_names_are_served_by_default(host: str, bound: str | None) -> None:
    """B080."""
    assert status(guard(bound=bound), host) == 200
    assert status(guard(bound=bound), host, f"http://{host}") == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.com",
        "evil.com:8000",
        "localhost.evil.com",
        "evil-localhost",
        "127.0.0.1.evil.com",
        "localhost@evil.com",
        "evil.com#localhost",
        "localhost:",
        "localhost:80:80",
        "localhost:x",
        "localhost ",
        "localhost..",
        "localhost,evil.com",
        "::1",
        "[localhost]",
        "127.1",
        "",
    ],
)
def test_any_other_host_is_misdirected(host: str) -> None:
    """B080."""
    assert status(guard(), host) == 421
    assert status(guard(), host, "http://localhost") == 421


def test_a_request_without_host_is_misdirected() -> None:
    refusal = guard().check(None, None)

    assert refusal is not None
    assert refusal.status == 421
    assert refusal.message.startswith("a request without Host is not served here")
    assert status(guard("*"), None) == 200


def test_the_bound_host_is_served_too() -> None:
    """B080."""
    assert status(guard(bound="192.168.1.5"), "192.168.1.5:8000", "http://192.168.1.5:8000") == 200
    assert status(guard(bound="Box.Local."), "box.local:8000") == 200
    assert status(guard(bound="fe80::1"), "[FE80::1]:8000") == 200
    assert status(guard(bound="192.168.1.5"), "192.168.1.6") == 421


@pytest.mark.parametrize("bound", ["0.0.0.0", "::", "[::]", ""])
def test_on_every_interface_any_host_is_served_but_not_any_page(bound: str) -> None:
    """B080: the names that lead here are not known, and a rebound page still names itself."""
    assert status(guard(bound=bound), "mcp.example.com") == 200
    assert status(guard(bound=bound), "evil.com", "http://evil.com") == 403
    assert status(guard(bound=bound), "localhost", "http://localhost:3000") == 200
    assert status(guard("mcp.example.com", bound=bound), "evil.com") == 421


@pytest.mark.parametrize(
    ("entry", "hosts", "others"),
    [
        (
            "mcp.example.com",
            ["mcp.example.com", "mcp.example.com:8443", "MCP.Example.com."],
            ["example.com", "localhost"],
        ),
        ("mcp.example.com:*", ["mcp.example.com", "mcp.example.com:8443"], ["x.mcp.example.com"]),
        ("mcp.example.com:8443", ["mcp.example.com:8443"], ["mcp.example.com", "mcp.example.com:443"]),
        ("mcp.example.com:443", ["mcp.example.com:443", "mcp.example.com"], ["mcp.example.com:80"]),
        ("MCP.example.com.", ["mcp.example.com"], ["mcp-example.com"]),
        ("[2001:DB8::1]:9", ["[2001:db8::1]:9"], ["[2001:db8::1]", "[2001:db8::2]:9"]),
        ("[::1]:*", ["[::1]", "[::1]:9"], ["[::2]"]),
        ("*", ["evil.com", "anything at all"], []),
    ],
)
def test_allowed_hosts_stand_in_place_of_the_default(entry: str, hosts: list[str], others: list[str]) -> None:
    """B080."""
    assert {host: status(guard(entry), host) for host in hosts} == dict.fromkeys(hosts, 200)
    assert {host: status(guard(entry), host) for host in others} == dict.fromkeys(others, 421)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.com",
        "https://evil.com:8000",
        "null",
        "",
        "localhost",
        "http://localhost.evil.com",
        "http://localhost/",
        "http://user@localhost",
        "file://",
        "ftp://localhost",
        "chrome-extension://localhost",
    ],
)
def test_any_other_page_is_forbidden(origin: str) -> None:
    """HTTP-02, B080."""
    assert status(guard(), "localhost", origin) == 403


def test_who_is_no_page_has_no_origin() -> None:
    assert status(guard(), "localhost", None) == 200


@pytest.mark.parametrize(
    ("entry", "origins", "others"),
    [
        (
            "https://app.example.com",
            ["https://app.example.com", "https://app.example.com:443", "HTTPS://APP.example.com."],
            [
                "http://app.example.com",
                "https://app.example.com:8443",
                "https://x.app.example.com",
                "http://localhost",
                "null",
            ],
        ),
        ("http://localhost:3000", ["http://localhost:3000"], ["http://localhost", "https://localhost:3000"]),
        ("http://localhost:80", ["http://localhost", "http://localhost:80"], ["http://localhost:443"]),
        ("http://[::1]:*", ["http://[::1]", "http://[::1]:3000"], ["https://[::1]", "http://localhost"]),
        ("vscode-webview://abc", ["vscode-webview://abc"], ["vscode-webview://abc:1", "vscode-webview://b"]),
        ("*", ["http://evil.com", "null", "file://"], []),
    ],
)
def test_allowed_origins_stand_in_place_of_the_default(entry: str, origins: list[str], others: list[str]) -> None:
    """HTTP-02: scheme, name and port are compared."""
    assert {each: status(guard(origins=(entry,)), "localhost", each) for each in origins} == dict.fromkeys(origins, 200)
    assert {each: status(guard(origins=(entry,)), "localhost", each) for each in others} == dict.fromkeys(others, 403)


def test_the_pages_of_allowed_hosts_may_call_unless_origins_are_named() -> None:
    proxied = guard("mcp.example.com", "box:9")

    assert status(proxied, "mcp.example.com", "https://mcp.example.com") == 200
    assert status(proxied, "box:9", "http://box:9") == 200
    assert status(proxied, "box:9", "http://box:10") == 403
    assert status(proxied, "box:9", "http://localhost") == 403
    assert status(guard("*"), "x", "http://x") == 403
    assert status(guard("*"), "x", "http://localhost:3000") == 200


@pytest.mark.parametrize(
    "entry", ["", "http://example.com", "*.example.com", "::1", "a b", "example.com:x", "*:80", "a/b"]
)
def test_an_allowed_host_is_written_as_one(entry: str) -> None:
    with pytest.raises(ValueError, match="allowed_hosts takes host names"):
        guard(entry)


@pytest.mark.parametrize(
    "entry", ["", "example.com", "https://example.com/", "https://*.example.com", "null", "https://"]
)
def test_an_allowed_origin_is_written_as_one(entry: str) -> None:
    with pytest.raises(ValueError, match="allowed_origins takes origins"):
        guard(origins=(entry,))


def test_the_message_names_what_was_refused_and_the_setting() -> None:
    """B080."""
    host = guard().check("mcp.example.com:8000", None)
    origin = guard().check("localhost", "https://app.example.com")

    assert host is not None
    assert re.search(r"Host mcp\.example\.com:8000 .* allowed_hosts", host.message)
    assert origin is not None
    assert re.search(r"Origin https://app\.example\.com .* allowed_origins", origin.message)


def test_protection_can_be_switched_off() -> None:
    off = Guard(TransportSecuritySettings(enable_dns_rebinding_protection=False), "127.0.0.1")

    assert status(off, "evil.com", "http://evil.com") == 200
    assert status(off, None, "null") == 200


def test_what_was_found_good_stays_good_and_is_bounded() -> None:
    any_host, good = guard("*", origins=("*",)), set[tuple[str | None, str | None]]()

    for number in range(1000):
        assert status(any_host, f"host{number}", "null") == 200
        assert status(any_host, f"host{number}" * 100, "null") == 200
        good = any_host._good  # pyright: ignore[reportPrivateUsage]
        assert len(good) <= 256
    assert ("host999", "null") in good
    assert max(len(host or "") for host, _ in good) < 10
    assert status(any_host, "host999", "null") == 200


@pytest.mark.parametrize(
    ("environment", "settings"),
    [
        ({}, TransportSecuritySettings()),
        ({"MCP_DNS_REBINDING_PROTECTION": " "}, TransportSecuritySettings()),
        ({"MCP_DNS_REBINDING_PROTECTION": "True"}, TransportSecuritySettings(enable_dns_rebinding_protection=True)),
        ({"MCP_DNS_REBINDING_PROTECTION": "off"}, TransportSecuritySettings(enable_dns_rebinding_protection=False)),
        (
            {"MCP_ALLOWED_HOSTS": "a, b:1,", "MCP_ALLOWED_ORIGINS": "https://a"},
            TransportSecuritySettings(allowed_hosts=["a", "b:1"], allowed_origins=["https://a"]),
        ),
    ],
    ids=str,
)
def test_the_environment_can_say_it(environment: dict[str, str], settings: TransportSecuritySettings) -> None:
    assert TransportSecuritySettings.from_environment(environment) == settings


def test_a_switch_in_the_environment_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ValueError, match="must be true or false, not 'maybe'"):
        TransportSecuritySettings.from_environment({"MCP_DNS_REBINDING_PROTECTION": "maybe"})


@pytest.mark.parametrize(
    ("variable", "value", "example"),
    [("MCP_ALLOWED_HOSTS", "a,http://b", "mcp.example.com"), ("MCP_ALLOWED_ORIGINS", "b", "https://app.example.com")],
)
def test_an_entry_in_the_environment_that_is_none_is_an_error_that_names_the_variable(
    variable: str, value: str, example: str
) -> None:
    with pytest.raises(ValueError, match=rf"^{variable}: allowed_.*'{example}'"):
        TransportSecuritySettings.from_environment({variable: value})


def test_a_refusal_says_how_to_allow_what_was_refused() -> None:
    """B080."""
    host, origin = guard().check("mcp.example.com", None), guard().check("localhost", "https://app.example.com")

    assert host is not None
    assert origin is not None
    assert host.message.startswith("Host mcp.example.com is not served here; the setting allowed_hosts (or MCP_ALLOWED")
    assert "https://app.example.com is not allowed here; the setting allowed_origins (or MCP_AL" in origin.message


def test_settings_are_not_shared() -> None:
    assert TransportSecuritySettings().allowed_hosts is not TransportSecuritySettings().allowed_hosts


@given(st.text(), st.none() | st.text())
@example("<script>\r\nX: y" * 99, None)
@example("localhost", "<img>\u2028" * 99)
def test_a_refusal_reflects_nothing_harmful_and_little(host: str, origin: str | None) -> None:
    refusal = guard().check(host, origin)

    assert refusal is None or re.fullmatch(r"[A-Za-z0-9.:/_\[\]? ;()-]{1,240}", refusal.message)


@pytest.mark.parametrize("name", ["allowed_hosts", "allowed_origins"])
def test_one_text_is_no_list_of_names(name: str) -> None:
    wrong: dict[str, Any] = {name: "*"}
    with pytest.raises(ValueError, match=f"{name} is a list of names, not one text"):
        TransportSecuritySettings(**wrong)
