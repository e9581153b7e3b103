from __future__ import annotations

from dataclasses import replace

from jobmon_core.app.jobs.overview import detailed_tasks, failed_count, problem_count, worst_task
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.job_records import OOM, ended, failed, job_of, succeeded

CANCELLED = [ended(JobState.CANCELLED, Outcome.CANCELLED, str(n)) for n in range(20, 25)]
ARRAY = job_of(
    succeeded("0"),
    *CANCELLED,
    *(failed(str(n)) for n in (1, 2)),
    *(failed(str(n), OOM) for n in (3, 4, 5, 9)),
)


def test_the_first_tasks_of_each_cause_are_shown_in_detail() -> None:
    assert [task.key for task in detailed_tasks(ARRAY, 2)] == ["1", "3"]
    assert [task.key for task in detailed_tasks(ARRAY, 99)] == ["1", "2", "3", "4", "5", "9"]
    assert failed_count(ARRAY) == 6


def test_an_unknown_outcome_is_a_problem_but_no_failure() -> None:
    unknown = job_of(ended(JobState.UNKNOWN, Outcome.UNKNOWN, "1"), failed("2"), succeeded("3"))
    assert (failed_count(unknown), problem_count(unknown)) == (1, 2)


def test_the_worst_task_stands_for_the_job() -> None:
    doubtful = replace(succeeded("7"), diagnosis=OOM)
    assert worst_task(ARRAY.tasks.values()) == failed("1")
    assert worst_task([succeeded("0"), doubtful, succeeded("8")]) == doubtful
    assert worst_task([succeeded("0"), doubtful, *CANCELLED]) == CANCELLED[0]
    assert worst_task([]) is None
