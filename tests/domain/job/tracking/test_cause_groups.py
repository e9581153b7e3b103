from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.job.tracking.cause_groups import cause_groups
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.job_records import OOM, ended, failed, job_of, succeeded


def causes(job: WatchedJob) -> list[tuple[str, str]]:
    return [(group.cause, group.indices) for group in cause_groups(job)]


def cancelled(key: str) -> Task:
    return ended(JobState.CANCELLED, Outcome.CANCELLED, key)


def test_failures_come_first_and_of_these_the_largest_group() -> None:
    job = job_of(
        succeeded("0"),
        *(cancelled(str(n)) for n in range(20, 25)),
        *(failed(str(n)) for n in (1, 2)),
        *(failed(str(n), OOM) for n in (3, 4, 5, 9)),
    )
    assert causes(job) == [
        ("CUDA out of memory", "3-5,9"),
        ("FAILED, exit code 1", "1-2"),
        ("CANCELLED", "20-24"),
    ]


def test_a_group_is_named_by_the_log_if_all_of_its_tasks_say_the_same() -> None:
    facts = [replace(OOM, what_failed=f"CUDA out of memory (tried {size} GiB)") for size in (2, 4)]
    assert causes(job_of(*(failed(key, facts[0]) for key in "12"))) == [
        ("CUDA out of memory (tried 2 GiB)", "1-2")
    ]
    assert causes(job_of(failed("1", facts[0]), failed("2", facts[1]))) == [("CUDA out of memory", "1-2")]


def test_a_cancelled_task_shows_neither_a_uid_nor_its_signal() -> None:
    by_root = cancelled("1")
    assert by_root.end
    end = replace(by_root.end, raw_state="CANCELLED by 0", cancelled_by=0, signal=15)
    assert causes(job_of(replace(by_root, end=end))) == [("CANCELLED", "1")]


def test_a_success_is_only_grouped_if_it_is_doubtful() -> None:
    job = job_of(succeeded("1"), replace(succeeded("2"), diagnosis=OOM), failed("3", OOM))
    assert causes(job) == [("CUDA out of memory", "3"), ("CUDA out of memory, but exit code 0", "2")]


def test_tasks_cancelled_before_their_start_are_a_group() -> None:
    waiting = cancelled("2")
    assert waiting.end is not None
    waiting = replace(waiting, end=replace(waiting.end, started_s=None))
    assert causes(job_of(cancelled("1"), waiting)) == [("CANCELLED", "1"), ("CANCELLED before starting", "2")]


def test_components_of_a_het_job_are_named_by_their_key() -> None:
    (group,) = cause_groups(job_of(failed("+0"), failed("+1")))
    assert group.indices == "+0, +1"
