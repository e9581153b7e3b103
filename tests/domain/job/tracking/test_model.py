from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob, worst
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.states import JobState, Outcome

JOB = WatchedJob("slurm-12-x", 12, 0.0)


def ended(key: str, outcome: Outcome) -> Task:
    return Task(key, end=End(JobState.UNKNOWN, "UNKNOWN", outcome, Source.QUEUE))


def job_of(*tasks: Task) -> WatchedJob:
    return replace(JOB, tasks={task.key: task for task in tasks})


@pytest.mark.parametrize("outcomes", list(permutations(Outcome)))
def test_one_failed_task_makes_the_job_a_failure(outcomes: tuple[Outcome, ...]) -> None:
    assert worst(outcomes) is Outcome.FAILURE


def test_an_unknown_outcome_outweighs_a_success() -> None:
    assert worst([Outcome.SUCCESS, Outcome.UNKNOWN, Outcome.CANCELLED]) is Outcome.UNKNOWN
    assert worst([Outcome.SUCCESS, Outcome.CANCELLED]) is Outcome.CANCELLED
    assert worst([Outcome.SUCCESS, Outcome.SUCCESS]) is Outcome.SUCCESS


def test_a_job_without_any_outcome_is_not_a_success() -> None:
    assert worst([]) is Outcome.UNKNOWN


def test_a_job_without_any_known_task_has_not_ended() -> None:
    assert not JOB.ended
    assert JOB.outcome is None


def test_a_job_has_not_ended_while_one_task_lives() -> None:
    job = job_of(ended("1", Outcome.SUCCESS), Task("2"))
    assert not job.ended
    assert job.outcome is None


def test_a_job_has_not_ended_while_tasks_are_pending() -> None:
    job = replace(job_of(ended("1", Outcome.SUCCESS)), pending_indices="2-9")
    assert not job.ended


def test_a_job_that_ended_has_the_worst_outcome_of_its_tasks() -> None:
    job = job_of(ended("1", Outcome.SUCCESS), ended("2", Outcome.CANCELLED))
    assert job.ended
    assert job.outcome is Outcome.CANCELLED


def test_a_job_is_closed_when_it_is_concluded_or_unwatched() -> None:
    assert not JOB.closed
    assert replace(JOB, concluded_s=0.0).closed
    assert replace(JOB, unwatched_s=0.0).closed


def test_one_watched_task_of_an_array_is_not_an_array() -> None:
    assert replace(JOB, array_indices="1-3").is_array
    assert not replace(JOB, array_indices="1-3", watched_part="2").is_array
    assert replace(JOB, watched_part="2").ref == JobRef(12, task=2)


def test_a_message_that_was_given_up_is_undelivered_too() -> None:
    entry = OutboxEntry(Message("m", Route.ERROR, Tone.FAILURE, "it failed"))
    outbox = (entry, replace(entry, given_up="404"), replace(entry, delivered_s=1.0))
    assert replace(JOB, outbox=outbox).undelivered == 2


def test_a_run_that_never_started_has_no_duration() -> None:
    end = End(JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE, ended_s=50)
    assert end.elapsed_s is None
    assert replace(end, started_s=20).elapsed_s == 30
    assert replace(end, started_s=60).elapsed_s == 0  # clocks of two nodes may differ


def test_an_end_without_a_source_is_reported_by_none() -> None:
    assert Source.QUEUE.phrase == "as reported by squeue"
    assert Source.ARRAY.phrase == "inferred from its array"
    local = WatchedJob("local-1-x", 1, 0.0, backend="local")
    assert local.source_phrase(Source.QUEUE) == "as reported by the local scheduler"
    assert Source.NONE.phrase == "no source shows how it ended"


def test_a_job_lacks_a_task_only_if_its_tasks_are_known() -> None:
    job = WatchedJob("a", 12, 0.0)
    array = replace(job, tasks={"1": Task("1")}, pending_indices="7-9")
    assert [array.lacks_part(key) for key in ("", "1", "8", "99", "+1")] == [False, False, False, True, True]
    assert not job.lacks_part("99")
