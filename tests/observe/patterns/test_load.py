from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.domain.logs.diagnosis.patterns import LABELS, Role
from jobmon_core.observe.patterns.load import (
    FILE_NAME,
    load_patterns,
    overlay,
    parse_patterns,
    read_patterns,
)
from jobmon_core.observe.patterns.match import Matcher
from jobmon_core.system.files import shipped_file
from tests.support.pattern_files import document, entry, faults, matching_ids

PATTERNS = load_patterns()
AFTER_QUOTED = re.compile(r"$|(?! -)[ )/'\"]|[.,;:](?:$| )")
BEFORE_QUOTED = re.compile(r"(?:^|[ (/'\"])$")
SETTING = re.compile(r"\b[A-Z][A-Z0-9]+_?\w*=[\w.]")  # of an environment variable


def test_the_shipped_patterns_have_no_faults() -> None:
    shipped = read_patterns(shipped_file(FILE_NAME))
    assert shipped.faults == ()
    assert shipped.patterns == PATTERNS


def test_every_label_except_clean_has_a_root_pattern_and_every_root_a_label() -> None:
    assert {pattern.label for pattern in PATTERNS if pattern.role is Role.ROOT} == LABELS - {"clean"}


def test_every_shipped_pattern_has_a_cause_sentence_advice_and_counter_examples() -> None:
    for pattern in PATTERNS:
        assert pattern.cause.endswith(".")
        assert len(pattern.advice) > 20
        assert pattern.counter_examples


def test_directives_in_shipped_advice_are_in_backquotes() -> None:
    for pattern in PATTERNS:
        outside = pattern.advice.split("`")[::2]
        assert len(outside) * 2 == pattern.advice.count("`") + 2, pattern.id  # each opening one is closed
        assert "#SBATCH -" not in "".join(outside), pattern.id


def test_backquotes_in_shipped_texts_enclose_whole_commands_and_settings() -> None:
    for pattern in PATTERNS:
        for text in (pattern.title, pattern.cause, pattern.advice):
            assert broken_quotes(text) == [], pattern.id


@pytest.mark.parametrize(
    "text",
    [
        "try `UCX_TLS=tcp`,sm,self to see",
        "run `ls -l",
        "run` ls -l`",
        "run `ls -l ` first",
        "run `python` -m venv",
        "run `print(x` first",
        "set NCCL_DEBUG=INFO first",
    ],
)
def test_broken_backquotes_are_found(text: str) -> None:
    assert broken_quotes(text)


def broken_quotes(text: str) -> list[str]:
    """Return what is wrong with the backquotes of a text for users."""
    outside, inside = text.split("`")[::2], text.split("`")[1::2]
    found = ["a backquote without its partner"] if text.count("`") % 2 else []
    found += [f"cut off before {rest!r}" for rest in outside[1:] if not AFTER_QUOTED.match(rest)]
    found += [f"cut off after {rest!r}" for rest in outside[:-1] if not BEFORE_QUOTED.search(rest)]
    found += [f"a setting not in backquotes in {rest!r}" for rest in outside if SETTING.search(rest)]
    return found + [f"cut off: {each!r}" for each in inside if each != each.strip() or not is_balanced(each)]


def is_balanced(text: str) -> bool:
    pairs = all(text.count(first) == text.count(last) for first, last in ("()", "[]"))
    return pairs and text.count("'") % 2 == text.count('"') % 2 == 0


def test_shipped_advice_names_sacct_before_seff_which_many_sites_lack() -> None:
    advice = [pattern.advice for pattern in PATTERNS if "seff" in pattern.advice]
    assert advice
    for text in advice:
        assert "`sacct -j JOBID -o JobID,MaxRSS," in text.partition("seff")[0]
        assert "`seff JOBID`, where installed" in text


def test_a_checkout_uses_its_own_patterns_folder() -> None:
    assert shipped_file(FILE_NAME) == Path(__file__).parents[3] / "patterns" / "error_patterns.json"


def test_a_user_pattern_replaces_the_shipped_one_with_the_same_id_in_place() -> None:
    own = parse_patterns(document(entry(id="segfault")), "own.json").patterns
    merged = overlay(PATTERNS, own)
    assert [pattern.id for pattern in merged] == [pattern.id for pattern in PATTERNS]
    assert next(pattern for pattern in merged if pattern.id == "segfault").title == "Mine"


def test_a_new_user_pattern_precedes_the_shipped_ones(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text(document(entry(regex="^ValueError: boom", examples=["ValueError: boom"])))
    assert matching_ids(Matcher(load_patterns(read_patterns(own).patterns)), "ValueError: boom") == ["mine"]


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
        "schema_version: must be 1, not 2",
        "rules[0].surplus: unknown key",
        "rules[0].title: must be a non-empty text",
        "rules[0].severity: must be one of error, warning, not 'bad'",
        "rules[0].role: must be one of root, symptom, context, success, retry, not 3",
        "rules[0].precedence: must be an integer, not True",
        "rules[1]: must be an object",
        "rules[2].examples: must be a non-empty list",
        "rules[2].counter_examples[1]: must be a non-empty text",
        "rules[3].advice: missing",
        "rules[3].regex: missing",
    )


