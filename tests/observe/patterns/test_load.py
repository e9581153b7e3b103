from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.domain.diagnosis.patterns import LABELS, Role
from jobmon_core.domain.errors import PatternsInvalid
from jobmon_core.observe.patterns.load import (
    load_patterns,
    overlay,
    parse_patterns,
    read_patterns,
    shipped_patterns_path,
)
from jobmon_core.observe.patterns.match import Matcher
from tests.support.pattern_files import document, entry, faults, matching_ids

PATTERNS = load_patterns()


def test_the_shipped_patterns_have_no_faults() -> None:
    assert read_patterns(shipped_patterns_path()) == PATTERNS


def test_every_label_except_clean_has_a_root_pattern_and_every_root_a_label() -> None:
    assert {pattern.label for pattern in PATTERNS if pattern.role is Role.ROOT} == LABELS - {"clean"}


def test_every_shipped_pattern_has_a_cause_sentence_and_advice() -> None:
    for pattern in PATTERNS:
        assert pattern.cause.endswith(".")
        assert len(pattern.advice) > 20


def test_a_checkout_uses_its_own_patterns_folder() -> None:
    assert shipped_patterns_path() == Path(__file__).parents[3] / "patterns" / "error_patterns.json"


def test_a_user_pattern_replaces_the_shipped_one_with_the_same_id_in_place() -> None:
    own = parse_patterns(document(entry(id="segfault")), "own.json")
    merged = overlay(PATTERNS, own)
    assert [pattern.id for pattern in merged] == [pattern.id for pattern in PATTERNS]
    assert next(pattern for pattern in merged if pattern.id == "segfault").title == "Mine"


def test_a_new_user_pattern_precedes_the_shipped_ones(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text(document(entry(regex="^ValueError: boom", examples=["ValueError: boom"])))
    assert matching_ids(Matcher(load_patterns(own)), "ValueError: boom") == ["mine"]


def test_all_faults_of_a_file_are_reported_together_by_index_and_key() -> None:
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


def test_a_list_of_alternatives_matches_if_one_does_and_each_fault_is_reported() -> None:
    rules = parse_patterns(document(entry(regex=["^boom$", "BOOM"], examples=["boom", "xBOOMx"])), "own.json")
    assert matching_ids(Matcher(rules), "boom", "boomerang", "a BOOM") == ["mine", "mine"]
    assert [fault.split(" ")[0] for fault in faults(document(entry(regex=["^boom$", "(", "x*", 3])))] == [
        "rules[0].regex[3]:"
    ]
    assert [fault.split(" ")[0] for fault in faults(document(entry(regex=["^boom$", "(", "x*"])))] == [
        "rules[0].regex[1]:",
        "rules[0].regex[2]:",
    ]


def test_wrong_examples_are_faults() -> None:
    text = document(entry(examples=["boom", "bang"], counter_examples=["boom"]))
    assert faults(text) == (
        "rules[0].examples[1]: the regex does not match it",
        "rules[0].counter_examples[0]: the regex matches it",
    )


def test_a_duplicate_id_is_a_fault() -> None:
    assert faults(document(entry(), entry())) == ("rules[1].id: 'mine' is also the id of rules[0]",)


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', '{"rules": {}}', "[" * 100_000, "9" * 5000])
def test_a_document_that_is_not_a_pattern_file_is_a_fault(text: str) -> None:
    assert faults(text)


def test_an_unreadable_file_is_a_fault(tmp_path: Path) -> None:
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


@settings(deadline=None)  # the machine may be busy
@given(JSON)
def test_no_json_raises_anything_but_patterns_invalid(value: object) -> None:
    for text in (
        json.dumps(value),
        document(value),
        document(entry(regex=value)),
        document(entry(examples=value)),
    ):
        with contextlib.suppress(PatternsInvalid):
            parse_patterns(text, "own.json")
