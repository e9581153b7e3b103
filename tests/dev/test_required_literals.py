"""The literal texts that an expression requires, by which most lines are ruled out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from required_literals import needed_literals

from jobmon_core.observe.patterns.load import load_patterns
from jobmon_core.observe.patterns.prefilter import ignores_case
from jobmon_core.observe.patterns.re2_regex import compile_matcher

REGEXES = [regex for rule in load_patterns() for regex in rule.regex]


@pytest.mark.parametrize(
    ("regex", "needed"),
    [
        ("Killed", {"Killed"}),
        (r"(?:CUDA|HIP) error: \d+", {"CUDA error: ", "HIP error: "}),
        (r"^\s*[Oo]ut of memory\b.{0,40}device$", {"Out of memory", "out of memory"}),
        ("errors? in disks", {"error in disks", "errors in disks"}),
        ("(?:ab)+cd{2,3}", {"abc"}),
        ("UCX +(?:WARN|INFO)", {"UCX "}),
        ("a{b", {"a{b"}),
        (r"\[Errno 13\]", {"[Errno 13]"}),
        ("(?i)Kill(?:ed|ing)", {"killed", "killing"}),
        ("Cause: (?i:Kill)", {"cause: kill"}),
        ("[[:digit:]]abc[^]x]", {"abc"}),
        ("[]x]y", {"]y", "xy"}),
        ("[r-]w", {"rw", "-w"}),
        ("[+--]wx", {"wx"}),
        ("na\N{LATIN SMALL LETTER I WITH DIAERESIS}ven", {"ven"}),
        ("(?P<word>boom)!", set()),
        ("[a-z]+|boom", set()),
        (r"\d+", set()),
        ("x?y*", set()),
        (r"\x41bc", set()),
        (r"\Qa.b\E", set()),
    ],
)
def test_the_literals_that_each_match_contains_are_found(regex: str, needed: set[str]) -> None:
    assert needed_literals(regex) == needed


def test_the_most_distinctive_literals_are_chosen() -> None:
    assert needed_literals(r"error: .*\bxid\b") == {"xid"}


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
        if line.isascii() and compile_matcher(regex)(line.encode()):
            searched = line.lower() if ignores_case(regex) else line
            assert any(literal in searched for literal in needed_literals(regex))


def test_very_deep_groups_require_nothing_and_do_not_raise() -> None:
    deep = "(" * 900 + "boom" + ")" * 900
    compile_matcher(deep)
    assert needed_literals(deep) == frozenset()


def test_non_ascii_digits_are_not_a_quantifier() -> None:
    for text in ("boom{²}", "boom{1,²}", "boom{٣}"):
        assert compile_matcher(text)(text.encode())
        (needed,) = needed_literals(text)
        assert text.startswith(needed)


@given(st.text(alphabet=r"ab(?:|)[^]{1,2}\.*+?$^-dwx", max_size=30))
def test_no_expression_raises(regex: str) -> None:
    needed_literals(regex)
