from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.domain.logs.diagnosis.diagnose import diagnose
from jobmon_core.domain.logs.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.logs.diagnosis.model import SlurmEvidence
from jobmon_core.domain.logs.diagnosis.patterns import Pattern, Role
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.observe.patterns.load import load_patterns, parse_patterns
from jobmon_core.observe.patterns.match import Matcher
from tests.support.pattern_files import document, entry, log, matching_ids

PATTERNS = load_patterns()
MATCHER = Matcher(PATTERNS)
TEXTS = [text for pattern in PATTERNS for text in (*pattern.examples, *pattern.counter_examples)]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.id)
def test_a_pattern_is_the_first_to_match_its_examples_and_only_a_root_becomes_the_cause(
    pattern: Pattern,
) -> None:
    cause = (pattern.id, pattern.label) if pattern.role is Role.ROOT else (None, None)
    failed = SlurmEvidence(state=JobState.FAILED, exit_code=1)
    wrong = []
    for example in pattern.examples:
        lines = log(example)
        found = diagnose(failed, LogAnalysis(MATCHER.find_matches(lines), lines))
        answer = (matching_ids(MATCHER, example), (found.cause, found.label))
        if answer != ([pattern.id], cause):
            wrong.append((example, answer))
    assert wrong == []
    assert [text for text in pattern.counter_examples if pattern.id in matching_ids(MATCHER, text)] == []


def test_to_install_into_the_python_of_the_system_the_advice_is_a_virtual_environment() -> None:
    (found,) = MATCHER.find_matches(log("error: externally-managed-environment"))
    assert "`python3 -m venv " in found.pattern.advice
    assert "internet" not in found.pattern.advice.lower()


def test_a_regex_is_case_sensitive_unless_it_says_otherwise() -> None:
    for regex, count in (("^boom", 1), ("(?i)^boom", 2)):
        rules = parse_patterns(document(entry(regex=regex, counter_examples=["no"])), "own.json").patterns
        assert len(Matcher(rules).find_matches(log("boom", "BOOM"))) == count


@pytest.mark.parametrize("regex", [r"^\s*boom$", r"^boom\W*$", r"boom[^x]*$", "(?s)^boom.*$", r"\Aboom\z"])
def test_a_match_stays_within_its_line(regex: str) -> None:
    rules = parse_patterns(document(entry(regex=regex, counter_examples=["no"])), "own.json").patterns
    found = Matcher(rules).find_matches(log("", "  ", "boom", "", "b boo", "m", "boom"))
    assert [match.position for match in found] == [2, 6]


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.sampled_from([*TEXTS, "", "  ", "[rank1]: x"])))
def test_a_line_matches_the_same_patterns_alone_and_among_others(texts: list[str]) -> None:
    alone = [
        (match.pattern.id, n)
        for n, text in enumerate(texts)
        for match in MATCHER.find_matches(log(text), limit=None)
    ]
    assert [
        (match.pattern.id, match.position) for match in MATCHER.find_matches(log(*texts), limit=None)
    ] == alone


def test_a_regex_without_literals_is_tried_on_every_line() -> None:
    rules = parse_patterns(document(entry(regex=r"\d$", examples=["7"]), entry(id="b")), "own.json").patterns
    found = Matcher(rules).find_matches(log("", "a1", "boom", "x", "a1"))
    assert [(match.pattern.id, match.position) for match in found] == [("mine", 1), ("b", 2), ("mine", 4)]
    assert Matcher(rules).find_matches(log()) == ()


def test_the_first_of_several_matching_patterns_is_found() -> None:
    rules = parse_patterns(document(entry(id="first"), entry(id="second")), "own.json").patterns
    assert [match.pattern.id for match in Matcher(rules).find_matches(log("boom"))] == ["first"]
    assert [match.pattern.id for match in Matcher(rules).find_matches(log("boom"), limit=None)] == [
        "first",
        "second",
    ]


def test_a_regex_with_catastrophic_backtracking_is_matched_in_linear_time() -> None:
    rules = parse_patterns(
        document(entry(regex="(a+)+$", examples=["aa"], counter_examples=["b"])), "own.json"
    ).patterns
    start_s = time.process_time()
    assert Matcher(rules).find_matches(log(*["a" * 4000 + "b"] * 500)) == ()
    assert time.process_time() - start_s < 20


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.text(st.characters(exclude_characters="\n"))))
def test_no_line_raises(texts: list[str]) -> None:
    assert all(match.position < len(texts) for match in MATCHER.find_matches(log(*texts)))
