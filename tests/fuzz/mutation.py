"""Makes new inputs out of old ones: a few changes each, by chance, at places and with words that hurt parsers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

__all__ = ("LONGEST", "WORDS", "mutated")

LONGEST = 4096
"""Bytes in an input, at most: no target takes long for so few."""

WORDS: tuple[bytes, ...] = (
    *(b"\x00", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xc2\x85"),
    *(b"\\ud800", b"\\u0000"),
    *(b"\n", b"\r\n", b"\r", b"\n\n", b"\n---\n", b" ", b"\t", b",", b";", b":", b"=", b'"', b"\\"),
    *(b"/", b"..", b"%2e%2e", b"%00"),
    *(b"{", b"}", b"[", b"]", b"{}", b"[]", b"[" * 600, b'{"a":' * 600, b"null", b"true"),
    *(b"NaN", b"-Infinity", b"1e999"),
    *(b"0", b"-1", b"-0", b"1.0", b"1e2", b"2147483648", b"9007199254740993", b"18446744073709551616", b"9" * 400),
    *(b'"jsonrpc":"2.0"', b'"id":1', b'"id":null', b'"id":"1"', b'"method":"ping"', b'"params":{}', b'"result":{}'),
    *(b'"error":{"code":-32600,"message":""}', b'"_meta":{}'),
    *(b'"io.modelcontextprotocol/protocolVersion":"2026-07-28"',),
    *(b'"io.modelcontextprotocol/clientCapabilities":{}', b'"progressToken":1', b'"arguments":{}', b'"name":"echo"'),
    *(b"2024-11-05", b"2025-03-26", b"2025-06-18", b"2025-11-25", b"2026-07-28", b"data: ", b"id: "),
    *(b"event: ", b"retry: "),
    *(b"=?base64?", b"?=", b"gzip", b"Bearer", b"DPoP", b"localhost", b"[::1]", b":8000", b"https://"),
    *(b"http://", b"file:///"),
    *(b'"type":"object"', b'"properties":', b'"required":', b'"enum":[]', b'"const":1'),
    *(b'"format":"email"', b'"default":'),
    *(b'"minimum":', b'"maxLength":', b'"oneOf":[]', b'"$ref":"#"', b'"pattern":"(a+)+$"', b'"x-mcp-header":"A"'),
    *(b'"resultType":"input_required"', b'"inputRequests":{}', b'"requestState":""', b'"nextCursor":"1"', b'"ttlMs":1'),
)  # fmt: skip
"""What the formats are made of, and what parsers stumble on."""


def mutated(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Return an input that is like this one.

    Args:
        data: What to change.
        others: What to take parts from.
        random: Where chance comes from.
    """
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3, 5))):
        random.choice(_WAYS)(changed, others, random)
    return bytes(changed[:LONGEST])


def _flip(data: bytearray, _: Sequence[bytes], random: Random) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _set(data: bytearray, _: Sequence[bytes], random: Random) -> None:
    if data:
        data[random.randrange(len(data))] = random.randrange(256)


def _drop(data: bytearray, _: Sequence[bytes], random: Random) -> None:
    start, end = _place(data, random)
    del data[start:end]


def _repeat(data: bytearray, _: Sequence[bytes], random: Random) -> None:
    start, end = _place(data, random)
    data[start:start] = bytes(data[start:end]) * random.choice((1, 2, 3, 20))


def _word(data: bytearray, _: Sequence[bytes], random: Random) -> None:
    start, end = _place(data, random)
    data[start : random.choice((start, end))] = random.choice(WORDS)


def _take(data: bytearray, others: Sequence[bytes], random: Random) -> None:
    other = random.choice(others)
    start, end = _place(data, random)
    first, last = _place(other, random)
    data[start : random.choice((start, end))] = other[first:last]


def _join(data: bytearray, others: Sequence[bytes], random: Random) -> None:
    other = random.choice(others)
    data[random.randint(0, len(data)) :] = other[random.randint(0, len(other)) :]


def _place(data: bytes | bytearray, random: Random) -> tuple[int, int]:
    """A part of it: mostly a short one, and often one that ends where something of its own ends."""
    start = random.randint(0, len(data))
    length = random.choice((1, 2, 4, 8, 16, 64, len(data)))
    end = min(len(data), start + random.randint(0, length))
    quote = data.find(b'"', end)
    return start, quote if quote >= 0 and random.random() < 0.3 else end


_WAYS: tuple[Callable[[bytearray, Sequence[bytes], Random], None], ...] = (
    *(_flip, _set, _drop, _drop, _repeat, _word, _word, _word, _take, _take, _join),
)
