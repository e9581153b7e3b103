"""The decision after an end: the rules, then the limits, then the proof of death."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.job.job_settings import RestartMode, RestartSettings
from jobmon_core.domain.job.restart.decide import (
    MAX_PER_HOUR,
    decide_restart,
    due_s,
    earliest_s,
    made_progress,
)
from jobmon_core.domain.job.restart.model import Attempt, Decision, Lineage, PickedCheckpoint, Verdict
from jobmon_core.domain.job.restart.rules import EndFacts, Requested
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.observe.patterns.restart_rules import restart_rules

NOW_S = 1_800_000_000.0
HOUR_S = 3600.0
ON = RestartSettings(RestartMode.ON)
RULES = restart_rules()


def end(state: JobState = JobState.FAILED, cause: str = "", **facts: Any) -> EndFacts:  # noqa: ANN401 - fields of it
    outcomes = {JobState.COMPLETED: Outcome.SUCCESS, JobState.CANCELLED: Outcome.CANCELLED}
    known: Any = {"is_proved": True, "proof": "sacct shows it", "started_s": NOW_S - HOUR_S, "ended_s": NOW_S}
    return replace(
        EndFacts(state, outcomes.get(state, Outcome.FAILURE), cause=cause, **known),
        **facts,
    )


PREEMPTED = end(JobState.PREEMPTED, "slurm_preempted")
NODE_FAILED = end(JobState.NODE_FAIL, "node_fail")
CRASHED = end(cause="segfault", exit_code=139)
TIMED_OUT = end(JobState.TIMEOUT, "slurm_timeout")
OUT_OF_MEMORY = end(JobState.OUT_OF_MEMORY, "host_oom_kill")


def checkpoint(step: int | None, saved_s: float = NOW_S - 60) -> PickedCheckpoint:
    return PickedCheckpoint(f"/ckpt/{step}", step, saved_s)


SAVED = checkpoint(100)


def attempt(
    number: int,
    resume: int | None = None,
    saved: int | None = None,
    cause: EndFacts = PREEMPTED,
    budget: str = "preempted",
) -> Attempt:
    """Return an attempt that was restarted: it began with one step and had saved another when it ended."""
    decision = Decision(
        Verdict.RESTART,
        "r",
        "why",
        NOW_S - HOUR_S,
        cause.cause,
        budget,
        checkpoint=None if saved is None else checkpoint(saved),
    )
    resumed = None if resume is None else checkpoint(resume)
    return Attempt(
        number, "", "", "slurm", submitted_s=NOW_S - 10 * HOUR_S, resume=resumed, decision=decision
    )


def newest(number: int, resume: int | None = None) -> Attempt:
    return replace(attempt(number, resume), decision=None)


def lineage(*attempts: Attempt, settings: RestartSettings = ON, name: str = "a") -> Lineage:
    return Lineage(name, settings=settings, attempts=attempts or (newest(0),))


def decide(
    ended: EndFacts,
    of: Lineage | None = None,
    saved: PickedCheckpoint | None = SAVED,
    *others: Lineage,
    jitter: float = 0.5,
) -> Decision:
    of = of or lineage()
    number = of.attempts[-1].number
    return decide_restart(of, number, ended, saved, others, rules=RULES, now_s=NOW_S, jitter=jitter)


STALLED = RestartSettings(RestartMode.ON, stall_is_failure_s=600.0)
GROWING = RestartSettings(RestartMode.ON, grow_memory=1.5, grow_time=2.0)
HALF_DONE: Any = {"reached": 420.0, "total": 1000.0}


@pytest.mark.parametrize(
    ("ended", "saved", "settings", "answer"),
    [
        (PREEMPTED, 100, ON, "restart preempted 100"),
        (PREEMPTED, None, ON, "restart preempted 100"),
        (NODE_FAILED, None, ON, "restart node 5"),
        (end(JobState.BOOT_FAIL, "node_fail"), None, ON, "restart node 5"),
        (end(cause="gpu_hardware.lost"), 100, ON, "restart node 5"),
        (end(cause="node_fail.ray"), 100, ON, "restart node 5"),
        (end(cause="node_fail", is_proved=False), 100, ON, "ask"),
        (TIMED_OUT, 100, ON, "restart time 50"),
        (TIMED_OUT, None, ON, "stop"),
        (end(JobState.TIMEOUT, "python_exception_other.key_error"), 100, ON, "stop"),
        (end(JobState.TIMEOUT, "slurm_timeout.hang"), None, GROWING, "stop"),
        (end(JobState.COMPLETED, saved_on_signal=True, **HALF_DONE), 100, ON, "restart time 50"),
        (
            end(JobState.COMPLETED, "incomplete", doubt="420 of 1000", saved_on_signal=True, **HALF_DONE),
            100,
            ON,
            "restart time 50",
        ),
        (end(JobState.COMPLETED, saved_on_signal=True, **HALF_DONE), None, ON, "ask"),
        (end(JobState.COMPLETED, saved_on_signal=True), 100, ON, "ask"),
        (end(JobState.COMPLETED, **HALF_DONE), 100, ON, "finished"),
        (end(JobState.COMPLETED, saved_on_signal=True, reached=9.0, total=9.0), 9, ON, "finished"),
        (end(JobState.COMPLETED), 100, ON, "finished"),
        (end(JobState.COMPLETED, "nan_loss.metric", doubt="its last loss is NaN"), 100, ON, "ask"),
        (
            end(JobState.CANCELLED, "slurm_cancelled", stall_cancelled=True),
            100,
            STALLED,
            "restart hang 2",
        ),
        (end(JobState.CANCELLED, "slurm_cancelled", stall_cancelled=True), 100, ON, "stop"),
        (end(JobState.CANCELLED, "slurm_cancelled"), 100, STALLED, "stop"),
        (end(JobState.CANCELLED, "slurm_preempted"), 100, ON, "stop"),
        (end(cause="nccl_timeout.watchdog"), 100, ON, "restart crash 1"),
        (CRASHED, 100, ON, "restart crash 1"),
        (end(cause="bus_error_shm"), 100, ON, "restart crash 1"),
        (end(cause="bus_error_shm.full"), 100, ON, "stop"),
        (end(cause="segfault.illegal_instruction"), 100, ON, "stop"),
        (OUT_OF_MEMORY, 100, ON, "ask"),
        (end(cause="host_oom_kill.killed"), 100, GROWING, "ask"),
        (end(cause="cuda_oom"), 100, GROWING, "stop"),
        (end(cause="import_error.name"), 100, ON, "stop"),
        (end(cause="config_error.command_line", exit_code=75), 100, ON, "stop"),
        (end(cause="disk_full.quota"), 100, ON, "stop"),
        (end(cause="nan_loss"), 100, ON, "stop"),
        (end(cause="auth_error"), 100, ON, "stop"),
        (end(cause="checkpoint_mismatch"), 100, ON, "stop"),
        (end(cause="assertion_error"), 100, ON, "stop"),
        (end(cause="", exit_code=75), None, ON, "restart exit 50"),
        (end(cause="", exit_code=93), 100, ON, "stop"),
        (end(cause="segfault", exit_code=93), 100, ON, "stop"),
        (end(cause="", exit_code=1), 100, ON, "ask"),
        (end(cause="job_pattern_1", exit_code=1), 100, ON, "ask"),
        (end(JobState.UNKNOWN, outcome=Outcome.UNKNOWN), 100, ON, "ask"),
        (end(JobState.REVOKED, outcome=Outcome.UNKNOWN), 100, ON, "ask"),
        (end(JobState.DEADLINE, "slurm_timeout.deadline"), 100, ON, "stop"),
    ],
)
def test_each_end_is_answered_by_the_table(
    ended: EndFacts, saved: int | None, settings: RestartSettings, answer: str
) -> None:
    decision = decide(ended, lineage(settings=settings), None if saved is None else checkpoint(saved))

    charged = f" {decision.budget} {decision.allowed}" if decision.budget else ""
    assert f"{decision.verdict}{charged}" == answer
    assert decision.why.endswith(".")


def test_the_decision_names_the_checkpoint_the_cause_and_the_proof_of_death() -> None:
    decision = decide(PREEMPTED)

    assert decision.checkpoint == checkpoint(100)
    assert (decision.cause, decision.proof) == ("slurm_preempted", "sacct shows it")


def test_without_proof_of_death_the_user_is_asked_and_gets_the_command_that_proves_it() -> None:
    decision = decide(replace(PREEMPTED, proof="", how_to_prove="squeue -j 7"))

    assert decision.verdict is Verdict.ASK
    assert "squeue -j 7" in decision.why


def test_only_observed_decisions_are_marked_as_such() -> None:
    assert decide(PREEMPTED, lineage(settings=RestartSettings(RestartMode.OBSERVE))).is_observed
    assert not decide(PREEMPTED).is_observed


def test_another_owner_of_restarts_is_named_and_jobmon_only_observes() -> None:
    decision = decide(replace(PREEMPTED, other_owner="Lightning"))

    assert decision.is_observed
    assert "Lightning" in decision.why


@pytest.mark.parametrize("named", ["preempted", "slurm_preempted"])
def test_the_user_limits_restarts_to_budgets_or_causes(named: str) -> None:
    wanted = replace(ON, on=(named,))

    assert decide(PREEMPTED, lineage(settings=wanted)).verdict is Verdict.RESTART
    refused = decide(NODE_FAILED, lineage(settings=wanted))
    assert (refused.verdict, refused.rule) == (Verdict.STOP, "not_asked_for")
    assert named in refused.why


@pytest.mark.parametrize(("limit", "number", "verdict"), [(0, 0, "stop"), (2, 1, "restart"), (2, 2, "stop")])
def test_the_user_limits_all_restarts_together(limit: int, number: int, verdict: str) -> None:
    earlier = [attempt(each, 100 * each, 100 * each + 100) for each in range(number)]
    of = lineage(*earlier, newest(number, 100 * number), settings=replace(ON, max_restarts=limit))

    assert decide(PREEMPTED, of, checkpoint(5000)).verdict == verdict


def test_a_budget_counts_restarts_since_the_last_progress() -> None:
    settings = replace(ON, budgets={"preempted": 3})
    # steps that are not known show neither progress nor the lack of it, so that only the budget counts
    silent = [
        replace(
            each, decision=each.decision and replace(each.decision, checkpoint=checkpoint(None, 10.0 + i))
        )
        for i, each in enumerate([attempt(1, 100), attempt(2, 100)])
    ]
    of = lineage(attempt(0, None, 100), *silent, newest(3, 100), settings=settings)

    used_up = decide(PREEMPTED, of, checkpoint(None))
    assert (used_up.used, used_up.allowed, used_up.verdict) == (4, 3, Verdict.STOP)
    refilled = decide(PREEMPTED, of, checkpoint(200))
    assert (refilled.used, refilled.verdict) == (1, Verdict.RESTART)
    assert decide(NODE_FAILED, of, checkpoint(None)).used == 1  # another budget


def test_a_crash_is_tried_once_and_again_only_after_progress() -> None:
    crashed = attempt(0, None, 100, CRASHED, "crash")

    assert decide(CRASHED, lineage(crashed, newest(1, 100)), checkpoint(100)).rule == "budget"
    assert decide(CRASHED, lineage(crashed, newest(1, 100)), checkpoint(200)).verdict is Verdict.RESTART


def test_two_attempts_in_a_row_without_progress_end_the_lineage() -> None:
    of = lineage(attempt(0, None, 100), attempt(1, 100, 100), newest(2, 100))

    stopped = decide(PREEMPTED, of, checkpoint(100))
    assert (stopped.verdict, stopped.rule) == (Verdict.STOP, "no_progress")
    assert decide(PREEMPTED, of, checkpoint(101)).verdict is Verdict.RESTART


def test_an_end_is_not_followed_twice() -> None:
    of = lineage(newest(0), newest(1))

    again = decide_restart(of, 0, PREEMPTED, None, (), rules=RULES, now_s=NOW_S, jitter=0.5)
    assert (again.verdict, again.rule) == (Verdict.STOP, "superseded")
    assert decide(PREEMPTED, replace(lineage(), ended_why="finished")).rule == "superseded"


def test_a_checkpoint_that_has_vanished_is_not_replaced_by_a_start_from_scratch() -> None:
    decision = decide(PREEMPTED, lineage(attempt(0, None, 100), newest(1, 100)), None)

    assert decision.verdict is Verdict.ASK
    assert "/ckpt/100" in decision.why


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, None, False),
        (None, checkpoint(0), True),
        (None, checkpoint(100, NOW_S - 2 * HOUR_S), False),  # it was there before the attempt started
        (checkpoint(100), None, False),
        (checkpoint(100), checkpoint(100, NOW_S), False),
        (checkpoint(100), checkpoint(99, NOW_S), False),
        (checkpoint(100), checkpoint(101), True),
        (checkpoint(None, 50.0), checkpoint(None, 60.0), None),
        (checkpoint(None, 50.0), checkpoint(7, 50.0), False),
        (checkpoint(7, 50.0), checkpoint(None, 60.0), None),
    ],
)
def test_progress_is_a_complete_checkpoint_of_a_higher_step(
    before: PickedCheckpoint | None,
    after: PickedCheckpoint | None,
    expected: bool | None,  # noqa: FBT001 - a column of the table
) -> None:
    assert made_progress(before, after, NOW_S - HOUR_S) is expected


def test_a_step_beyond_all_the_work_is_left_to_the_user() -> None:
    ended = replace(PREEMPTED, reached=420.0, total=1000.0, counts_steps=True)
    of = lineage(attempt(0, None, 100), newest(1, 100))

    decision = decide(ended, of, checkpoint(10**9))
    assert (decision.verdict, decision.rule) == (Verdict.ASK, "step_beyond_total")
    assert "beyond the total that the log states" in decision.why
    assert decision.checkpoint == replace(checkpoint(10**9), step=None)
    assert decision.used == 2  # the budget is not refilled


@pytest.mark.parametrize(
    ("without_progress", "jitter", "expected_s"),
    [(0, 0.5, 60), (0, 0.0, 48), (0, 1.0, 72), (1, 0.5, 120), (2, 0.5, 240), (6, 0.5, 3600), (99, 1.0, 3600)],
)
def test_the_delay_doubles_with_each_restart_without_progress(
    without_progress: int, jitter: float, expected_s: float
) -> None:
    unknown = checkpoint(None, 1.0)
    earlier = [
        replace(
            attempt(i, 100), decision=Decision(Verdict.RESTART, "r", "", 0.0, budget="x", checkpoint=unknown)
        )
        for i in range(without_progress)
    ]
    earlier = [replace(each, resume=checkpoint(None, 0.5)) for each in earlier]
    of = lineage(*earlier, replace(newest(without_progress), resume=checkpoint(None, 0.5)))

    decision = decide(PREEMPTED, of, unknown, jitter=jitter)
    assert decision.not_before_s == pytest.approx(NOW_S + expected_s)


def restarted(name: str, at_s: float) -> Lineage:
    return lineage(attempt(0), replace(newest(1), submitted_s=at_s), name=name)


def test_at_most_six_attempts_are_submitted_in_an_hour_over_all_lineages() -> None:
    others = [restarted(f"o{i}", NOW_S - 100 * i) for i in range(MAX_PER_HOUR)]

    assert decide(PREEMPTED, None, checkpoint(1), *others[1:]).not_before_s == NOW_S + 60
    assert decide(PREEMPTED, None, checkpoint(1), *others).not_before_s == NOW_S - 500 + HOUR_S
    assert due_s(others, NOW_S) == NOW_S - 500 + HOUR_S
    assert due_s(others[1:], NOW_S) == NOW_S


def test_restarts_that_are_planned_count_too() -> None:
    planned: list[Lineage] = []
    for i in range(20):
        decision = decide(PREEMPTED, lineage(name=f"p{i}"), checkpoint(1), *planned)
        planned.append(lineage(replace(newest(0), decision=decision), name=f"p{i}"))

    times = sorted(each.attempts[0].decision.not_before_s for each in planned if each.attempts[0].decision)
    assert all(later - earlier >= HOUR_S for earlier, later in zip(times, times[MAX_PER_HOUR:], strict=False))
    assert due_s(planned, NOW_S) == NOW_S  # nothing was submitted so far


def stopped(name: str, cause: str, at_s: float = NOW_S - 600, verdict: Verdict = Verdict.STOP) -> Lineage:
    return lineage(replace(newest(0), decision=Decision(verdict, "r", "", at_s, cause)), name=name)


def test_three_lineages_that_stopped_for_one_cause_pause_all_for_an_hour() -> None:
    three = [stopped(f"s{i}", "disk_full") for i in range(3)]

    assert decide(PREEMPTED, None, checkpoint(1), *three).not_before_s == NOW_S - 600 + HOUR_S
    assert due_s(three, NOW_S) == NOW_S - 600 + HOUR_S


@pytest.mark.parametrize(
    "others",
    [
        [stopped(f"s{i}", "disk_full") for i in range(2)],
        [stopped(f"s{i}", cause) for i, cause in enumerate(("disk_full", "cuda_oom", "nan_loss"))],
        [stopped(f"s{i}", "disk_full", NOW_S - 2 * HOUR_S) for i in range(3)],
        [stopped(f"s{i}", "slurm_cancelled") for i in range(3)],
        [stopped(f"s{i}", "") for i in range(3)],
        [stopped(f"s{i}", "disk_full", NOW_S + 1e8) for i in range(3)],  # before the clock was set back
    ],
)
def test_other_stops_pause_nothing(others: list[Lineage]) -> None:
    assert decide(PREEMPTED, None, checkpoint(1), *others).not_before_s == NOW_S + 60


def test_a_clock_set_back_delays_nothing_for_longer_than_about_an_hour() -> None:
    future = [restarted(f"o{i}", NOW_S + 1e8) for i in range(20)]
    planned = [
        lineage(
            replace(newest(0), decision=replace(decide(PREEMPTED), not_before_s=NOW_S + 1e8)), name=f"p{i}"
        )
        for i in range(20)
    ]

    assert decide(PREEMPTED, None, checkpoint(1), *future, *planned).not_before_s <= NOW_S + HOUR_S + 60


GIB = 2**30


@pytest.mark.parametrize(
    ("requested", "options"),
    [
        (Requested(memory_bytes=4 * GIB), ("--mem=6144M",)),
        (Requested(memory_bytes=4 * GIB, max_memory_bytes=5 * GIB), ("--mem=5120M",)),
        (Requested(memory_bytes=4 * GIB, max_memory_bytes=4 * GIB), None),
        (Requested("--mem-per-cpu", GIB), ("--mem-per-cpu=1536M",)),
        (Requested(), None),
    ],
)
def test_memory_grows_after_a_proven_lack_of_it_within_the_limits(
    requested: Requested, options: tuple[str, ...] | None
) -> None:
    decision = decide(replace(OUT_OF_MEMORY, requested=requested), lineage(settings=GROWING))

    if options is None:
        assert (decision.verdict, decision.rule) == (Verdict.ASK, "cannot_grow")
    else:
        assert (decision.verdict, decision.budget, decision.options) == (Verdict.RESTART, "memory", options)


@pytest.mark.parametrize(
    ("saved", "most_s", "verdict", "options"),
    [
        (100, None, "restart", ("--time=120",)),
        (None, None, "restart", ("--time=120",)),
        (None, 5400, "restart", ("--time=90",)),
        (None, 3600, "ask", ()),
        (100, 3600, "restart", ()),
    ],
)
def test_time_grows_after_a_time_out_within_the_limits(
    saved: int | None, most_s: int | None, verdict: str, options: tuple[str, ...]
) -> None:
    ended = replace(TIMED_OUT, requested=Requested(limit_s=3600, max_limit_s=most_s))

    decision = decide(ended, lineage(settings=GROWING), None if saved is None else checkpoint(saved))
    assert (decision.verdict, decision.options) == (verdict, options)


def test_a_request_that_has_grown_stays_so() -> None:
    grown = attempt(0, None, 100, OUT_OF_MEMORY, "memory")
    assert grown.decision
    grown = replace(grown, decision=replace(grown.decision, options=("--mem=6144M",)))

    assert decide(PREEMPTED, lineage(grown, newest(1, 100)), checkpoint(200)).options == ("--mem=6144M",)


@pytest.mark.parametrize(
    ("before", "seen", "users", "options"),
    [
        ((), 40, "", ("--exclude=n17",)),
        ((), 9, "", ()),
        ((), None, "", ()),
        (("--exclude=n1,n2",), 40, "", ("--exclude=n1,n2,n17",)),
        (("--exclude=n1,n2",), 20, "", ("--exclude=n2,n17",)),
        (("--exclude=n[3-5],n2",), 20, "n[3-5]", ("--exclude=n[3-5],n2,n17",)),
        ((), 20, "n[3-5]", ("--exclude=n[3-5],n17",)),
    ],
)
def test_a_node_that_failed_is_excluded_but_at_most_a_tenth_of_the_nodes_seen(
    before: tuple[str, ...], seen: int | None, users: str, options: tuple[str, ...]
) -> None:
    first = attempt(0, None, 100)
    assert first.decision
    of = lineage(replace(first, decision=replace(first.decision, options=before)), newest(1, 100))
    ended = replace(NODE_FAILED, failed_node="n17", nodes_seen=seen, requested=Requested(excluded=users))

    assert decide(ended, of, checkpoint(200)).options == options


USERS = (
    *("cuda_oom", "import_error", "config_error", "disk_full", "nan_loss", "auth_error", "assertion_error"),
    *(
        "checkpoint_mismatch",
        "python_exception_other.key_error",
        "shape_mismatch",
        "module_env",
        "srun_error",
    ),
    *("file_not_found.script", "permission_denied", "compile_error", "cuda_device_assert", "disk_full.quota"),
)
CAUSES = (
    "",
    "slurm_preempted",
    "node_fail",
    "slurm_timeout",
    "segfault",
    "host_oom_kill",
    "nccl_timeout",
    *USERS,
)

RARELY = st.sampled_from((False, False, False, False, True))
any_settings = st.builds(
    RestartSettings,
    mode=st.sampled_from((RestartMode.ON, RestartMode.ON, *RestartMode)),
    on=st.just(())
    | st.lists(st.sampled_from(("preempted", "node", "time", "cuda_oom")), max_size=2).map(tuple),
    max_restarts=st.none() | st.none() | st.integers(0, 5),
    budgets=st.dictionaries(
        st.sampled_from(("preempted", "node", "time", "crash", "exit")), st.integers(0, 9)
    ),
    delay_s=st.floats(0, 7200),
    max_delay_s=st.floats(0, 7200),
    again_on_exit=st.lists(st.integers(0, 255), max_size=3).map(tuple),
    never_on_exit=st.lists(st.integers(0, 255), max_size=3).map(tuple),
    grow_memory=st.sampled_from((1.0, 1.5)),
    grow_time=st.sampled_from((1.0, 2.0)),
    stall_is_failure_s=st.none() | st.just(600.0),
)
any_checkpoint = st.none() | st.builds(
    PickedCheckpoint, st.just("/c"), st.none() | st.integers(0, 10**9), st.floats(0, 2 * NOW_S)
)
any_end = st.builds(
    EndFacts,
    state=st.sampled_from((JobState.FAILED, JobState.TIMEOUT, JobState.COMPLETED))
    | st.sampled_from(JobState),
    outcome=st.just(Outcome.FAILURE) | st.just(Outcome.FAILURE) | st.sampled_from(Outcome),
    exit_code=st.none() | st.integers(0, 255),
    cause=st.sampled_from(CAUSES[: -len(USERS)]) | st.sampled_from(CAUSES),
    is_proved=st.booleans(),
    doubt=st.sampled_from(("", "", "", "its log ends in KeyError")),
    was_cancelled=RARELY,
    stall_cancelled=RARELY,
    reached=st.none() | st.floats(0, 1000),
    total=st.none() | st.just(1000.0),
    saved_on_signal=st.booleans(),
    other_owner=st.sampled_from(("", "Lightning")),
    proof=st.sampled_from(("", *["sacct shows it"] * 4)),
    started_s=st.none() | st.floats(0, NOW_S),
    failed_node=st.sampled_from(("", "n1")),
    nodes_seen=st.none() | st.integers(0, 100),
)
any_attempt = st.builds(
    Attempt,
    number=st.just(0),
    state_id=st.just(""),
    job=st.just("1"),
    backend=st.just("slurm"),
    submitted_s=st.floats(0, 2 * NOW_S),
    resume=any_checkpoint,
    decision=st.none()
    | st.builds(
        Decision,
        verdict=st.sampled_from(Verdict),
        rule=st.just("r"),
        why=st.just(""),
        decided_s=st.floats(0, 2 * NOW_S),
        cause=st.sampled_from(CAUSES),
        budget=st.sampled_from(("", "preempted", "node", "time", "crash", "exit")),
        checkpoint=any_checkpoint,
        not_before_s=st.floats(0, 2 * NOW_S),
        options=st.sampled_from(((), ("--exclude=n7",), ("--mem=10M", "--time=5"))),
    ),
)
attempts = st.lists(any_attempt, min_size=1, max_size=6).map(
    lambda each: tuple(replace(one, number=i) for i, one in enumerate(each))
)
any_lineage = st.builds(Lineage, id=st.uuids().map(str), settings=any_settings, attempts=attempts)


@given(any_end, any_checkpoint, any_lineage, st.lists(any_lineage, max_size=4), st.floats(0, 1))
def test_no_settings_and_no_history_restart_what_must_not_be_restarted(
    ended: EndFacts, saved: PickedCheckpoint | None, of: Lineage, others: list[Lineage], jitter: float
) -> None:
    number = of.attempts[-1].number

    decision = decide_restart(of, number, ended, saved, others, rules=RULES, now_s=NOW_S, jitter=jitter)

    if decision.verdict is not Verdict.RESTART:
        return
    settings = of.settings
    assert settings.mode is not RestartMode.OFF
    assert ended.proof
    assert ended.outcome is not Outcome.UNKNOWN
    assert ended.cause not in USERS
    ordered = ended.stall_cancelled and settings.stall_is_failure_s is not None
    assert ordered or not (ended.was_cancelled or ended.outcome is Outcome.CANCELLED)
    assert not ended.doubt or ended.saved_on_signal or ended.outcome is not Outcome.SUCCESS or ordered
    assert 1 <= decision.used <= decision.allowed
    assert settings.max_restarts is None or number < settings.max_restarts
    assert not ended.other_owner or decision.is_observed
    least_s = min(settings.max_delay_s, settings.delay_s * 0.8)
    assert NOW_S + least_s - 1e-3 <= decision.not_before_s
    assert decision.not_before_s <= NOW_S + settings.max_delay_s + 25 * HOUR_S


@given(st.lists(any_lineage, max_size=8), st.floats(0, 7200))
def test_the_next_slot_is_never_before_it_was_wanted(others: list[Lineage], after_s: float) -> None:
    assert earliest_s(others, NOW_S + after_s, NOW_S) >= NOW_S + after_s
    assert NOW_S <= due_s(others, NOW_S) <= NOW_S + HOUR_S


CANCELLED = end(JobState.CANCELLED, "slurm_cancelled", was_cancelled=True)


def test_a_job_that_the_user_had_cancelled_to_try_out_a_restart_is_restarted_at_once() -> None:
    drilled = replace(lineage(), drill_s=NOW_S - 30)
    answer = decide(CANCELLED, drilled)
    assert (answer.verdict, answer.rule, answer.checkpoint) == (Verdict.RESTART, "drill", SAVED)
    only_nodes = replace(drilled, settings=replace(ON, on=("node",)))
    assert decide(CANCELLED, only_nodes).verdict is Verdict.RESTART


@pytest.mark.parametrize(
    "of",
    [
        lineage(),
        replace(lineage(), drill_s=NOW_S - HOUR_S),  # somebody else cancelled it, long after
        replace(lineage(attempt(0, None, 50), newest(1, 50)), drill_s=NOW_S - 30),  # not the first attempt
    ],
)
def test_any_other_cancellation_is_none_of_a_drill(of: Lineage) -> None:
    assert decide(CANCELLED, of).verdict is Verdict.STOP


def test_a_failure_during_a_drill_is_judged_as_any_other() -> None:
    drilled = replace(lineage(), drill_s=NOW_S - 30)
    assert decide(end(cause="import_error"), drilled).verdict is Verdict.STOP
    assert decide(replace(CANCELLED, proof=""), drilled).rule == "not_proved_dead"
