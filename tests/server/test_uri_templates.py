"""`UriTemplate`: values out of URIs, and URIs out of values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedalus_mcp.server.uri_templates import UriTemplate


def match(template: str, uri: str, **settings: Any) -> dict[str, str] | None:
    return UriTemplate(template, **settings).match(uri)


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("data://{id}", "data://a", {"id": "a"}),
        ("data://{id}", "data://a%20b", {"id": "a b"}),
        ("data://{id}", "data://a%2Fb", {"id": "a/b"}),
        ("data://{id}", "data://%C3%A9%e4%bd%a0", {"id": "é你"}),
        ("data://{id}", "data://é 你", {"id": "é 你"}),
        ("data://{id}", "data://a%2520b", {"id": "a%20b"}),  # decoded once
        ("data://{id}", "data://a%0Ab", {"id": "a\nb"}),
        ("data://{id}", "data://a+b:c@d,e", {"id": "a+b:c@d,e"}),
        ("data://{id}", "data://...", {"id": "..."}),
        ("data://{id}", "data://c:", {"id": "c:"}),
        ("data://{id}", "data://https%3A%2F%2Fexample.com%2Fa", {"id": "https://example.com/a"}),
        ("files://{path*}", "files://a/b%2Fc", {"path": "a/b/c"}),
        ("files://{+path}", "files://a/b%2Fc/", {"path": "a/b/c/"}),
        ("files://{+path}", "files://a?b#c", {"path": "a?b#c"}),
        ("t://{a}/{b}", "t://1/2", {"a": "1", "b": "2"}),
        ("t://{a}-{b}", "t://1-2-3", {"a": "1", "b": "2-3"}),
        ("t://{a}.{b}.md", "t://x.y.md.md", {"a": "x", "b": "y.md"}),
        ("t://{owner}/{+path}/raw", "t://me/a/b/raw/raw", {"owner": "me", "path": "a/b/raw"}),
        ("t://{+path}/{a}/{b}.txt", "t://a/b/c/d.txt", {"path": "a/b", "a": "c", "b": "d"}),
        ("t://{a}/{b*}-{c}", "t://1/2/3-4-5", {"a": "1", "b": "2/3-4", "c": "5"}),
        ("s://q{?x,y}", "s://q", {}),
        ("s://q{?x,y}", "s://q?x=1", {"x": "1"}),
        ("s://q{?x,y}", "s://q?y=2&x=a%26b", {"x": "a&b", "y": "2"}),
        ("s://q{?x,y}", "s://q?x=", {"x": ""}),
        ("s://{a}{?x}", "s://b?x=c/d+e?f", {"a": "b", "x": "c/d+e?f"}),
        ("s://{+a}{?x}", "s://b/c?x=d", {"a": "b/c", "x": "d"}),
    ],
)
def test_a_uri_that_fits_gives_its_values(template: str, uri: str, values: dict[str, str]) -> None:
    """B149: one segment, or several, or a query, each decoded once."""
    assert match(template, uri) == values


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("data://{id}", "data://"),
        ("data://{id}", "DATA://a"),  # compared as it is written
        ("data://{id}", "data://a/b"),
        ("data://{id}", "data://a?b"),
        ("data://{id}", "data://a#b"),
        ("data://{id}", "data://x\n"),
        ("data://{id}", "\ndata://x"),
        ("data://{id}", "data://x\r"),
        ("data://{id}", "data://x\u2028"),
        ("data://{id}", "data://\ud800"),
        ("data://{id}", "data://%"),
        ("data://{id}", "data://%4"),
        ("data://{id}", "data://%zz"),
        ("data://{id}", "data://% 41"),
        ("data://{id}", "data://%FF"),
        ("t://{a}/{b}", "t://1"),
        ("t://{a}/{b}", "t://1/"),
        ("t://{a}/{b}", "t:///1"),
        ("t://{a}/{b}", "t://1/2/3"),
        ("t://{a}.md", "t://.md"),
        ("t://{a}.md", "t://a.txt"),
        ("t://{a}--{b}", "t://1--"),
        ("t://{a}/x/{+b}/x", "t://a/x"),
        ("t://{a}/{+b}/{c}", "t://1/2"),
        ("files://{+path}", "files:///etc/passwd"),
        ("files://{+path}", "files://a//b"),
        ("files://{path*}", "files://a/%2Fb"),
        ("s://q{?x,y}", "s://q?"),
        ("s://q{?x,y}", "s://q?x"),
        ("s://q{?x,y}", "s://q?x=1&x=2"),
        ("s://q{?x,y}", "s://q?x=1&z=2"),
        ("s://q{?x,y}", "s://q?x=%FF"),
        ("s://q{?x,y}", "s://q?x=1#f"),
        ("s://q{?x,y}", "s://p?x=1"),
        ("s://q{?x,y}", "s://q/?x=1"),
    ],
)
def test_a_uri_that_does_not_fit_is_no_match(template: str, uri: str) -> None:
    """B149, RES-17."""
    assert match(template, uri) is None


WAYS_OUT = [
    "..",
    "../a",
    "a/../b",
    "a/..",
    "%2e%2e",
    ".%2E/a",
    "a/%2e%2E%2fb",
    "a%5C..%5Cb",
    "%5Ca",
    "C:%5Ca",
    "C:/a",
    "a%00",
]


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("template", ["f://{x}", "f://{+x}", "f://{x*}", "f://q{?x}"])
def test_no_value_is_a_way_out_of_a_directory(template: str, way: str) -> None:
    """RES-18: plain or encoded, on any system."""
    assert match(template, (f"f://q?x={way}" if "?" in template else f"f://{way}")) is None
    assert match(template, "f://q?x=a..b" if "?" in template else "f://a..b") == {"x": "a..b"}
    with pytest.raises(ValueError, match="has no URI"):
        UriTemplate(template).expand({"x": "a/../b"})


@pytest.mark.parametrize("way", ["..", "a/../b", "/etc/passwd", "a//b", "C:%5Ca", "a%00"])
def test_who_opts_in_gets_any_path_but_never_in_one_segment(way: str) -> None:
    """RES-18."""
    plain = way.replace("%5C", "\\").replace("%00", "\0")

    assert match("f://{+x}", f"f://{way}", any_path=True) == {"x": plain}
    assert match("f://{x*}", f"f://{way}", any_path=True) == {"x": plain}
    assert match("f://q{?x}", f"f://q?x={way}", any_path=True) == {"x": plain}
    if way != "a//b":  # which is no way out
        assert match("f://{x}", f"f://{way.replace('/', '%2F')}", any_path=True) is None
    assert match("f://{+x}", "f://", any_path=True) is None


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("t://plain", "names no variable"),
        ("t://{", "not closed"),
        ("t://{a", "not closed"),
        ("t://{a{b}}", "not closed"),
        ("t://a}", "not open"),
        ("t://{a}}", "not open"),
        ("t://{}", "not ''"),
        ("t://{a,b}", "not 'a,b'"),
        ("t://{/a}", "not '/a'"),
        ("t://{#a}", "not '#a'"),
        ("t://{a:3}", "not 'a:3'"),
        ("t://{+a*}", r"not 'a\*'"),
        ("t://{é}", "not 'é'"),
        ("t://{a}/{a}", "twice"),
        ("t://{a}{?a}", "twice"),
        ("t://{a}{b}", "between two variables"),
        ("t://{+a}/{b*}", "one variable may have slashes"),
        ("t://a{?b}/c", "at the end"),
        ("t://{?a}/{b}", r"not '\?a'"),
        ("t://a?b={b}{?c}", "one query"),
        ("t://a{?b,}", "not ''"),
    ],
)
def test_what_cannot_be_read_backwards_is_refused_with_the_reason(template: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        UriTemplate(template)


def test_a_template_tells_its_names() -> None:
    template = UriTemplate("t://{a}/{+b}{?c,d}")

    assert template.text == "t://{a}/{+b}{?c,d}"
    assert template.path == ("a", "b")
    assert template.query == ("c", "d")


@pytest.mark.parametrize(
    ("template", "values", "uri"),
    [
        ("t://{a}/x", {"a": "b c/é?"}, "t://b%20c%2F%C3%A9%3F/x"),
        ("t://{a*}", {"a": "b c/d"}, "t://b%20c/d"),
        ("t://{+a}", {"a": "b:c/d%?"}, "t://b:c/d%25%3F"),
        ("t://a{?b,c}", {}, "t://a"),
        ("t://a{?b,c}", {"c": "1&2"}, "t://a?c=1%262"),
        ("t://a{?b,c}", {"c": "1", "b": ""}, "t://a?b=&c=1"),
    ],
)
def test_values_give_a_uri(template: str, values: dict[str, str], uri: str) -> None:
    assert UriTemplate(template).expand(values) == uri


@pytest.mark.parametrize(
    "values", [{}, {"a": ""}, {"a": "x", "b": "y"}, {"a": "x-", "c": "z"}, {"a": "x", "c": "..", "d": ""}], ids=repr
)
def test_values_that_a_uri_cannot_give_back_have_none(values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="has no URI"):
        UriTemplate("t://{a}--{c}").expand(values)


TEMPLATES = [
    "t://{a}",
    "t://{a}/{b}{?c,d}",
    "t://{a}/{b*}/x/{c}{?d}",
    "t://{+a}/end",
    "t://{a}?x={b}",
    "t://a{?a,b}",
    "t://{a}-{b}.md",
]


@given(
    template=st.sampled_from(TEMPLATES),
    text=st.dictionaries(st.sampled_from("abcd"), st.text()),
    any_path=st.booleans(),
)
def test_what_is_expanded_matches_with_the_same_values(template: str, text: dict[str, str], any_path: bool) -> None:
    it = UriTemplate(template, any_path=any_path)
    values = {name: value for name, value in text.items() if name in {*it.path, *it.query}}

    try:
        uri = it.expand(values)
    except ValueError:
        return
    assert it.match(uri) == values


harmless = st.text(min_size=1).filter(lambda text: not ({"..", "/", "\\", "\0"} & {*text, text}) and ":" not in text)


@given(a=harmless.filter(lambda text: text.isalnum()), b=harmless, d=harmless)
def test_whatever_stays_inside_has_a_uri(a: str, b: str, d: str) -> None:
    values = {"a": a, "b": f"{b}/{b}" if b != ".." else b, "c": a, "d": d}

    for template in TEMPLATES[:4]:
        it = UriTemplate(template)
        own = {name: values[name] for name in (*it.path, *it.query)}
        if "*" not in template:
            own = {name: value.replace("/", "-") for name, value in own.items()}
        if all(_encodable(value) for value in own.values()):
            assert it.match(it.expand(own)) == own


def _encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


class Counting(str):
    """Text that counts how much of it is searched."""

    __slots__ = ()
    looked = 0

    def __getitem__(self, key: Any) -> str:
        return Counting(super().__getitem__(key))

    def find(self, sub: str, start: Any = 0, end: Any = None) -> int:
        found = super().find(sub, start)
        Counting.looked += (len(self) if found < 0 else found) - start
        return found


@pytest.mark.parametrize("template", ["t://{a}-{b}-{c}-{d}", "t://{a}/{+b}-{c}-{d}", "t://{a}x{b}x{+c}x{d}x"])
@pytest.mark.parametrize("unit", ["-", "a", "a/", "x", "-x", "%2e", "%", "/"])
def test_a_hostile_uri_is_searched_once_from_each_end(template: str, unit: str) -> None:
    """B149: time grows with the length, whatever is in it."""
    uri = Counting("t://" + unit * (50_000 // len(unit)))
    Counting.looked = 0
    UriTemplate(template).match(uri)

    assert Counting.looked <= 2 * len(uri)
