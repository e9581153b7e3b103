"""The monitor judges what agents measured: each verdict once, withdrawn when it is over."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.triage import errors_of_steps, take_stacks
from jobmon_core.domain.channels import Level
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.messages.progress_alerts import with_progress_alerts
from jobmon_core.domain.node.telemetry.model import AgentReport, Notice, Sample, WorkerStatus
from jobmon_core.domain.node.triage.stacks import Stack, Stacks
from jobmon_core.domain.node.triage.state import Thresholds
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.observe.patterns.xids import xid_errors
from jobmon_core.store.telemetry import HISTORY, LATEST, TaskTelemetry
from jobmon_core.system.json_codec import to_json
from tests.support.followed_job import START_S, FollowedJob
from tests.support.situations import gpu, sample, worker

STARVED = sample([worker(0, 150.0)], [gpu(0, 5.0)])
BUSY = sample([worker(0, 150.0)], [gpu(0, 95.0)])
IDLE = sample([worker(0, 0.3), worker(1, 0.3)])


class MeasuredJob(FollowedJob):
    """A job on whose node an agent reports once a minute."""

    step = 0

    def measured(self, measures: Sample, minutes: int, *, steps: bool = True) -> list[Event]:
        """Let some minutes pass; return the latest verdicts and what withdrew them."""
        events: tuple[Event, ...] = ()
        folder = self.folder / "telemetry" / "job" / "n1"
        folder.mkdir(parents=True, exist_ok=True)
        for _ in range(minutes):
            self.step += 1
            taken = replace(measures, at_s=self.now_s + 60, span_s=60.0)
            with (folder / HISTORY).open("a") as file:
                file.write(json.dumps(to_json(taken)) + "\n")
            (folder / LATEST).write_text(json.dumps(to_json(AgentReport(taken, START_S, 5.0))))
            events = self.later(60, f"step {self.step}/9000\n" if steps else "")
        return [event for event in events if event.subject]


def texts(events: list[Event]) -> list[str]:
    return [f"{event.kind}: {event.subject}" for event in events]


def test_a_verdict_is_reported_once_and_withdrawn_when_it_is_over(tmp_path: Path) -> None:
    job = MeasuredJob(tmp_path)
    assert job.measured(STARVED, 14) == []
    assert texts(job.measured(STARVED, 20)) == ["trouble: data-loading"]
    over = job.measured(BUSY, 30)
    assert texts(over) == ["trouble: data-loading", "recovered: data-loading"]
    assert over[1].text.startswith("data loading: no longer, for ")
    again = job.measured(STARVED, 20)
    assert [event.is_quiet for event in again] == [False, False, True]


def test_the_message_has_the_verdict_the_figures_and_the_advice(tmp_path: Path) -> None:
    job = MeasuredJob(tmp_path)
    events = job.measured(STARVED, 30)
    (entry,) = with_progress_alerts(job.job, events, job.now_s).outbox
    assert entry.message.headline == "The GPUs wait for data"
    assert entry.message.title == "job (12): its GPUs are busy 5% of the time: they wait for data"
    assert entry.message.evidence[0] == "GPUs: busy 5% over the last 10m, while the steps advance"
    assert "num_workers" in entry.message.advice


def test_a_notice_of_a_cloud_is_told_at_the_next_look_and_once(tmp_path: Path) -> None:
    job = MeasuredJob(tmp_path)
    job.measured(sample(), 5)
    latest = tmp_path / "telemetry" / "job" / "n1" / LATEST
    report = AgentReport(replace(sample(), at_s=job.now_s), START_S, 5.0)

    def reported(notice: Notice | None) -> list[Event]:
        latest.write_text(json.dumps(to_json(replace(report, notice=notice))))
        return [event for event in job.later(3) if event.subject]

    notice = Notice("AWS", "terminate", job.now_s + 120, seen_s=job.now_s)
    assert reported(replace(notice, seen_s=START_S - 60.0)) == []  # about an earlier run
    (event,) = reported(notice)
    (entry,) = with_progress_alerts(job.job, [event], job.now_s).outbox
    ends_at = time.strftime("%H:%M:%S", time.localtime(job.now_s + 114))
    assert entry.message.title == f"job (12): its node n1 ends at {ends_at}"
    assert entry.message.level is Level.CRITICAL
    assert entry.message.evidence == (f"n1: AWS announces terminate at {ends_at}",)
    assert reported(notice) == [event]
    reported(None)
    told = [each.kind for each in job.measured(sample(), 15) if each.subject == "node-ends"]
    assert told == [EventKind.TROUBLE, EventKind.RECOVERED]


def test_what_is_only_shown_sends_no_message(tmp_path: Path) -> None:
    job = MeasuredJob(tmp_path)
    zombies = replace(BUSY, workers=(worker(0, 150.0, zombies=2),))
    events = job.measured(zombies, 20)
    assert texts(events) == ["trouble: zombie-workers"]
    assert with_progress_alerts(job.job, events, job.now_s).outbox == ()


def test_what_was_only_shown_is_reported_when_it_becomes_critical(tmp_path: Path) -> None:
    job = MeasuredJob(tmp_path)
    alive = [replace(worker(number), rank=None) for number in range(2)]
    ended = replace(worker(2, 0, status=WorkerStatus.DEAD, is_pooled=True), rank=None)
    job.measured(sample(alive), 20)
    job.measured(sample([*alive, ended]), 10)
    job.measured(sample([*alive, ended]), 30, steps=False)
    events = [event for event in job.saved.events if event.subject == "dead-worker"]
    assert [(event.is_critical, event.is_quiet) for event in events] == [(False, True), (True, False)]


def test_a_standstill_that_is_explained_sends_one_message(tmp_path: Path) -> None:
    job = MeasuredJob(tmp_path)
    job.measured(sample(), 20)
    job.measured(IDLE, 40, steps=False)
    (entry,) = with_progress_alerts(job.job, job.saved.events, job.now_s).outbox
    assert entry.message.headline == "All processes are idle"
    assert "no progress for" in entry.message.title
    assert "--stacks" in entry.message.advice
    assert any(line.startswith("CPU:") for line in entry.message.evidence)


def test_the_verdicts_of_a_run_do_not_outlive_it(tmp_path: Path) -> None:
    job = MeasuredJob(tmp_path)
    dead = sample([worker(0), worker(1, 0, status=WorkerStatus.DEAD)])
    job.measured(dead, 20)
    assert job.saved.tasks[""].triage.held.keys() == {"dead-worker"}
    again = replace(job.job.tasks[""], start_s=int(job.now_s))
    job.job = replace(job.job, tasks={"": again})
    job.measured(sample(), 10)
    assert job.saved.tasks[""].triage.held == {}


def test_the_job_configuration_sets_when_a_verdict_is_due(tmp_path: Path) -> None:
    quick = Thresholds(must_last_s=60, startup_s=1, gpu_low_percent=10)
    job = MeasuredJob(tmp_path, JobSettings(thresholds=quick))
    assert texts(job.measured(STARVED, 4)) == ["trouble: data-loading"]
    tolerant = MeasuredJob(tmp_path / "b", JobSettings(thresholds=replace(quick, gpu_low_percent=4)))
    (tmp_path / "b").mkdir()
    assert tolerant.measured(STARVED, 4) == []


def test_the_progress_file_of_a_job_without_agent_stays_as_it_is(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path)
    job.later(30, "step 1/100\n")
    before = job.saved
    job.later(60)
    assert job.saved == before


def test_the_shipped_errors_of_the_driver_say_what_to_do() -> None:
    errors = xid_errors()
    assert errors[79].title == "the GPU has fallen off the bus"
    assert all(error.title and error.advice.endswith(".") for error in errors.values())


def wanted(job: MeasuredJob) -> Path:
    return job.telemetry("", "").stall_folder / "wanted"


def answer(job: MeasuredJob, *places: str) -> None:
    frames = 'Thread 1 (idle): "MainThread"\n    {} (train.py:9)\n'
    stacks = tuple(Stack("n1", 100 + i, i, text=frames.format(place)) for i, place in enumerate(places))
    file = job.telemetry("", "").stall_folder / "n1.json"
    file.write_text(json.dumps(to_json(Stacks(stacks))))


def test_at_a_stall_the_agents_are_asked_once_which_rank_did_not_arrive(tmp_path: Path) -> None:
    job = MeasuredJob(tmp_path, JobSettings(stacks_on_stall=True))
    job.measured(sample(), 20)
    assert not wanted(job).exists()
    job.measured(sample(), 60, steps=False)
    asked_ns = wanted(job).stat().st_mtime_ns
    answer(job, "all_reduce", "all_reduce", "load_batch")
    event = job.measured(sample(), 5, steps=False)[-1]
    assert (event.subject, event.is_critical) == ("stacks-at-stall", True)
    assert event.text.startswith("no progress; rank 2 did not arrive: it is at load_batch (train.py:9)")
    assert event.evidence[0] == "rank 2 on n1: load_batch (train.py:9)"
    assert wanted(job).stat().st_mtime_ns == asked_ns
    assert texts(job.measured(sample(), 30))[-1] == "recovered: stacks-at-stall"
    job.measured(sample(), 200, steps=False)
    assert wanted(job).stat().st_mtime_ns > asked_ns


def test_nobody_is_asked_for_stacks_without_the_setting(tmp_path: Path) -> None:
    job = MeasuredJob(tmp_path)
    job.measured(sample(), 20)
    assert job.measured(sample(), 60, steps=False) is not None
    assert not wanted(job).exists()


def test_why_there_are_no_stacks_is_only_shown(tmp_path: Path) -> None:
    job = MeasuredJob(tmp_path, JobSettings(stacks_on_stall=True))
    job.measured(sample(), 20)
    job.measured(sample(), 60, steps=False)
    file = job.telemetry("", "").stall_folder / "n1.json"
    file.write_text(json.dumps(to_json(Stacks(problems=("n1: py-spy is not installed",)))))
    event = job.measured(sample(), 5, steps=False)[-1]
    assert (event.subject, event.is_quiet) == ("stacks-at-stall", True)
    assert "py-spy is not installed" in event.text


def test_what_srun_printed_for_an_earlier_run_in_the_same_log_does_not_count(tmp_path: Path) -> None:
    log = tmp_path / "shared.out"
    earlier = "srun: error: n1: task 2: Exited with exit code 7"
    log.write_text(f"{earlier}\nsrun: error: n1: task 3: Killed\n")
    known = LogExcerpt(str(log), (earlier,)).as_earlier_log()
    assert known is not None
    job = WatchedJob("slurm-12-x", 12, 0.0, logs=LogPaths(str(log), str(log), BY_USER))
    assert sorted(errors_of_steps(job, Task(""))) == [2, 3]
    told = WatchedJob("slurm-12-x", 12, 0.0, logs=job.logs, earlier_logs={str(log): known})
    assert sorted(errors_of_steps(told, Task(""))) == [3]


def test_a_folder_for_stacks_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "job").touch()  # a file in the place of the folder
    with pytest.raises(StorageFailed, match="job"):
        take_stacks(WatchedJob("a", 12, 100.0, backend="local"), Task(""), TaskTelemetry(tmp_path / "job"))


def test_without_a_report_of_an_agent_the_processes_are_not_known(tmp_path: Path) -> None:
    telemetry = TaskTelemetry(tmp_path / "new" / "job")
    report = take_stacks(WatchedJob("a", 12, 100.0, backend="local"), Task(""), telemetry)
    assert report.problems == ("its processes are not known: no agent has reported any",)
