"""Read the progress of running jobs: which tasks are followed, and what counts as a stall."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from jobmon_core.analysis.progress import ProgressState, follow_progress
from jobmon_core.domain.artifacts.model import ListedFile, Listing
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import End, Source, StateChange, Task, WatchedJob
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.store.json_file import JsonFile
from jobmon_core.store.telemetry import TaskTelemetry

START_S = 1_700_000_000
STEP_S = 30.0
END = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.QUEUE)
RUNNING = Task("", JobState.RUNNING, "RUNNING", start_s=START_S)


@dataclass
class Run:
    """A job that prints a step every 30 s, and its progress file."""

    folder: Path
    now_s: float = START_S
    step: int = 0
    settings: JobSettings | None = None

    @property
    def log(self) -> Path:
        return self.folder / "train.log"

    @property
    def record(self) -> ProgressState:
        return JsonFile(self.folder / "progress.json", ProgressState, 2**24).read()

    def telemetry(self, _job_id: str, _task: str) -> TaskTelemetry:
        return TaskTelemetry(self.folder / "telemetry")

    def print_step(self, task: Task = RUNNING) -> None:
        self.now_s += STEP_S
        self.step += 1
        with self.log.open("a") as file:
            file.write(f"step {self.step}/1000 loss 0.5\n")
        os.utime(self.log, (self.now_s, self.now_s))
        self.look(task)

    def look(self, *tasks: Task) -> tuple[Event, ...]:
        paths = LogPaths(str(self.log), str(self.log), source="user")
        job = WatchedJob("slurm-7-x", 7, START_S, tasks={task.key: task for task in tasks}, logs=paths)
        job = replace(job, settings=self.settings)
        file = self.folder / "progress.json"
        return follow_progress([job], lambda _: file, self.now_s, telemetry_of=self.telemetry)[job.id].events

    def problems(self, task: Task) -> list[EventKind]:
        return [event.kind for event in self.look(task) if event.kind is not EventKind.RESTARTED]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    started = Run(tmp_path)
    for _ in range(10):
        started.print_step()
    return started


def test_a_running_job_that_prints_nothing_has_stalled(run: Run) -> None:
    run.now_s += 3600.0
    assert run.problems(RUNNING) == [EventKind.STALLED]


@pytest.mark.parametrize("state", [JobState.SUSPENDED, JobState.STOPPED, JobState.PENDING])
def test_a_job_that_may_not_run_has_not_stalled(run: Run, state: JobState) -> None:
    run.now_s += 3600.0
    assert run.problems(replace(RUNNING, state=state, raw_state=state.value)) == []


def test_a_job_has_not_stalled_while_it_was_suspended(run: Run) -> None:
    run.now_s += 3600.0
    resumed = replace(RUNNING, history=(StateChange("RUNNING", run.now_s),))
    run.now_s += 60.0
    assert run.problems(resumed) == []
    run.now_s += 600.0
    assert run.problems(resumed) == [EventKind.STALLED]


def test_the_wait_of_a_requeued_job_is_no_pause_of_its_next_run(run: Run) -> None:
    run.now_s += 3600.0
    requeued = replace(RUNNING, start_s=int(run.now_s), restarts=1)
    run.now_s += 60.0
    assert run.problems(requeued) == []
    for _ in range(10):
        run.print_step(requeued)
    assert run.record.tasks[""].history.longest_pause_s == STEP_S
    run.now_s += 600.0
    assert run.problems(requeued) == [EventKind.STALLED]


def test_the_tasks_of_a_large_array_are_followed_in_turn(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.log.write_text("step 5/1000\n")

    def array(running: range) -> list[Task]:
        ended = [replace(RUNNING, key=str(key), end=END) for key in range(running.start)]
        return ended + [replace(RUNNING, key=str(key)) for key in running]

    for first in range(0, 200, 20):
        run.look(*array(range(first, first + 20)))
        assert {str(key) for key in range(first, first + 20)} <= run.record.tasks.keys()
    assert len(run.record.tasks) <= 64
    assert sum(task.reader is not None for task in run.record.tasks.values()) <= 32


def test_an_invalid_pattern_of_one_job_does_not_affect_the_others(run: Run) -> None:
    settings = JobSettings(progress_patterns={"step": "step ("})
    faulty = WatchedJob("slurm-8-x", 8, START_S, tasks={"": RUNNING}, settings=settings)
    healthy = WatchedJob("slurm-9-x", 9, START_S, tasks={"": RUNNING}, logs=LogPaths(str(run.log)))
    found = follow_progress([faulty, healthy], lambda name: run.folder / f"{name}.json", run.now_s)
    assert "progress_patterns.step" in found[faulty.id].problem
    assert found[healthy.id].problem == ""
    record = JsonFile(run.folder / "slurm-9-x.json", ProgressState, 2**24).read()
    assert record.tasks[""].progress is not None


def test_the_milestones_of_other_tasks_do_not_hide_a_stall(run: Run) -> None:
    run.now_s += 3600.0
    run.look(RUNNING)
    file = JsonFile(run.folder / "progress.json", ProgressState, 2**24)
    milestones = tuple(Event(run.now_s, EventKind.MILESTONE, "25% done", str(task)) for task in range(300))
    file.write(replace(run.record, events=run.record.events + milestones))
    run.step = 700
    run.log.write_text("step 700/1000 loss 0.5\n")
    os.utime(run.log, (run.now_s, run.now_s))
    kinds = [event.kind for event in run.look(RUNNING)]
    assert EventKind.STALLED in kinds
    assert kinds.count(EventKind.MILESTONE) == 30


def test_the_last_count_of_a_run_that_ended_needs_no_end_of_line(run: Run) -> None:
    with run.log.open("a") as file:
        file.write("step 1000/1000")
    os.utime(run.log, (run.now_s, run.now_s))
    run.look(RUNNING)
    run.look(replace(RUNNING, state=JobState.COMPLETED, raw_state="COMPLETED", end=END))
    progress = run.record.tasks[""].progress
    assert progress
    assert progress.current == 1000


@pytest.mark.parametrize("total", [5000, None])
def test_a_run_that_no_look_saw_is_read_at_its_end_if_the_user_named_its_total(
    tmp_path: Path, total: int | None
) -> None:
    run = Run(tmp_path, settings=JobSettings(total_items=total))
    run.log.write_text("step 900/1000\n")
    run.look(replace(RUNNING, state=JobState.COMPLETED, raw_state="COMPLETED", end=END))
    assert bool(run.record.tasks) == (total is not None)


def test_what_a_run_prints_while_it_completes_is_read(run: Run) -> None:
    completing = replace(RUNNING, state=JobState.COMPLETING, raw_state="COMPLETING")
    run.look(completing)
    run.print_step(completing)
    progress = run.record.tasks[""].progress
    assert progress
    assert progress.current == 11


def test_the_total_of_a_log_without_one_is_that_of_its_newest_checkpoint(run: Run) -> None:
    run.log.write_text("step 700 loss 0.5\n", encoding="utf-8")
    checkpoint = run.folder / "out" / "checkpoint-500"
    checkpoint.mkdir(parents=True)
    state = '{"global_step": 500, "max_steps": 2000, "log_history": []}'
    (checkpoint / "trainer_state.json").write_text(state, encoding="utf-8")
    settings = JobSettings(output_dir=str(run.folder / "out"))
    logs = LogPaths(str(run.log), str(run.log), source="user")
    job = WatchedJob("slurm-7-x", 7, START_S, tasks={"": RUNNING}, logs=logs, settings=settings)
    file = JsonFile(run.folder / "other.json", ProgressState, 2**24)
    for saved_s, total in ((START_S - 60, None), (START_S + 60, 2000)):
        os.utime(checkpoint, (saved_s, saved_s))
        follow_progress([job], lambda _: file.path, run.now_s)
        progress = file.read().tasks[""].progress
        assert progress
        assert progress.total == total


def test_the_outputs_of_a_job_on_another_machine_are_never_looked_for_here(run: Run) -> None:
    """A folder here may have the same name."""
    out = run.folder / "out"
    out.mkdir()
    (out / "part1").write_text("of another job")
    run.log.write_text(f"Saving model checkpoint to {out}\nstep 5/1000\n")
    job = WatchedJob("ssh-8-x", 8, START_S, workdir="/", tasks={"": RUNNING}, logs=LogPaths(str(run.log)))
    listing = Listing("out", (ListedFile("part9", 10, run.now_s),), count=2000, size_bytes=10**6)

    def counts(*listings: Listing, is_elsewhere: bool = True) -> list[tuple[int, int]]:
        found = listings if is_elsewhere else None
        follow_progress(
            [job], lambda name: run.folder / f"{name}.json", run.now_s, files_elsewhere=lambda _: found
        )
        record = JsonFile(run.folder / "ssh-8-x.json", ProgressState, 2**24).read()
        outputs = [each.outputs for each in record.artifacts.values() if each.outputs]
        return [(each.count, each.total.size_bytes) for each in outputs]

    assert (counts(), counts(listing), counts()) == ([], [(2000, 10**6)], [])
    assert counts(is_elsewhere=False) == [(1, 14)]


def test_a_progress_file_of_version_0_8_is_read(run: Run) -> None:
    """It kept what is known of a task in five dictionaries."""
    file, before = run.folder / "progress.json", run.record
    data = json.loads(file.read_text())
    parts = {"launch": "launches", "triage": "triage", "reader": "readers", "errors": "errors"}
    for new, old in parts.items():
        data[old] = {key: task.pop(new) for key, task in data["tasks"].items() if new in task}
    assert data["launches"].keys() == data["readers"].keys() == data["errors"].keys() == {""}
    file.write_text(json.dumps(data))
    assert run.record == before
