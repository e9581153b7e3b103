"""Real inputs, spoiled: cut, flipped, doubled, spliced, with what is dangerous put in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tests.fuzz.tape import FRAGMENTS

LONGEST = 64 * 1024
_WORDS = (
    *(fragment.encode("utf-8", "surrogatepass") for fragment in FRAGMENTS),
    *(
        b"\x00",
        b"\xff\xfe",
        b"\xc2\x9b",
        b"\xed\xa0\x80",
        b"\r",
        b"\n\n",
        b"{",
        b"[",
        b'"',
        b"null",
        b"\\u0000",
    ),
    *(
        b"0",
        b"-1",
        b"1e999",
        b"NaN",
        b"9" * 25,
        b"4294967295",
        b"1-4294967295",
        b"true",
        b"[]",
        b"{}",
        b"(",
        b"*",
    ),
)


def mutated(seeds: Sequence[bytes], random: Random) -> bytes:
    """Return one of ``seeds`` with one to eight things wrong with it; rarely as it is, or none of them."""
    data = random.choice(seeds)
    if random.random() < 0.03:
        data = random.randbytes(random.randrange(300))
    for _ in range(random.choice((0, 1, 1, 2, 3, 5, 8))):
        data = random.choice(_WAYS)(data, seeds, random)[:LONGEST]
    return data


def _span(data: bytes, random: Random) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.choice((1, 2, 4, 8, 40, 400)))


def _flipped(data: bytes, _seeds: Sequence[bytes], random: Random) -> bytes:
    start, _ = _span(data, random)
    return data[:start] + random.randbytes(1) + data[start + 1 :]


def _left_out(data: bytes, _seeds: Sequence[bytes], random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:start] + data[end:]


def _doubled(data: bytes, _seeds: Sequence[bytes], random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:end] + data[start:end] * random.choice((1, 1, 1, 2, 30)) + data[end:]


def _with_word(data: bytes, _seeds: Sequence[bytes], random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:start] + random.choice(_WORDS) + data[random.choice((start, end)) :]


def _cut(data: bytes, _seeds: Sequence[bytes], random: Random) -> bytes:
    start, _ = _span(data, random)
    return data[:start] if random.random() < 0.7 else data[start:]


def _spliced(data: bytes, seeds: Sequence[bytes], random: Random) -> bytes:
    other = random.choice(seeds)
    start, (from_, to) = _span(data, random)[0], _span(other, random)
    return data[:start] + other[from_:to] + data[start:]


def _moved(data: bytes, _seeds: Sequence[bytes], random: Random) -> bytes:
    start, end = _span(data, random)
    rest, at = data[:start] + data[end:], _span(data[:start] + data[end:], random)[0]
    return rest[:at] + data[start:end] + rest[at:]


_WAYS: tuple[Callable[[bytes, Sequence[bytes], Random], bytes], ...] = (
    *(_flipped, _left_out, _doubled, _with_word, _with_word, _cut, _spliced, _moved),
)
