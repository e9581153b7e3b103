from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.domain.diagnosis.diagnose import diagnose
from jobmon_core.domain.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.diagnosis.log_lines import LogExcerpt, LogLines
from jobmon_core.domain.diagnosis.model import SlurmEvidence
from jobmon_core.domain.diagnosis.patterns import LABELS, Pattern, Role
from jobmon_core.domain.errors import PatternsInvalid
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.observe.patterns.load import (
    load_patterns,
    overlay,
    parse_patterns,
    read_patterns,
    shipped_patterns_path,
)
from jobmon_core.observe.patterns.match import Matcher

RULES = load_patterns()
MATCHER = Matcher(RULES)
CASES = [
    pytest.param(rule, text, id=f"{rule.id}-{i}") for rule in RULES for i, text in enumerate(rule.examples)
]
COUNTERS = [
    pytest.param(rule, text, id=f"{rule.id}-{i}")
    for rule in RULES
    for i, text in enumerate(rule.counter_examples)
]


def log(*texts: str) -> LogLines:
    return LogLines([LogExcerpt("job.err", texts)])


def claimed(matcher: Matcher, *texts: str) -> list[str]:
    """Name the rule that each line belongs to, of those that belong to one."""
    lines = log(*texts)
    return [found.pattern.id for found in LogAnalysis(matcher.find_matches(lines), lines).matches]


def entry(**changes: object) -> dict[str, object]:
    return {
        "id": "mine", "title": "Mine", "severity": "error", "role": "root", "regex": "^boom$",
        "cause": "A boom.", "advice": "Duck.", "precedence": 99, "examples": ["boom"],
        "counter_examples": ["boomerang"], **changes,
    }  # fmt: skip


def document(*entries: object, **changes: object) -> str:
    return json.dumps({"schema_version": 1, "rules": list(entries), **changes})


def faults(text: str) -> tuple[str, ...]:
    with pytest.raises(PatternsInvalid) as raised:
        parse_patterns(text, "own.json")
    assert raised.value.source == "own.json"
    return raised.value.faults


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_every_rule_wins_on_each_of_its_examples_alone(rule: Pattern, example: str) -> None:
    assert claimed(MATCHER, example) == [rule.id]


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_a_root_becomes_the_cause_and_no_other_role_does(rule: Pattern, example: str) -> None:
    lines = log(example)
    failed = SlurmEvidence(state=JobState.FAILED, exit_code=1)
    found = diagnose(failed, LogAnalysis(MATCHER.find_matches(lines), lines))
    assert (found.cause, found.label) == ((rule.id, rule.label) if rule.role is Role.ROOT else (None, None))


@pytest.mark.parametrize(("rule", "example"), COUNTERS)
def test_no_rule_matches_its_counter_examples(rule: Pattern, example: str) -> None:
    assert rule.id not in {found.pattern.id for found in MATCHER.find_matches(log(example))}


def test_the_shipped_patterns_have_no_fault() -> None:
    assert read_patterns(shipped_patterns_path()) == RULES


def test_every_label_but_clean_has_its_rules_and_no_root_is_outside_them() -> None:
    assert {rule.label for rule in RULES if rule.role is Role.ROOT} == LABELS - {"clean"}


def test_every_shipped_rule_tells_its_cause_in_a_sentence_and_what_to_do() -> None:
    for rule in RULES:
        assert rule.cause.endswith(".")
        assert len(rule.advice) > 20


def test_a_checkout_uses_its_own_patterns_folder() -> None:
    assert shipped_patterns_path() == Path(__file__).parents[3] / "patterns" / "error_patterns.json"


def test_a_rule_of_ones_own_with_a_known_id_replaces_the_shipped_one_in_place() -> None:
    own = parse_patterns(document(entry(id="segfault")), "own.json")
    merged = overlay(RULES, own)
    assert [rule.id for rule in merged] == [rule.id for rule in RULES]
    assert next(rule for rule in merged if rule.id == "segfault").title == "Mine"


