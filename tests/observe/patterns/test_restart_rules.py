"""Reading the table of restart rules: the shipped one is valid, and every fault is named."""

from __future__ import annotations

import json

import pytest

from jobmon_core.domain.job.restart.model import Verdict
from jobmon_core.domain.job.restart.rules import Condition
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.observe.patterns.restart_rules import parse_rules, restart_rules

LAST = {"id": "last", "verdict": "ask", "why": "It is not known."}


def faults_of(*rules: object) -> list[str]:
    return parse_rules(json.dumps({"schema_version": 1, "rules": [*rules, LAST]}))[1]


def test_the_shipped_rules_are_valid_and_the_last_one_is_for_every_end() -> None:
    rules = restart_rules()

    assert rules[-1].verdict is Verdict.ASK
    assert len({rule.id for rule in rules}) == len(rules)


def test_a_rule_is_read() -> None:
    when = {"states": ["TIMEOUT"], "causes": [""], "all_of": ["proved"]}
    entry = {
        "id": "a",
        "verdict": "restart",
        "why": "Why.",
        "budget": "time",
        "max": 3,
        "grow": "time",
        "when": when,
    }
    rules, faults = parse_rules(json.dumps({"schema_version": 1, "rules": [entry, LAST]}))

    assert not faults
    assert (rules[0].budget, rules[0].max, rules[0].grow) == ("time", 3, "time")
    assert rules[0].when.states == (JobState.TIMEOUT,)
    assert rules[0].when.all_of == (Condition.PROVED,)


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ([], "rules[0]: must be an object"),
        ({"verdict": "stop", "why": "x"}, "rules[0].id: missing"),
        ({**LAST, "verdict": "retry"}, "rules[0].verdict: 'retry' is not a valid Verdict"),
        ({**LAST, "id": ""}, "rules[0].id: must be a non-empty text"),
        ({**LAST, "wen": {}}, "rules[0].wen: unknown key; did you mean 'when'?"),
        ({**LAST, "when": []}, "rules[0].when: expected dict, found list"),
        ({**LAST, "when": {"stats": ["FAILED"]}}, "rules[0].when.stats: unknown key; did you mean 'states'?"),
        ({**LAST, "when": {"states": "FAILED"}}, "rules[0].when.states: expected list, found str"),
        ({**LAST, "when": {"states": ["FAILD"]}}, "rules[0].when.states[0]: 'FAILD' is not a valid JobState"),
        ({**LAST, "when": {"all_of": ["proved", 3]}}, "rules[0].when.all_of[1]: 3 is not a valid Condition"),
        ({**LAST, "when": {"causes": [None]}}, "rules[0].when.causes[0]: expected str, found NoneType"),
        ({**LAST, "verdict": "restart", "max": 1}, "rules[0].budget: missing"),
        ({**LAST, "verdict": "restart", "budget": "a", "max": 0}, "rules[0].max: missing"),
        (
            {**LAST, "verdict": "restart", "budget": "a", "max": True},
            "rules[0].max: expected int, found bool",
        ),
        ({**LAST, "budget": "time"}, "rules[0].budget: only for rules that restart"),
        (
            {**LAST, "verdict": "restart", "budget": "a", "max": 1, "grow": "disk"},
            "rules[0].grow: 'disk' is not a valid Resource",
        ),
        ({**LAST, "id": "last"}, "rules[1].id: 'last' is also the id of rules[0]"),
    ],
)
def test_each_fault_is_named_by_index_and_key(entry: object, fault: str) -> None:
    assert any(each.startswith(fault) for each in faults_of(entry))


@pytest.mark.parametrize("rules", [[], [{**LAST, "when": {"causes": ["cuda_oom"]}}]])
def test_the_last_rule_must_be_for_every_end(rules: list[object]) -> None:
    faults = parse_rules(json.dumps({"schema_version": 1, "rules": rules}))[1]

    assert faults == ["rules: the last one must be for every end, without `when`"]


@pytest.mark.parametrize("text", ["{", "[]", '{"schema_version": 2, "rules": []}'])
def test_a_damaged_file_has_no_rules(text: str) -> None:
    rules, faults = parse_rules(text)

    assert not rules
    assert faults
