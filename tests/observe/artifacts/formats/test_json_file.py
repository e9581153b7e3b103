"""What counts as JSON is what Python's json module reads, wherever the text is cut into pieces."""

from __future__ import annotations

import json
import random

import pytest

from jobmon_core.observe.artifacts.formats.json_file import check_json, count_elements, decoded
from jobmon_core.observe.artifacts.formats.source import Damaged, Ends, Truncated, valid

_TEXTS = (
    r'{"a":[1,-2.5e+3,"\u00e9\\\"x",null,true,false,NaN,-Infinity,{}],"b":{"c":[[],[[1]]]}}',
    " [1 , 2 ] ",
    "[" * 12 + "1" + "]" * 12,
    '"é\\n"',
    "30",
)
_ARRAYS = (
    r' [1,-2.5e+3,"\u00e9\\\"x",null,true,false,NaN,-Infinity,{}, {"a":[[],[[1]]]} ] ',
    "[" * 12 + "1" + "]" * 12,
    "[1,2,3]",
)
_LETTERS = '{}[]",:0123456789.eE+-tfnu\\ '


def _whole(data: bytes) -> Ends:
    return Ends(data, b"", len(data))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _altered(text: str, draw: random.Random) -> str:
    for _ in range(draw.randrange(3)):
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice((_LETTERS[draw.randrange(len(_LETTERS))], "")) + text[at + 1 :]
        text = text or "1"
    return text


def _pieces(text: str, draw: random.Random) -> list[str]:
    cuts = sorted(draw.randrange(len(text) + 1) for _ in range(draw.randrange(7)))
    return [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@pytest.mark.parametrize("seed", range(4))
def test_any_text_is_judged_as_by_json_loads(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - no secret
    for _ in range(600):
        text = _altered(draw.choice(_TEXTS), draw)
        try:
            check_json(_whole(text.encode()), 2**20)
        except Damaged:
            assert not _is_json(text), text
        else:
            assert _is_json(text), text


@pytest.mark.parametrize("seed", range(4))
def test_any_array_in_any_pieces_is_judged_and_counted_as_by_json_loads(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - no secret
    for _ in range(600):
        text = _altered(draw.choice(_ARRAYS), draw)
        pieces = _pieces(text, draw)
        try:
            count = count_elements(pieces)
        except Damaged:
            assert not _is_json(text), (text, pieces)
        else:
            assert count == len(json.loads(text)), (text, pieces)


@pytest.mark.parametrize("text", [*_TEXTS[:3], *_ARRAYS])
def test_a_text_that_is_cut_anywhere_is_truncated(text: str) -> None:
    for end in range(1, len(text.rstrip())):
        with pytest.raises(Truncated):
            decoded(text[:end])
        with pytest.raises(Truncated):
            check_json(_whole(text[:end].encode()), 2**20)


def test_the_elements_of_the_outermost_array_are_counted() -> None:
    for text, elements in (("[]", 0), ("[1, [2, 3], {}]", 3), ('{"a": [1, 2]}', None), ("[[]]", 1)):
        assert check_json(_whole(text.encode()), 2**20).records == elements, text


def test_the_elements_of_a_large_array_are_counted_if_all_of_it_may_be_read() -> None:
    data = _whole(json.dumps([{"a": [1, {"b": "é"}]}] * 150_000).encode())
    assert check_json(data, 2**62) == valid("json", 150_000)
    assert check_json(data, 2**21) == valid("json", is_sampled=True)


def test_a_deep_text_takes_little_memory() -> None:
    with pytest.raises(Truncated, match="does not end with ]"):
        check_json(_whole(b"[" * 10**6), 2**21)