def test_a_new_rule_of_ones_own_comes_before_the_shipped_ones(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text(document(entry(regex="^ValueError: boom", examples=["ValueError: boom"])))
    assert claimed(Matcher(load_patterns(own)), "ValueError: boom") == ["mine"]


def test_every_fault_of_a_file_is_named_at_once_by_index_and_key() -> None:
    text = document(
        entry(title="", severity="bad", role=3, precedence=True, surplus=1),
        "no object",
        entry(id="b", examples=[], counter_examples=["ok", ""]),
        {key: value for key, value in entry(id="c").items() if key not in ("advice", "regex")},
        schema_version=2,
        comment="x",
    )
    assert faults(text) == (
        "comment: unknown key",
        "schema_version: must be 1, is 2",
        "rules[1]: must be an object",
        "rules[0].surplus: unknown key",
        "rules[0].title: must be a non-empty text",
        "rules[0].severity: must be one of error, warning, is 'bad'",
        "rules[0].role: must be one of root, symptom, context, success, is 3",
        "rules[0].precedence: must be an integer, is True",
        "rules[2].examples: must be a non-empty list",
        "rules[2].counter_examples[1]: must be a non-empty text",
        "rules[3].advice: missing",
        "rules[3].regex: missing",
    )


def test_a_regex_that_re2_refuses_is_named_with_its_reason(capfd: pytest.CaptureFixture[str]) -> None:
    (fault,) = faults(document(entry(regex="(boom")))
    assert fault.startswith("rules[0].regex: missing )")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("regex", [r"(a)\1", "(?=boom)"])
def test_what_cannot_be_matched_in_linear_time_is_refused(regex: str) -> None:
    assert faults(document(entry(regex=regex)))[0].startswith("rules[0].regex: ")


def test_a_regex_that_matches_every_line_is_refused() -> None:
    assert faults(document(entry(regex="x*"))) == (
        "rules[0].regex: matches the empty line, and so every line",
    )


def test_a_list_of_alternatives_matches_where_one_does_and_its_faults_are_named_one_by_one() -> None:
    rules = parse_patterns(document(entry(regex=["^boom$", "BOOM"], examples=["boom", "xBOOMx"])), "own.json")
    assert claimed(Matcher(rules), "boom", "boomerang", "a BOOM") == ["mine", "mine"]
    assert [fault.split(" ")[0] for fault in faults(document(entry(regex=["^boom$", "(", "x*", 3])))] == [
        "rules[0].regex[3]:"
    ]
    assert [fault.split(" ")[0] for fault in faults(document(entry(regex=["^boom$", "(", "x*"])))] == [
        "rules[0].regex[1]:",
        "rules[0].regex[2]:",
    ]


def test_examples_that_do_not_prove_the_rule_are_faults() -> None:
    text = document(entry(examples=["boom", "bang"], counter_examples=["boom"]))
    assert faults(text) == (
        "rules[0].examples[1]: the regex does not match it",
        "rules[0].counter_examples[0]: the regex matches it",
    )


def test_an_id_may_be_used_once() -> None:
    assert faults(document(entry(), entry())) == ("rules[1].id: 'mine' is also the id of rules[0]",)


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', '{"rules": {}}', "[" * 100_000, "9" * 5000])
def test_what_is_no_pattern_file_at_all_is_a_fault_too(text: str) -> None:
    assert faults(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PatternsInvalid, match="does not exist"):
        read_patterns(tmp_path / "missing.json")
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(PatternsInvalid, match="cannot be read"):
        read_patterns(tmp_path / "latin.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from([*entry(), "rules", "schema_version"]), inner)
    ),
)


@settings(deadline=None)  # a busy machine is no fault
@given(JSON)
def test_no_json_makes_the_check_raise_anything_but_its_list_of_faults(value: object) -> None:
    for text in (
        json.dumps(value),
        document(value),
        document(entry(regex=value)),
        document(entry(examples=value)),
    ):
        with contextlib.suppress(PatternsInvalid):
            parse_patterns(text, "own.json")


def test_case_counts_unless_the_regex_says_otherwise() -> None:
    for regex, count in (("^boom", 1), ("(?i)^boom", 2)):
        rules = parse_patterns(document(entry(regex=regex, counter_examples=["no"])), "own.json")
        assert len(Matcher(rules).find_matches(log("boom", "BOOM"))) == count


@pytest.mark.parametrize("regex", [r"^\s*boom$", r"^boom\W*$", r"boom[^x]*$", "(?s)^boom.*$", r"\Aboom\z"])
def test_a_match_stays_within_its_line(regex: str) -> None:
    rules = parse_patterns(document(entry(regex=regex, counter_examples=["no"])), "own.json")
    found = Matcher(rules).find_matches(log("", "  ", "boom", "", "b boo", "m", "boom"))
    assert [finding.position for finding in found] == [2, 6]


@settings(deadline=None)  # a busy machine is no fault
@given(st.lists(st.sampled_from([case.values[1] for case in (*CASES, *COUNTERS)] + ["", "  ", "[rank1]: x"])))
def test_lines_are_matched_together_as_each_is_alone(texts: list[str]) -> None:
    alone = [(f.pattern.id, n) for n, text in enumerate(texts) for f in MATCHER.every_match(log(text))]
    assert [(f.pattern.id, f.position) for f in MATCHER.every_match(log(*texts))] == alone


def test_a_regex_that_needs_no_plain_text_is_tried_on_every_line() -> None:
    rules = parse_patterns(document(entry(regex=r"\d$", examples=["7"]), entry(id="b")), "own.json")
    found = Matcher(rules).find_matches(log("", "a1", "boom", "x", "a1"))
    assert [(each.pattern.id, each.position) for each in found] == [("mine", 1), ("b", 2), ("mine", 4)]
    assert Matcher(rules).find_matches(log()) == ()


def test_of_several_rules_that_match_a_line_the_first_is_found() -> None:
    rules = parse_patterns(document(entry(id="first"), entry(id="second")), "own.json")
    assert [found.pattern.id for found in Matcher(rules).find_matches(log("boom"))] == ["first"]
    assert [found.pattern.id for found in Matcher(rules).every_match(log("boom"))] == ["first", "second"]


def test_a_regex_that_slows_backtracking_matchers_slows_nothing() -> None:
    rules = parse_patterns(
        document(entry(regex="(a+)+$", examples=["aa"], counter_examples=["b"])), "own.json"
    )
    began_s = time.process_time()
    assert Matcher(rules).find_matches(log(*["a" * 4000 + "b"] * 500)) == ()
    assert time.process_time() - began_s < 5


@settings(deadline=None)  # a busy machine is no fault
@given(st.lists(st.text(st.characters(exclude_characters="\n"))))
def test_no_line_makes_the_matcher_raise(texts: list[str]) -> None:
    assert all(found.position < len(texts) for found in MATCHER.find_matches(log(*texts)))