def test_a_list_of_alternatives_matches_if_one_does_and_each_fault_is_reported() -> None:
    text = document(entry(regex=["^boom$", "BOOM"], examples=["boom", "xBOOMx"]))
    patterns = parse_patterns(text, "own.json").patterns
    assert matching_ids(Matcher(patterns), "boom", "boomerang", "a BOOM") == ["mine", "mine"]
    assert [fault.split(" ")[0] for fault in faults(document(entry(regex=["^boom$", "(", "x*", 3])))] == [
        "rules[0].regex[3]:",
        "rules[0].regex[1]:",
        "rules[0].regex[2]:",
    ]


def test_wrong_examples_are_faults() -> None:
    text = document(entry(examples=["boom", "bang"], counter_examples=["boom"]))
    assert faults(text) == (
        "rules[0].examples[1]: the regex does not match it",
        "rules[0].counter_examples[0]: the regex matches it",
    )


def test_a_fault_does_not_hide_the_faults_of_other_keys() -> None:
    misspelt = entry(severty="error", precedence="high", regex="loss (nan", examples=["x"])
    del misspelt["severity"]
    found = faults(document(misspelt, entry(id="b", regex="a(?!b)"), entry(id="c", title="", examples=["x"])))
    assert [fault.partition(": ")[0] for fault in found] == [
        "rules[0].severty",
        "rules[0].severity",
        "rules[0].precedence",
        "rules[0].regex",
        "rules[1].regex",
        "rules[2].title",
        "rules[2].examples[0]",
    ]
    assert found[0] == "rules[0].severty: unknown key; did you mean 'severity'?"


def test_an_example_is_no_fault_if_the_regex_for_it_may_be_the_one_with_a_fault() -> None:
    found = faults(document(entry(regex=["^boom$", "("], examples=["bang"], counter_examples=["boom"])))
    assert [fault.partition(": ")[0] for fault in found] == [
        "rules[0].regex[1]",
        "rules[0].counter_examples[0]",
    ]


def test_counter_examples_may_be_empty() -> None:
    assert faults(document(entry(counter_examples=[]))) == ()
    assert faults(document(entry(counter_examples="x"))) == ("rules[0].counter_examples: must be a list",)


def test_only_the_patterns_with_faults_are_skipped() -> None:
    file = parse_patterns(
        document(entry(), entry(id="b", title=""), entry(id="c", examples=["x"])), "own.json"
    )
    assert [pattern.id for pattern in file.patterns] == ["mine"]
    assert file.note == (
        "skipped 2 patterns of own.json because of faults; `jobmon patterns check` lists them"
    )


@pytest.mark.parametrize("text", ["{", document(entry(), schema_version=2), document(entry(), rules={})])
def test_no_pattern_of_a_file_that_cannot_be_interpreted_is_used(text: str) -> None:
    file = parse_patterns(text, "own.json")
    assert file.patterns == ()
    assert file.note.startswith("own.json has faults, so only the shipped patterns are used: ")


def test_a_file_whose_patterns_are_all_used_needs_no_note() -> None:
    assert parse_patterns(document(entry()), "own.json").note == ""
    file = parse_patterns(document(entry(), comment="x"), "own.json")
    assert (len(file.patterns), file.faults, file.note) == (1, ("comment: unknown key",), "")


def test_a_duplicate_id_is_a_fault() -> None:
    assert faults(document(entry(), entry())) == ("rules[1].id: 'mine' is also the id of rules[0]",)


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', '{"rules": {}}', "[" * 100_000, "9" * 5000])
def test_a_document_that_is_not_a_pattern_file_is_a_fault(text: str) -> None:
    assert faults(text)


def test_an_unreadable_file_is_a_fault(tmp_path: Path) -> None:
    (fault,) = read_patterns(tmp_path / "missing.json").faults
    assert "does not exist" in fault
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')
    (fault,) = read_patterns(tmp_path / "latin.json").faults
    assert fault == "the file is not UTF-8: invalid continuation byte at byte 7"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from([*entry(), "rules", "schema_version"]), inner)
    ),
)


@settings(deadline=None)  # the machine may be busy
@given(JSON)
def test_no_json_raises(value: object) -> None:
    for text in (
        json.dumps(value),
        document(value),
        document(entry(regex=value)),
        document(entry(examples=value)),
    ):
        file = parse_patterns(text, "own.json")
        assert file.faults or not file.skipped
