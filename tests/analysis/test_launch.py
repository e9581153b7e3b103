"""The launch of a job that is followed by its logs, its folders and the reports of its agent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.finding import Severity
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.messages.progress_alerts import with_progress_alerts
from jobmon_core.domain.node.launch.model import OUTPUT_FOLDER, LaunchState
from jobmon_core.domain.node.telemetry.model import AgentReport, Folder, Node, RankGroup, Sample, Worker
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.json_file import JsonFile
from jobmon_core.store.telemetry import LATEST
from tests.support.followed_job import RUNNING, START_S, FollowedJob

ALL = (0, 1, 2, 3)


@pytest.fixture
def job(tmp_path: Path) -> FollowedJob:
    return FollowedJob(tmp_path)


def launch(job: FollowedJob) -> LaunchState:
    """Return what is saved about the launch of the only task."""
    known = job.saved.tasks[""].launch
    assert known
    return known


def reported(
    job: FollowedJob, *ranks: int, node: str = "n1", folders: tuple[Folder, ...] = (), task: str = ""
) -> None:
    """Let the agent on a node report these ranks of a step with four tasks."""
    folder = job.telemetry("", task).folder / node
    folder.mkdir(parents=True, exist_ok=True)
    workers = tuple(Worker(100 + rank, "./sim", rank) for rank in ranks)
    group = RankGroup("srun", "0", 4, ranks)
    sample = Sample(job.now_s + 5, 5.0, Node(node), workers)
    report = AgentReport(sample, START_S, 5.0, ranks=(group,) if ranks else (), folders=folders)
    JsonFile(folder / LATEST, AgentReport).write(report)


def looks(job: FollowedJob, number: int, *ranks: int, **more: object) -> tuple[Event, ...]:
    """Let time pass in steps of five seconds, with a report before each look."""
    events: tuple[Event, ...] = ()
    for _ in range(number):
        reported(job, *ranks, **more)  # type: ignore[arg-type]  # of `reported`
        events = job.later(5)
    return events


def test_all_workers_of_a_step_make_one_line_and_no_message(job: FollowedJob) -> None:
    job.later(5, "step 1/100\n")
    events = looks(job, 12, *ALL)
    assert [event.text for event in events] == ["launched: 4/4 workers"]
    assert launch(job).verdict is Severity.INFO
    assert with_progress_alerts(job.job, events, job.now_s).outbox == ()
    assert looks(job, 5, 0, 1) == events, "what ends later is not about the launch"


def test_a_task_that_srun_reports_as_failed_is_named_in_one_message(job: FollowedJob) -> None:
    job.later(5, "step 1/100\nsrun: error: n1: task 3: Exited with exit code 7\n")
    events = looks(job, 40, 0, 1, 2)
    (event,) = [event for event in events if event.kind is EventKind.LAUNCH_FAILED]
    assert event.text == "launch failed, 1m after its start: only 3 of 4 workers are running"
    assert event.evidence == ("srun: error: n1: task 3: Exited with exit code 7",)
    (entry,) = with_progress_alerts(job.job, events, job.now_s).outbox
    assert entry.message.title.endswith(event.text)
    assert entry.message.headline == "The launch failed"
    assert "`jobmon logs 12`" in entry.message.advice
    events = looks(job, 1, *ALL)
    assert events[-1].kind is EventKind.RECOVERED
    assert len(with_progress_alerts(job.job, events, job.now_s).outbox) == 2


def test_a_job_that_ends_within_the_window_is_not_judged(job: FollowedJob) -> None:
    looks(job, 8, 0, 1)
    job.job = replace(job.job, tasks={"": replace(RUNNING, state=JobState.COMPLETING)})
    assert looks(job, 30, 0) == ()
    assert launch(job).verdict is Severity.PENDING


def test_nodes_that_do_not_report_leave_the_workers_unknown(job: FollowedJob) -> None:
    job.job = replace(job.job, tasks={"": replace(RUNNING, nodes="n[1-2]")})
    job.later(5, "step 1/100\n")
    assert looks(job, 40, 0, 1) == ()
    assert launch(job).verdict is Severity.UNKNOWN


def test_the_output_folder_is_judged_as_the_node_sees_it(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path, JobSettings(output_dir=str(tmp_path)))
    looks(job, 3, *ALL)
    (item,) = [item for item in launch(job).items if item.id == OUTPUT_FOLDER]
    assert item.severity is Severity.INFO, "as this host sees it"
    events = looks(job, 20, *ALL, folders=(Folder(str(tmp_path), exists=True),))
    assert events[0].text == "launch failed, 1m after its start: the output folder cannot be written"


def test_each_task_of_an_array_is_judged_and_five_messages_are_sent_at_most(job: FollowedJob) -> None:
    tasks = {str(key): replace(RUNNING, key=str(key), nodes="n1") for key in range(8)}
    settings = JobSettings(num_workers=64)  # as all tasks together have
    job.job = replace(job.job, tasks=tasks, array_indices="0-7", settings=settings)
    (job.folder / "job.out").write_text("srun: error: n1: task 3: Exited with exit code 7\n")
    events: tuple[Event, ...] = ()
    for _ in range(18):
        for key in tasks:
            reported(job, *(ALL if key == "0" else (0, 1, 2)), task=key)
        events = job.later(5)
    failed = [event for event in events if event.kind is EventKind.LAUNCH_FAILED]
    assert sorted(event.task for event in failed) == list("1234567")
    assert len(with_progress_alerts(job.job, events, job.now_s).outbox) == 5


def test_a_late_output_that_version_0_4_has_reported_is_over_once_it_comes(job: FollowedJob) -> None:
    warned = {"at_s": START_S + 60.0, "kind": "no output", "text": "started 1m ago"}
    known = {"tasks": {"": {"health": {"overdue_start_s": float(START_S)}}}, "events": [warned]}
    (job.folder / "slurm-12-x.json").write_text(json.dumps(known), encoding="utf-8")
    job.job = replace(job.job, settings=JobSettings(launch_timeout_s=60.0))
    job.now_s += 120
    assert job.kinds(30) == [EventKind.NO_OUTPUT]
    assert job.kinds(30, "loading\n") == [EventKind.NO_OUTPUT, EventKind.RECOVERED]
