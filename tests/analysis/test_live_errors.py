"""Failures in the logs of running tasks, from look to look."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from jobmon_core.analysis.progress import ProgressState, follow_progress
from jobmon_core.domain.job.job_settings import ErrorPattern, JobSettings
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.progress.events.errors import HOLD_S
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.observe.logs.read import read_tail
from jobmon_core.store.json_file import JsonFile

START_S = 1_700_000_000
RUNNING = Task("", JobState.RUNNING, "RUNNING", start_s=START_S)
OOM = """[rank1]: Traceback (most recent call last):
[rank1]:   File "/home/me/train.py", line 88, in <module>
[rank1]:     loss = model(batch).mean()
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 1 has a total capacity
"""
HANDLED = """Traceback (most recent call last):
  File "/home/me/data.py", line 8, in load
    read(path)
ValueError: bad sample 7
"""


@dataclass
class Job:
    """A job with one log, which is looked at."""

    folder: Path
    now_s: float = START_S + 60.0
    task: Task = RUNNING
    settings: JobSettings | None = None
    user_patterns: Path | None = None
    job: WatchedJob = field(init=False)

    def __post_init__(self) -> None:
        self.job = WatchedJob(
            "slurm-7-x", 7, START_S, logs=LogPaths(str(self.log), str(self.log), source="user")
        )

    @property
    def log(self) -> Path:
        return self.folder / "train.log"

    def write(self, text: str, later_s: float = 30.0) -> list[str]:
        self.now_s += later_s
        if text:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(text)
            os.utime(self.log, (self.now_s, self.now_s))
        return [f"{event.kind}: {event.text}" for event in self.look()]

    def look(self) -> list[Event]:
        """Return the events about errors, of this look and of those before."""
        job = replace(self.job, tasks={self.task.key: self.task}, settings=self.settings)
        followed = follow_progress([job], self._record, self.now_s, self.user_patterns)[job.id]
        assert not followed.problem
        return [event for event in followed.events if EventKind.ERROR in (event.kind, event.ended)]

    def recheck_s(self) -> float | None:
        job = replace(self.job, tasks={self.task.key: self.task})
        return follow_progress([job], self._record, self.now_s)[job.id].recheck_s

    @property
    def record(self) -> ProgressState:
        return JsonFile(self._record(""), ProgressState, 2**24).read()

    def _record(self, _: str) -> Path:
        return self.folder / "progress.json"


@pytest.fixture
def job(tmp_path: Path) -> Job:
    started = Job(tmp_path)
    started.write("".join(f"step {step}/100 loss 0.5\n" for step in range(1, 11)))
    return started


def test_an_error_of_a_rank_is_reported_with_its_lines_and_what_to_do(job: Job) -> None:
    assert job.write(OOM) == []
    assert job.recheck_s() == job.now_s + HOLD_S
    assert job.write("", later_s=HOLD_S) == ["error: CUDA out of memory (tried 4.00 GiB)"]
    (event,) = job.look()
    assert (event.subject, event.is_critical) == ("cuda_oom", True)
    assert event.title == "Out of GPU memory"
    assert "torch.OutOfMemoryError" in event.evidence[-1]
    assert "batch size" in event.advice
    assert job.record.tasks[""].errors.suspect is None


def test_a_survived_error_is_not_reported(job: Job) -> None:
    job.write(HANDLED)
    job.write("step 11/100 loss 0.5\n", later_s=HOLD_S)
    assert job.write("step 12/100 loss 0.5\n") == []
    assert job.write("", later_s=600.0) == []


def test_a_reported_error_that_the_job_survives_is_withdrawn(job: Job) -> None:
    job.write(OOM)
    job.write("", later_s=HOLD_S)
    events = job.write("step 30/100 loss 0.5\n", later_s=90.0)
    assert events[1:] == ["recovered: goes on after an error: CUDA out of memory (tried 4.00 GiB)"]


def test_secrets_are_hidden(job: Job) -> None:
    job.write('Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    f()\n')
    job.write("ValueError: cannot log in with password=hunter2abc\n", later_s=1.0)
    job.write("", later_s=HOLD_S)
    (event,) = job.look()
    assert "hunter2abc" not in json.dumps([event.text, *event.evidence])


def test_what_a_log_held_before_the_job_is_no_error(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.log.write_text(OOM, encoding="utf-8")
    earlier = read_tail(str(job.log)).as_earlier_log()
    assert earlier
    job.job = replace(job.job, earlier_logs={str(job.log): earlier})
    for _ in range(3):
        assert job.write("step 1/100\n") == []


def test_a_log_that_was_last_written_before_the_start_is_not_searched(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.log.write_text(OOM, encoding="utf-8")
    os.utime(job.log, (START_S - 60, START_S - 60))
    assert [job.write("") for _ in range(3)] == [[], [], []]
    assert job.write(HANDLED) == []
    assert job.write("", later_s=HOLD_S) == ["error: ValueError: bad sample 7"]


def test_the_end_of_an_earlier_run_is_no_error_of_the_next_one(job: Job) -> None:
    with job.log.open("a", encoding="utf-8") as file:
        file.write(OOM)
    job.now_s += 600.0
    job.task = replace(RUNNING, start_s=int(job.now_s), restarts=1)
    assert [job.write("step 1/100 loss 0.7\n"), job.write("", later_s=HOLD_S)] == [[], []]


def test_an_error_in_the_log_of_a_worker_names_the_log(job: Job) -> None:
    job.settings = JobSettings(log_dir=str(job.folder), log_pattern="worker_*.log", num_workers=2)
    worker = job.folder / "worker_1.log"
    worker.write_text(OOM.replace("[rank1]: ", ""), encoding="utf-8")
    job.write("")
    assert job.write("", later_s=HOLD_S) == ["error: worker_1.log: CUDA out of memory (tried 4.00 GiB)"]


def test_patterns_of_the_job_and_of_the_user_count(job: Job, tmp_path: Path) -> None:
    job.settings = JobSettings(
        error_patterns=(ErrorPattern("solver gave up"), ErrorPattern("hot", is_warning=True))
    )
    job.write("the node is hot\n")
    assert job.write("", later_s=HOLD_S) == []
    job.write("the solver gave up at once\n")
    assert job.write("", later_s=HOLD_S) == ["error: the solver gave up at once"]
    job.user_patterns = tmp_path / "patterns.json"
    rule = {
        "id": "config_error.licence",
        "title": "No free licence",
        "severity": "error",
        "role": "root",
        "precedence": 60,
        "regex": "no licence left",
        "cause": "All are taken.",
        "advice": "Wait.",
        "examples": ["no licence left"],
        "counter_examples": [],
    }
    job.user_patterns.write_text(json.dumps({"schema_version": 1, "rules": [rule]}), encoding="utf-8")
    job.write("program: no licence left today\n")
    assert job.write("", later_s=HOLD_S)[1:] == ["error: program: no licence left today"]


def test_of_much_new_text_only_the_end_is_searched(job: Job) -> None:
    assert job.write(OOM + "line of output that says nothing\n" * 5000) == []
    assert job.recheck_s() is None


def test_a_log_that_tasks_of_an_array_share_is_not_searched(job: Job) -> None:
    tasks = {key: replace(RUNNING, key=key) for key in ("1", "2")}
    job.job = replace(job.job, array_indices="1-2")
    with job.log.open("a", encoding="utf-8") as file:
        file.write(OOM)
    shared = replace(job.job, tasks=tasks)
    for _ in range(3):
        job.now_s += 30.0
        followed = follow_progress([shared], lambda _: job.folder / "array.json", job.now_s)[shared.id]
        assert not [event for event in followed.events if event.kind is EventKind.ERROR]
