"""What to do next, how long a proved end waits for accounting, and when the monitor wakes up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.channels import Route
from jobmon_core.domain.decide import MAX_DIAGNOSED, Deliver, Step, accounting_timeout_s, interval_s, wake_s
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.policy import NO_HURRY_S, Policy
from jobmon_core.domain.slurm.states import Outcome
from tests.support.play import START_S, Play, record, row, sacct_row

POLICY = Policy(running_s=300.0, accounting_grace_s=30.0, cards=False)


def noticed_late(late_s: float) -> Play:
    """Return a job whose end jobmon notices so many seconds later."""
    ended = replace(record("12", "TIMEOUT"), end_s=int(START_S - late_s))
    return Play(POLICY).queue(row("12", "TIMEOUT")).record(ended)


def timeout_s(play: Play, *, unresponsive: bool = False) -> float:
    return accounting_timeout_s(play.job, POLICY, play.now_s, unresponsive)


def seconds_until_concluded(play: Play) -> int:
    waited_s = 0
    while not play.job.ended:
        play.later(1)
        waited_s += 1
    return waited_s


@pytest.mark.parametrize(("late_s", "waits_s"), [(0, 30), (10, 20), (15, 15)])
def test_the_grace_starts_at_the_end_not_when_jobmon_notices_it(late_s: int, waits_s: int) -> None:
    assert seconds_until_concluded(noticed_late(late_s)) == waits_s


def test_an_end_noticed_late_still_gets_half_of_the_grace() -> None:
    assert seconds_until_concluded(noticed_late(4_000)) == 15


def test_a_slurmctld_clock_that_is_ahead_does_not_extend_the_grace() -> None:
    assert seconds_until_concluded(noticed_late(-500)) == 30


def test_without_a_record_the_grace_starts_when_jobmon_notices_the_end() -> None:
    assert seconds_until_concluded(Play(POLICY).queue(row("12", "TIMEOUT")).record()) == 30


def old(job: WatchedJob) -> WatchedJob:
    """Return the job as one that has been watched for a day; a new one is checked more often."""
    return replace(job, registered_s=START_S - 86_400)


def test_the_monitor_wakes_at_the_end_of_the_grace_even_if_the_next_query_is_later() -> None:
    play = noticed_late(10)
    for _ in range(3):
        while not play.asks_accounting():
            play.later(1)
        play.accounting()
    next_query_s = play.job.tasks[""].inquiry.next_query_s if play.job.tasks[""].inquiry else 0.0
    assert next_query_s > START_S + 20
    assert wake_s(old(play.job), POLICY, START_S, play.now_s) == START_S + 20


def test_a_grace_that_is_over_does_not_wake_the_monitor() -> None:
    play = Play(POLICY).queue(row("12_1", "COMPLETED"))
    play.record(record("12_1", "COMPLETED")).later(40).accounting_down()
    assert not play.job.ended  # an array needs an answer from accounting
    assert wake_s(old(play.job), POLICY, START_S, play.now_s) > play.now_s


def test_a_job_is_checked_more_often_at_first() -> None:
    play = Play(POLICY).queue(row("12", "RUNNING"))
    registered_s = play.job.registered_s
    waits = [
        wake_s(play.job, POLICY, registered_s + age_s, registered_s + age_s) - registered_s - age_s
        for age_s in (0, 10, 20, 40, 100, 600, 6000)
    ]
    assert waits == [10, 10, 10, 20, 50, POLICY.running_s, POLICY.running_s]


def reported(reported_for_s: float) -> tuple[WatchedJob, float]:
    """Return a running job whose agents have reported for this long, and the time."""
    play = Play(Policy()).queue(row("12", "RUNNING"))
    return replace(old(play.job), agents_since_s=play.now_s - reported_for_s), play.now_s


@pytest.mark.parametrize(
    ("reported_for_s", "asks_every_s"), [(0, 30), (60, 30), (100, 50), (600, 300), (9e5, 300)]
)
def test_while_agents_report_slurm_is_asked_ever_more_rarely(
    reported_for_s: float, asks_every_s: float
) -> None:
    job, now_s = reported(reported_for_s)
    assert interval_s(job, Policy(), now_s) == asks_every_s


def test_a_silent_agent_restores_the_usual_interval() -> None:
    job, now_s = reported(600)
    assert interval_s(replace(job, agents_since_s=None), Policy(), now_s) == 30


def test_a_configured_interval_is_never_shortened_by_an_agent() -> None:
    job, now_s = reported(600)
    assert interval_s(job, Policy(running_s=400.0), now_s) == 400


def test_logs_are_read_at_the_usual_interval_even_if_slurm_is_asked_more_rarely() -> None:
    job, now_s = reported(600)
    policy = Policy(cards=False)
    assert wake_s(job, policy, now_s - 200, now_s) == now_s + 30
    assert wake_s(job, policy, now_s - 290, now_s) == now_s + 10


def test_a_hint_of_the_end_leads_to_early_queries_for_half_a_minute() -> None:
    job, now_s = reported(600)
    job = replace(job, agents_since_s=None, end_hint_s=now_s)
    assert [interval_s(job, Policy(), now_s + later_s) for later_s in (0, 29, 30)] == [5, 5, 30]


def test_a_group_is_checked_at_its_interval_whatever_hints_at_an_end() -> None:
    job, now_s = reported(600)
    policy = Policy().of_group(60, "none")
    hinted = replace(job, agents_since_s=None, end_hint_s=now_s)
    assert [interval_s(each, policy, now_s) for each in (job, hinted)] == [60, 60]
    new = replace(hinted, registered_s=now_s - 5)
    assert interval_s(new, policy, now_s) == 60
    assert interval_s(hinted, Policy(floor_s=20.0), now_s) == 20


def test_an_accounting_query_may_not_take_longer_than_the_grace() -> None:
    play = Play(POLICY).queue(row("12", "TIMEOUT")).record(record("12", "TIMEOUT"))
    assert timeout_s(play) == 30
    assert timeout_s(play.later(8)) == 22


def test_the_first_query_gets_time_for_a_slow_database_and_a_later_one_does_not() -> None:
    play = noticed_late(10).later(2)
    assert timeout_s(play.later(17)) == 20
    play.accounting()
    assert timeout_s(play) == 3


def test_accounting_that_did_not_respond_a_moment_ago_delays_no_message() -> None:
    play = noticed_late(10)
    assert timeout_s(play, unresponsive=True) == 20
    assert timeout_s(play.later(14), unresponsive=True) == 6
    assert timeout_s(play.later(5), unresponsive=True) == 3


def test_a_query_after_the_grace_gets_only_the_short_timeout() -> None:
    play = noticed_late(10)
    assert accounting_timeout_s(play.job, POLICY, play.now_s + 60, True) == 3


def test_a_query_has_no_limit_while_a_task_lives() -> None:
    play = Play(POLICY).queue(row("12_1", "COMPLETED"), row("12_2", "RUNNING"))
    play.record(record("12_1", "COMPLETED"), record("12_2", "RUNNING"))
    assert timeout_s(play) == NO_HURRY_S


def test_a_query_has_no_limit_if_accounting_is_the_only_source() -> None:
    play = Play(POLICY).queue(row("12", "RUNNING")).later(300).queue().record()
    assert timeout_s(play) == NO_HURRY_S


def test_a_query_has_no_limit_if_an_array_requires_accounting() -> None:
    play = Play(POLICY).queue(row("12_1", "COMPLETED")).record(record("12_1", "COMPLETED")).later(40)
    assert timeout_s(play) == NO_HURRY_S


def test_the_first_query_about_an_array_is_limited_by_the_grace_too() -> None:
    play = Play(POLICY).queue(row("12_1", "COMPLETED")).record(record("12_1", "COMPLETED"))
    assert timeout_s(play) == 30


def test_a_completed_job_causes_one_message_on_the_success_route() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue(row("12", "COMPLETED"))
    assert play.asks_record()
    play.record(record("12", "COMPLETED")).later(3)
    assert play.asks_accounting()
    play.accounting(sacct_row("12", "COMPLETED"))
    assert play.job.outcome is Outcome.SUCCESS
    (entry,) = play.job.outbox
    assert entry.message.route is Route.SUCCESS
    assert play.actions == (Deliver(entry.message.id),)
    assert len(play.later(60).job.outbox) == 1


@pytest.mark.parametrize(
    ("end_messages", "state", "messages"),
    [
        ("all", "COMPLETED", 1),
        ("failures", "COMPLETED", 0),
        ("failures", "FAILED", 1),
        ("failures", "CANCELLED", 0),
        ("none", "FAILED", 0),
    ],
)
def test_a_member_of_a_group_has_a_message_of_its_own_if_the_user_wants_it(
    end_messages: str, state: str, messages: int
) -> None:
    play = (
        Play(POLICY.of_group(300, end_messages)).queue(row("12", "RUNNING")).later(30).queue(row("12", state))
    )
    play.record(record("12", state)).later(3).accounting(sacct_row("12", state))
    play.later(60)
    assert len(play.job.outbox) == messages
    assert play.job.concluded_s is not None


def test_failures_are_diagnosed_before_successes_within_the_bound() -> None:
    completed = [(f"12_{index}", "COMPLETED", 0) for index in range(1, 61)]
    tasks = Play().ends(*completed, ("12_61", "CANCELLED", 0), ("12_62", "FAILED", 1)).job.tasks
    assert tasks["62"].diagnosis
    assert tasks["61"].diagnosis
    assert sum(task.diagnosis is not None for task in tasks.values()) == MAX_DIAGNOSED


def test_an_alert_waits_for_the_job_name_from_the_record() -> None:
    play = Play().queue(row("12", "PENDING", "InvalidQOS"))
    assert not play.job.outbox
    play.record(record("12", "PENDING"))
    (entry,) = play.job.outbox
    assert entry.message.title.startswith("train (12)")


def test_the_monitor_does_not_finish_before_its_messages_are_sent() -> None:
    assert Step.FINISH not in Play().ends(("12", "COMPLETED", 0)).actions


def test_a_later_submission_in_the_same_state_causes_a_record_query() -> None:
    play = Play().queue(row("12", "RUNNING")).record(record("12", "RUNNING"))
    assert not play.later(30).queue(row("12", "RUNNING")).asks_record()
    assert play.later(3600).queue(row("12", "RUNNING", submit_s=1_003_600)).asks_record()


_STATES = st.sampled_from(["RUNNING", "PENDING", "COMPLETING", "SUSPENDED", "NODE_FAIL", "REQUEUED", "WHAT"])
_STEPS = st.one_of(  # a method of Play and its argument
    _STATES.map(lambda state: ("queue", row("12", state))),
    st.sampled_from(["RUNNING", "REQUEUED", "FAILED", "PENDING"]).map(
        lambda state: ("accounting", sacct_row("12", state))
    ),
    st.sampled_from([1.0, 30.0, 700.0, 90_000.0]).map(lambda seconds: ("later", seconds)),
    st.sampled_from([("queue",), ("queue_down",), ("record",), ("accounting",), ("accounting_down",)]),
    st.just(("record", record("12", "RUNNING"))),
)


@given(st.lists(_STEPS, max_size=25))
def test_no_sequence_of_answers_without_completed_is_a_success(steps: list[tuple[Any, ...]]) -> None:
    play = Play()
    for method, *arguments in steps:
        getattr(play, method)(*arguments)
    assert play.job.outcome is not Outcome.SUCCESS
    assert all(entry.message.route is Route.ERROR for entry in play.job.outbox)


_LISTED = st.sampled_from(["12", "12_[1-3]", "12_[2-3%1]", "12_[3]", "12_1", "12_2", "12_3"])
_NOT_COMPLETED = st.sampled_from(
    ["PENDING", "RUNNING", "COMPLETING", "CANCELLED", "FAILED", "NODE_FAIL", "REQUEUED"]
)
_LISTING = st.lists(st.tuples(_LISTED, _NOT_COMPLETED), max_size=4, unique_by=lambda listed: listed[0])
_ROW_OF: dict[str, Callable[..., Any]] = {"queue": row, "record": record, "accounting": sacct_row}
_ARRAY_STEPS: st.SearchStrategy[tuple[str, list[tuple[str, str]]]] = st.one_of(
    st.tuples(st.sampled_from(list(_ROW_OF)), _LISTING), st.sampled_from([("queue_down", []), ("later", [])])
)


@given(st.lists(_ARRAY_STEPS, max_size=20), st.sampled_from(["", "2"]))
def test_no_sequence_of_answers_about_an_array_sends_two_digests_or_a_false_success(
    steps: list[tuple[str, list[tuple[str, str]]]], watched_part: str
) -> None:
    play = Play(watched_part=watched_part)
    for method, listing in steps:
        if method == "later":
            play.later(700)
        else:
            getattr(play, method)(*(_ROW_OF[method](*listed) for listed in listing))
    assert play.job.outcome is not Outcome.SUCCESS
    assert sum(entry.message.id.endswith("/end") for entry in play.job.outbox) <= 1
    assert not play.job.ended or play.job.outbox


def test_only_the_message_of_a_single_job_may_become_part_of_a_digest() -> None:
    single = Play().queue(row("12", "RUNNING")).later(30)
    single.ends(("12", "FAILED", 2))
    array = Play().queue(row("12_[2-3%1]", "PENDING"), row("12_1", "RUNNING")).later(30)
    array.ends(("12_1", "COMPLETED", 0), ("12_2", "FAILED", 2), ("12_3", "FAILED", 2))
    assert [entry.message.digestible for entry in single.job.outbox] == [True]
    assert [entry.message.digestible for entry in array.job.outbox] == [False]
