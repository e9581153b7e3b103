"""A running job is compared with earlier runs of its name, which are read once in a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import StateChange, Task
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.node.telemetry.model import AgentReport, Gpu, Memory, Node, Sample
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.history.lines import append
from jobmon_core.system.json_codec import to_json
from tests.support.followed_job import RUNNING, START_S, FollowedJob

GIB = 2**30


def earlier(job: FollowedJob, count: int = 5, **figures: Any) -> None:  # noqa: ANN401 - of a record
    """Add runs of the name of the job to the history."""
    runs = [
        HistoryRecord(number, START_S - 9000, 1.0, name="train", outcome="success", ended_s=START_S - number)
        for number in range(1, count + 1)
    ]
    run_figures = {"unit": "step", "step_s": 30.0, "first_progress_s": 60.0, "run_s": 3600.0, **figures}
    append(job.history, [each._replace(**run_figures) for each in runs], "a", START_S)


@pytest.fixture
def job(tmp_path: Path) -> FollowedJob:
    job = FollowedJob(tmp_path)
    job.job = replace(job.job, name="train")
    return job


def run_steps(job: FollowedJob, steps: int, seconds: float, first: int = 1) -> list[str]:
    """Let a job do some steps; return in what it is unusual."""
    subjects: list[str] = []
    for step in range(first, first + steps):
        subjects = [event.subject for event in job.later(seconds, f"step {step}\n")]
    return [each for each in subjects if each.endswith("_usual")]


def test_a_run_that_is_slower_than_its_like_is_told_so_once(job: FollowedJob) -> None:
    earlier(job)
    assert run_steps(job, 60, 45.0) == ["slower_than_usual"]


def test_a_run_is_compared_once_its_name_is_known(job: FollowedJob) -> None:
    earlier(job)
    job.job = replace(job.job, name="")
    run_steps(job, 2, 45.0)
    job.job = replace(job.job, name="train")
    assert run_steps(job, 60, 45.0, first=3) == ["slower_than_usual"]


def test_commands_have_nothing_in_common_but_the_name_that_sbatch_gives_them(job: FollowedJob) -> None:
    job.job = replace(job.job, name="wrap")
    earlier(job, name="wrap")
    assert run_steps(job, 60, 45.0) == []


def test_one_as_fast_as_they_were_is_not(job: FollowedJob) -> None:
    earlier(job)
    assert run_steps(job, 60, 31.0) == []


@pytest.mark.parametrize(
    "figures", [{"unit": "epoch"}, {"outcome": "failure"}, {"name": "train2"}, {"run": "sweep/a"}]
)
def test_what_counts_something_else_failed_or_has_another_name_is_not_like_it(
    job: FollowedJob, figures: dict[str, Any]
) -> None:
    earlier(job, **figures)
    assert run_steps(job, 60, 45.0) == []


def test_the_history_is_read_once_in_a_run(job: FollowedJob) -> None:
    earlier(job)
    run_steps(job, 2, 45.0)
    earlier(job, step_s=45.0, ended_s=START_S)
    assert run_steps(job, 60, 45.0, first=3) == ["slower_than_usual"]
    job.job = replace(
        job.job, tasks={"": replace(job.job.tasks[""], start_s=int(job.now_s), submit_s=int(job.now_s))}
    )
    job.later(30)
    found = job.saved.tasks[""].compared
    assert found is not None
    assert (found.usual.step_s, found.told) == ((45.0,) * 5, ())


def test_a_run_without_progress_is_late_after_three_times_the_usual_start(job: FollowedJob) -> None:
    earlier(job, 3, first_progress_s=200.0)
    assert job.kinds(590, "loading\n") == []
    assert job.kinds(30) == [EventKind.UNUSUAL]
    assert job.kinds(30) == [EventKind.UNUSUAL]
    assert "the last 3 runs of its name showed some after 3m 20s" in job.saved.events[-1].text
    assert job.kinds(30, "step 1\n") == [EventKind.UNUSUAL, EventKind.RECOVERED]


def test_a_time_that_the_user_set_counts_instead(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path, JobSettings(launch_timeout_s=3000.0))
    job.job = replace(job.job, name="train")
    earlier(job, 3)
    assert job.kinds(590, "loading\n") == job.kinds(590) == []


def test_what_the_launch_has_told_is_not_repeated(job: FollowedJob) -> None:
    earlier(job, 3, first_progress_s=300.0)
    settings = JobSettings(num_workers=2, log_dir=str(job.folder), log_pattern="worker_*.log")
    job.job = replace(job.job, settings=settings)
    assert [job.kinds(30) for _ in range(60)][-1] == [EventKind.NO_OUTPUT]


def test_memory_and_gpus_count_as_agents_measured_them(job: FollowedJob) -> None:
    earlier(job, gpu_percent=90.0, node_peak=8 * GIB, memory_peak=80 * GIB)
    measured(job, busy_percent=60.0, memory=12 * GIB)
    subjects = run_steps(job, 60, 31.0)
    assert subjects == ["more_memory_than_usual", "less_gpu_than_usual"]


def test_memory_that_only_the_scheduler_knew_is_no_measure(job: FollowedJob) -> None:
    earlier(job, memory_peak=2 * GIB)
    measured(job, busy_percent=60.0, memory=12 * GIB)
    assert run_steps(job, 60, 31.0) == []


def measured(job: FollowedJob, busy_percent: float, memory: int) -> None:
    """Write what an agent measured in each minute of the first hour."""
    folder = job.telemetry("", "").folder / "n1"
    folder.mkdir(parents=True)
    samples = [
        Sample(
            at_s=START_S + minute * 60.0,
            span_s=60.0,
            node=Node("n1"),
            gpus=(Gpu(0, utilization_percent=busy_percent),),
            memory=Memory(memory),
        )
        for minute in range(1, 61)
    ]
    lines = "".join(json.dumps(to_json(each)) + "\n" for each in samples)
    (folder / "history.jsonl").write_text(lines)
    (folder / "latest.json").write_text(json.dumps(to_json(AgentReport(latest=samples[0]))))


def test_a_wait_that_is_longer_than_usual_is_told_at_the_start(job: FollowedJob) -> None:
    earlier(job, submit_s=START_S - 9000, started_s=START_S - 8000)
    job.job = replace(job.job, tasks={"": replace(job.job.tasks[""], submit_s=START_S - 7200)})
    assert job.kinds(30) == [EventKind.LONG_WAIT]
    assert "waited for longer than usual: 2h; the last 5 took 16m 40s" in job.saved.events[-1].text
    assert job.kinds(30) == [EventKind.LONG_WAIT]


PENDING = Task("", JobState.PENDING, "PENDING", reason="(Priority)", submit_s=START_S)


def test_a_wait_that_is_longer_than_usual_is_told_once_while_the_job_waits(job: FollowedJob) -> None:
    earlier(job, submit_s=START_S - 9000, started_s=START_S - 8000)
    job.job = replace(job.job, tasks={"": PENDING})
    assert job.kinds(1500) == []
    assert job.waits_until_s == START_S + 1600  # ten minutes over the usual
    assert job.kinds(200) == [EventKind.LONG_WAIT]
    (event,) = job.saved.events
    assert event.text.startswith("has waited for longer than usual: 28m 20s; the last 5 took 16m 40s, ")
    assert job.waits_until_s is None
    assert job.kinds(9000) == [EventKind.LONG_WAIT]
    running = replace(RUNNING, submit_s=START_S, start_s=START_S + 12_000)
    job.job = replace(job.job, tasks={"": running})
    assert job.kinds(1400) == [EventKind.LONG_WAIT]  # not once more


def test_the_time_in_which_a_job_was_held_is_no_wait(job: FollowedJob) -> None:
    earlier(job, submit_s=START_S - 9000, started_s=START_S - 8000)
    held = replace(
        PENDING,
        reason="(JobHeldUser)",
        history=(StateChange("PENDING", float(START_S), "(JobHeldUser)"),),
    )
    job.job = replace(job.job, tasks={"": held})
    assert job.kinds(50_000) == []
    assert job.waits_until_s == START_S + 50_000 + 1600


@pytest.mark.parametrize(
    "tasks",
    [
        {"": replace(PENDING, restarts=1)},
        {"1": replace(PENDING, key="1")},
        {"0": replace(PENDING, key="0"), "1": replace(PENDING, key="1")},
    ],
    ids=["requeued", "array of one", "array"],
)
def test_the_waits_of_arrays_and_requeued_jobs_are_not_compared(
    job: FollowedJob, tasks: dict[str, Task]
) -> None:
    earlier(job, submit_s=START_S - 9000, started_s=START_S - 8000)
    indices = ",".join(tasks) if "" not in tasks else ""
    job.job = replace(job.job, tasks=tasks, array_indices=indices)
    assert (job.kinds(50_000), job.waits_until_s) == ([], None)


def test_without_waits_that_agree_nothing_is_looked_at_again(job: FollowedJob) -> None:
    job.job = replace(job.job, tasks={"": PENDING})
    assert (job.kinds(50_000), job.waits_until_s) == ([], None)
    assert not [*job.folder.glob("*.json")]
