from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.observe.patterns.load import load_patterns
from jobmon_core.observe.patterns.prefilter import ignores_case, needed_literals
from jobmon_core.observe.patterns.re2_regex import RegexTest as Expression

REGEXES = [regex for rule in load_patterns() for regex in rule.regex]


@pytest.mark.parametrize(
    ("regex", "needed"),
    [
        ("Killed", [{"Killed"}]),
        (r"(?:CUDA|HIP) error: \d+", [{"CUDA error: ", "HIP error: "}]),
        (r"^\s*[Oo]ut of memory\b.{0,40}device$", [{"Out of memory", "out of memory"}, {"device"}]),
        ("errors? in files?", [{"error in file", "errors in file"}]),
        ("(?:ab)+cd{2,3}", [{"ab"}, {"abc"}]),
        ("UCX +(?:WARN|INFO)", [{"UCX "}, {" WARN", " INFO"}]),
        ("a{b", [{"a{b"}]),
        (r"\[Errno 13\]", [{"[Errno 13]"}]),
        ("(?i)Kill(?:ed|ing)", [{"killed", "killing"}]),
        ("Cause: (?i:Kill)", [{"cause: kill"}]),
        ("(?P<word>boom)!", [{"boom!"}]),
        ("[a-z]+|boom", []),
        (r"\d+", []),
        ("x?y*", []),
        (r"\x41bc", []),
        (r"\Qa.b\E", []),
        ("[[:digit:]]abc", []),
        ("naïve", [{"na"}, {"ve"}]),
    ],
)
def test_the_literals_that_each_match_contains_are_found(regex: str, needed: list[set[str]]) -> None:
    found = [set(texts) for texts in needed_literals(regex)]
    assert sorted(found, key=sorted) == sorted(needed, key=sorted)


def test_the_most_distinctive_literals_come_first() -> None:
    assert needed_literals(r"error: .*\bxid\b")[0] == {"xid"}


def test_no_shipped_expression_is_tried_on_every_line() -> None:
    assert [regex for regex in REGEXES if not needed_literals(regex)] == []


@settings(deadline=None, max_examples=400)
@given(
    st.sampled_from(REGEXES).flatmap(
        lambda regex: st.tuples(st.just(regex), st.from_regex(re.compile(regex, re.ASCII)))
    )
)
def test_every_match_of_a_shipped_expression_contains_its_literals(case: tuple[str, str]) -> None:
    regex, text = case
    for line in text.split("\n"):
        if line.isascii() and Expression(regex).matches(line.encode()):
            searched = line.lower() if ignores_case(regex) else line
            assert all(any(each in searched for each in texts) for texts in needed_literals(regex))


def test_very_deep_groups_require_nothing_and_do_not_raise() -> None:
    deep = "(" * 900 + "boom" + ")" * 900
    Expression(deep)
    assert needed_literals(deep) == ()


def test_non_ascii_digits_are_not_a_quantifier() -> None:
    for text in ("boom{²}", "boom{1,²}", "boom{٣}"):
        assert Expression(text).matches(text.encode())
        ((needed,),) = needed_literals(text)
        assert text.startswith(needed)


@given(st.text(alphabet=r"ab(?:|)[^]{1,2}\.*+?$^-dwx", max_size=30))
def test_no_expression_raises(regex: str) -> None:
    needed_literals(regex)
