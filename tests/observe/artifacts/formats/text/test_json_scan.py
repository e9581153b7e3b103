"""The scan by pieces accepts what Python's json module accepts, wherever the pieces are cut."""

from __future__ import annotations

import json
import random

import pytest

from jobmon_core.observe.artifacts.formats.source import Damaged
from jobmon_core.observe.artifacts.formats.text.json_scan import JsonScan

_TEXTS = (
    r'{"a":[1,-2.5e+3,"\u00e9\\\"x",null,true,false,NaN,-Infinity,{}],"b":{"c":[[],[[1]]]}}',
    " [1 , 2 ] ",
    "[" * 12 + "1" + "]" * 12,
    '"é\\n"',
    "30",
)
_LETTERS = '{}[]",:0123456789.eE+-tfnu\\ '


def _accepts(pieces: list[bytes]) -> bool:
    scan = JsonScan()
    try:
        for number, piece in enumerate(pieces, 1):
            scan.feed(piece, is_last=number == len(pieces))
    except Damaged:
        return False
    return scan.is_complete


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("seed", range(4))
def test_any_text_in_any_pieces_is_judged_as_by_json_loads(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - no secret
    for _ in range(600):
        text = draw.choice(_TEXTS)
        for _ in range(draw.randrange(3)):
            at = draw.randrange(len(text))
            text = text[:at] + draw.choice((_LETTERS[draw.randrange(len(_LETTERS))], "")) + text[at + 1 :]
            text = text or "1"
        data = text.encode()
        cuts = sorted(draw.randrange(len(data) + 1) for _ in range(draw.randrange(7)))
        bounds = zip([0, *cuts], [*cuts, len(data)], strict=True)
        pieces = [data[begin:end] for begin, end in bounds]
        assert _accepts(pieces) == _is_json(text), (text, pieces)


def test_the_elements_of_the_outermost_array_are_counted() -> None:
    for text, elements in (("[]", 0), ("[1, [2, 3], {}]", 3), ('{"a": [1, 2]}', 0), ("[[]]", 1)):
        for size in (1, 3, 99):
            scan = JsonScan()
            data = text.encode()
            for begin in range(0, len(data), size):
                scan.feed(data[begin : begin + size], is_last=begin + size >= len(data))
            assert scan.elements == elements, (text, size)


def test_a_deep_text_takes_little_memory() -> None:
    scan = JsonScan()
    for _ in range(20):
        scan.feed(b"[" * 50_000)
    assert not scan.is_complete
    assert scan.closing == "]"
