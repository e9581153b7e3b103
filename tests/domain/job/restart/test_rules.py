"""The shipped table: every cause that jobmon can find meets a rule that was made for it."""

from __future__ import annotations

import pytest

from benchmarks.restart_rules import THE_USERS
from jobmon_core.domain.job.restart.config import BUDGETS
from jobmon_core.domain.job.restart.model import Verdict
from jobmon_core.domain.job.restart.rules import Condition, EndFacts, Rule, first_fit
from jobmon_core.domain.logs.diagnosis import exit_causes
from jobmon_core.domain.logs.diagnosis.exit_causes import CANCELLED, Cause
from jobmon_core.domain.logs.diagnosis.model import DAMAGED_OUTPUTS, INCOMPLETE, LOST_WORKER, MISSING_OUTPUTS
from jobmon_core.domain.logs.diagnosis.patterns import UNNAMED_EXCEPTION, UNSET_VARIABLE, Role, label_of
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.observe.patterns.load import load_patterns
from jobmon_core.observe.patterns.restart_rules import restart_rules

RULES = restart_rules()
BY_ID = {rule.id: rule for rule in RULES}
ROOTS = [pattern.id for pattern in load_patterns() if pattern.role is Role.ROOT]


def _causes(value: object) -> list[str]:
    if isinstance(value, dict):
        return [cause for each in value.values() for cause in _causes(each)]
    return [value.id] if isinstance(value, Cause) else []


STATED = [cause for value in vars(exit_causes).values() for cause in _causes(value)]
ALL = sorted({*ROOTS, *STATED, UNNAMED_EXCEPTION.id, UNSET_VARIABLE.id})


def rule_for(cause: str, *facts: Condition, state: JobState = JobState.FAILED) -> Rule:
    end = EndFacts(state, Outcome.FAILURE, cause=cause)
    return first_fit(RULES, end, frozenset({Condition.PROVED, Condition.NEW_CHECKPOINT, *facts}))


def test_every_cause_meets_a_rule_that_was_made_for_it() -> None:
    states = (JobState.FAILED, JobState.TIMEOUT)
    assert [cause for cause in ALL for state in states if rule_for(cause, state=state).id == "unknown"] == []


def test_errors_of_the_user_are_never_restarted() -> None:
    restarted = []
    for cause in ALL:
        # a program that ends because of a signal may ask for another attempt by its exit code
        asking = () if label_of(cause) == CANCELLED else (Condition.AGAIN_ON_EXIT,)
        rule = rule_for(cause, Condition.GROW_MEMORY, Condition.GROW_TIME, *asking)
        if label_of(cause) in THE_USERS and rule.verdict not in (Verdict.STOP, Verdict.ASK):
            restarted.append((cause, rule.id))
    assert restarted == []


@pytest.mark.parametrize(
    "cause", [INCOMPLETE, MISSING_OUTPUTS, DAMAGED_OUTPUTS, LOST_WORKER, "nan_loss.metric"]
)
def test_a_doubtful_success_is_asked_about(cause: str) -> None:
    end = EndFacts(JobState.COMPLETED, Outcome.SUCCESS, cause=cause, doubt="something")

    assert first_fit(RULES, end, frozenset({Condition.SUCCESS, Condition.DOUBTFUL})).verdict is Verdict.ASK


def test_causes_in_the_table_exist() -> None:
    known = {*ALL, *map(label_of, ALL), "", INCOMPLETE, MISSING_OUTPUTS}

    assert {cause for rule in RULES for cause in rule.when.causes} <= known


def test_rules_that_share_a_budget_have_the_same_limit() -> None:
    budgets = {(rule.budget, rule.max) for rule in RULES if rule.budget}

    assert {name for name, _ in budgets} == {*BUDGETS, "drill"}  # nobody sets that one
    assert budgets == {
        *(
            ("preempted", 100),
            ("node", 5),
            ("time", 50),
            ("hang", 2),
            ("crash", 1),
            ("memory", 2),
            ("exit", 50),
            ("drill", 1),
        ),
    }


def test_sentences_end_with_a_full_stop_and_fit_a_message() -> None:
    assert all(rule.why.endswith(".") and len(rule.why) <= 120 for rule in RULES)


def test_a_job_configuration_may_name_exactly_the_budgets_of_the_table() -> None:
    assert {rule.budget for rule in RULES if rule.budget} == {*BUDGETS, "drill"}  # which nobody sets
