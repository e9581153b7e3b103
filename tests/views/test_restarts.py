"""Lineages on the screen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from jobmon.views.console import Console
from jobmon.views.restarts import (
    attempts_json,
    attempts_lines,
    lineage_rows,
    lineage_text,
    restart_text,
    restarts_lines,
    summary_json,
)
from jobmon_core.domain.job.restart.model import Decision, Lineage, Verdict
from jobmon_core.domain.job.restart.summary import summary_of
from tests.support.job_records import NOW_S, RUNNING, succeeded
from tests.support.lineages import NODE_FAIL, attempt, checkpoint, job_of_attempt, lineage_of, restart_from

FIRST = attempt(
    0, started_s=int(NOW_S) - 1000, ended_s=int(NOW_S) - 500, last_step=4380, decision=restart_from(4200)
)
SECOND = attempt(1, started_s=int(NOW_S) - 400, resume=checkpoint(4200), first_step=4210)
LINEAGE = lineage_of(FIRST, SECOND)
SUMMARY = summary_of(LINEAGE, job_of_attempt(1), NOW_S)
DUE = job_of_attempt(0, NODE_FAIL, restart_due_s=NOW_S + 42)
STOP = Decision(Verdict.STOP, "user", "the cause is an error in the program", NOW_S, "key_error")


def text(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def test_a_row_for_each_lineage_fits_a_terminal() -> None:
    due = summary_of(lineage_of(replace(FIRST, job="8130")), DUE, NOW_S)
    last = summary_of(replace(LINEAGE, ended_why="as you ordered"), job_of_attempt(1), NOW_S)
    long = replace(last, name="a" * 60)
    stopped = summary_of(replace(LINEAGE, ended_why=STOP.why), job_of_attempt(1, NODE_FAIL), NOW_S)
    shown = text(restarts_lines([SUMMARY, due, long, stopped], NOW_S, Console(80)))
    assert shown.splitlines() == [
        "JOB   NAME                  ATTEMPTS  CHECKPOINT  STATE",
        "8124  train                 2         step 4,200  running",
        "8130  train                 1         step 4,200  restart in 42s",
        "8124  aaaaaaaaaaaaaaaaaaa…  2         step 4,200  running, without further atte…",
        "8124  train                 2         step 4,200  ended: the cause is an error …",
    ]
    assert max(map(len, shown.splitlines())) <= 80


def test_without_a_lineage_a_sentence_says_so() -> None:
    assert text(restarts_lines([], NOW_S, Console())) == "no job was submitted with --restart"


def test_the_attempts_of_a_lineage() -> None:
    shown = text(attempts_lines(SUMMARY, NOW_S, Console(80)))
    assert shown.splitlines()[:4] == [
        "8124 train: 2 attempts; running",
        "ATTEMPT  JOB   ENDED BY   THEN     BEGAN AT STEP  STEPS LOST",
        "0        8123  node fail  restart  0              180",
        "1        8124  -          -        4,200          -",
    ]
    assert "restart from /w/ckpt/step-4200 (step 4,200): a node failed, and a" in shown
    assert "1 of 5 for node" in " ".join(shown.split())
    assert "effective training time ratio: 88 % of the time since the first start" in shown


def test_what_is_only_observed_or_held_is_said() -> None:
    observed = replace(FIRST, decision=replace(restart_from(1), is_observed=True, checkpoint=None))
    summary = summary_of(lineage_of(observed, is_held=True), job_of_attempt(0), NOW_S)
    shown = text(attempts_lines(summary, NOW_S, Console()))
    assert "(restart) from the start: a node failed" in shown
    assert "; only observed" in shown
    assert "held: it is not restarted until `jobmon restart --release`" in shown
    assert "not known of the time" not in shown


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "attempt 0 of 2, counted from 0; after: 8124"),
        (1, "attempt 1 of 2, counted from 0; before: 8123 (node fail)"),
    ],
)
def test_the_place_of_a_job_in_its_lineage(number: int, expected: str) -> None:
    assert lineage_text(LINEAGE, f"slurm-{8123 + number}-x") == expected


def test_a_job_that_its_lineage_does_not_list_says_so() -> None:
    assert lineage_text(LINEAGE, "slurm-9-x") == "not recorded as an attempt"


@pytest.mark.parametrize(
    ("lineage", "due_in_s", "expected"),
    [
        (None, 42, "restart in 42s"),
        (lineage_of(FIRST), 42, "restart in 42s"),
        (lineage_of(FIRST, is_held=True), 42, "restart held"),
        (None, -5, "restart due now"),
        (LINEAGE, None, "went on as 8124"),
        (lineage_of(FIRST), None, ""),
    ],
)
def test_what_follows_an_end(lineage: Lineage | None, due_in_s: float | None, expected: str) -> None:
    due_s = None if due_in_s is None else NOW_S + due_in_s
    assert restart_text(replace(DUE, restart_due_s=due_s), lineage, NOW_S) == expected


def test_show_names_the_decision_also_before_the_lineage_has_it() -> None:
    ended = replace(job_of_attempt(0, NODE_FAIL), decision=STOP)
    rows = dict(lineage_rows(lineage_of(attempt(0)), ended, NOW_S))
    assert rows["lineage"] == "attempt 0 of 1, counted from 0"
    assert rows["decided"].endswith("stop: the cause is an error in the program")
    assert list(lineage_rows(None, job_of_attempt(0, succeeded()), NOW_S)) == []
    assert list(dict(lineage_rows(lineage_of(attempt(0)), job_of_attempt(0, RUNNING), NOW_S))) == ["lineage"]


def test_the_documented_keys() -> None:
    assert summary_json(SUMMARY) == {
        "lineage": "7f3a",
        "name": "train",
        "newest_job": "8124",
        "attempt_count": 2,
        "mode": "on",
        "state": "running",
        "why": "",
        "due_at": None,
        "held": False,
        "checkpoint": {"path": "/w/ckpt/step-4200", "step": 4200, "saved_at": NOW_S},
        "time_ratio": 0.8795,
    }
    first, second = attempts_json(SUMMARY)
    assert (first["lost_steps"], second["start_step"], second["decision"]) == (180, 4200, None)
    assert first["decision"]["verdict"] == "restart"
    assert list(first) == [
        *("attempt", "job", "submitted_at", "started_at", "ended_at", "resumed_from", "start_step"),
        *("first_step", "last_step", "lost_steps", "decision"),
    ]
