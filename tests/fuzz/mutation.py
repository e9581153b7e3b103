"""Mutate real inputs: replace spans of them by dangerous fragments, random bytes and copies of other spans.

Hand-made because it makes as many inputs in a second as a hypothesis strategy makes in a minute, and needs
no more of them to find a defect.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.fuzz.choices import FRAGMENTS

MAX_BYTES = 64 * 1024
_FRAGMENTS = (
    *(fragment.encode("utf-8", "surrogatepass") for fragment in FRAGMENTS),
    *(b"\x00", b"\xff\xfe", b"\xc2\x9b", b"\xed\xa0\x80", b"\r", b"\n\n"),
    *(b"{", b"[", b'"', b"\\u0000", b"(", b"*", b"[]", b"{}", b"true", b"null"),
    *(b"0", b"-1", b"1e999", b"NaN", b"9" * 25, b"4294967295", b"1-4294967295"),
)
_LENGTHS = (1, 1, 2, 4, 8, 40, 400)  # of a span


def mutated(seeds: Sequence[bytes], random: Random) -> bytes:
    """Return one of ``seeds`` after up to eight edits, at most `MAX_BYTES` long; rarely random bytes."""
    if random.random() < 0.03:
        return random.randbytes(random.randrange(300))
    data = random.choice(seeds)
    for _ in range(random.choice((0, 1, 1, 2, 3, 5, 8))):
        start, end = _span(data, random)
        resume = random.choice((start, start, start, end, end, end, len(data)))
        data = (data[:start] + _insertion(data, seeds, random) + data[resume:])[:MAX_BYTES]
    return data


def _span(data: bytes, random: Random) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, start + random.choice(_LENGTHS)


def _insertion(data: bytes, seeds: Sequence[bytes], random: Random) -> bytes:
    kind = random.randrange(7)
    if kind == 0:
        return b""
    if kind <= 2:
        return random.randbytes(1)
    if kind <= 4:
        return random.choice(_FRAGMENTS)
    source = data if kind == 5 else random.choice(seeds)
    start, end = _span(source, random)
    return source[start:end] * random.choice((1, 1, 1, 2, 30))
