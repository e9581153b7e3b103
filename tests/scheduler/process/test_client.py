from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.job.tracking.apply_accounting import apply_accounting
from jobmon_core.domain.job.tracking.apply_queue import apply_queue
from jobmon_core.domain.job.tracking.apply_record import apply_record
from jobmon_core.domain.job.tracking.conclude import conclude
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import Disabled, JobRow, NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.process.client import ProcessGroup, ProcessScheduler, WatchedProcess
from jobmon_core.scheduler.process.find import find_process

_A_DAY_S = 86_400


@pytest.fixture
def scheduler(tmp_path: Path) -> ProcessScheduler:
    return ProcessScheduler(tmp_path)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def found(pid: int) -> WatchedProcess:
    process = find_process(pid)
    assert process is not None
    return process


def queue(scheduler: ProcessScheduler, *job_ids: int) -> tuple[JobRow, ...]:
    answer = scheduler.ask_queue("me")
    assert isinstance(answer, str)
    return scheduler.read_queue(answer, job_ids)


def test_a_process_is_listed_until_it_ends(
    scheduler: ProcessScheduler, child: subprocess.Popen[bytes]
) -> None:
    scheduler.add(ProcessGroup("train", (found(child.pid),)))
    (row,) = queue(scheduler, child.pid)
    assert (row.ref, row.state, row.raw_job_id) == (JobRef(child.pid), JobState.RUNNING, child.pid)
    assert row.start_s == row.submit_s is not None
    records = scheduler.ask_record(child.pid)
    assert isinstance(records, tuple)
    assert (records[0].name, records[0].workdir) == ("train", str(Path.cwd()))
    child.kill()
    child.wait()
    assert queue(scheduler, child.pid) == ()
    assert scheduler.ask_record(child.pid) == NotListed()


def test_a_zombie_has_ended(scheduler: ProcessScheduler, child: subprocess.Popen[bytes]) -> None:
    scheduler.add(ProcessGroup("train", (found(child.pid),)))
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert queue(scheduler, child.pid) == ()


def test_another_process_with_the_same_pid_is_not_the_watched_one(scheduler: ProcessScheduler) -> None:
    this = found(os.getpid())
    scheduler.add(ProcessGroup("train", (replace(this, id=replace(this.id, start_ticks=1)),)))
    assert queue(scheduler, os.getpid()) == ()


def test_several_processes_are_tasks_and_end_one_by_one(
    scheduler: ProcessScheduler, child: subprocess.Popen[bytes]
) -> None:
    scheduler.add(ProcessGroup("train", (found(os.getpid()), found(child.pid))))
    assert [str(row.ref) for row in queue(scheduler, os.getpid())] == [
        f"{os.getpid()}_0",
        f"{os.getpid()}_1",
    ]
    child.kill()
    child.wait()
    assert [row.ref.task for row in queue(scheduler, os.getpid())] == [0]


def test_the_processes_of_one_job_are_one_row_until_the_last_of_them_ends(
    scheduler: ProcessScheduler, child: subprocess.Popen[bytes]
) -> None:
    first = replace(found(child.pid), started_s=found(child.pid).started_s + 100)
    other = replace(first, id=replace(first.id, boot_id="another"))
    scheduler.add(ProcessGroup("train", (first, found(os.getpid()), other), is_one_job=True))
    (row,) = queue(scheduler, child.pid)
    assert (row.ref.task, row.state, row.start_s) == (None, JobState.RUNNING, found(os.getpid()).started_s)
    child.kill()
    child.wait()
    assert [row.state for row in queue(scheduler, child.pid)] == [JobState.RUNNING]
    scheduler.add(ProcessGroup("train", (first,), is_one_job=True))
    assert queue(scheduler, child.pid) == ()


@pytest.mark.parametrize(
    ("host", "state", "reason"),
    [
        (os.uname().nodename, JobState.NODE_FAIL, "the machine was restarted"),
        ("gpu7", JobState.UNKNOWN, "only gpu7 can see whether it still runs"),
    ],
)
def test_a_restart_is_a_failure_and_a_process_of_another_host_is_unknown(
    scheduler: ProcessScheduler, host: str, state: JobState, reason: str
) -> None:
    this = found(os.getpid())
    scheduler.add(ProcessGroup("train", (replace(this, id=replace(this.id, boot_id="another", host=host)),)))
    (row,) = queue(scheduler, os.getpid())
    assert (row.state, row.reason) == (state, reason)


def test_a_damaged_record_hides_no_other_process(scheduler: ProcessScheduler, tmp_path: Path) -> None:
    scheduler.add(ProcessGroup("train", (found(os.getpid()),)))
    (tmp_path / "7.json").write_text("{", encoding="utf-8")
    damaged, healthy = sorted(queue(scheduler, 7, os.getpid()), key=lambda row: row.ref.job_id)
    assert (damaged.state, healthy.state) == (JobState.UNKNOWN, JobState.RUNNING)
    assert "7.json is damaged" in damaged.reason


def test_processes_whose_record_is_damaged_are_not_considered_ended(
    scheduler: ProcessScheduler, child: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    group = ProcessGroup("train", (found(os.getpid()), found(child.pid)))
    scheduler.add(group)

    def polled(job: WatchedJob, at_s: float) -> WatchedJob:
        job = apply_queue(job, queue(scheduler, group.job_id), at_s, Policy())
        job = apply_record(job, scheduler.ask_record(group.job_id), at_s)
        return apply_accounting(job, scheduler.ask_accounting([group.job_id]), Policy(), at_s)

    job = polled(WatchedJob("process-7-x", group.job_id, 0.0, backend="process"), 1.0)
    (tmp_path / f"{group.job_id}.json").write_text("{", encoding="utf-8")
    for at_s in (1000.0, 2000.0, 1e6):
        job = polled(job, at_s)
    assert [*job.tasks] == ["0", "1"]
    assert [conclude(task, Policy(), 1e6) for task in job.tasks.values()] == [None, None]
    answer = scheduler.ask_record(group.job_id)
    assert isinstance(answer, Unreachable)
    assert answer.why.startswith(f"the record of job {group.job_id} cannot be read: ")
    scheduler.add(group)
    job = polled(job, 1e6 + 60)
    assert [(task.state, task.inquiry) for task in job.tasks.values()] == [(JobState.RUNNING, None)] * 2


def test_other_files_among_the_records_are_ignored(scheduler: ProcessScheduler, tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("{", encoding="utf-8")
    scheduler.add(ProcessGroup("train", (found(os.getpid()),)))
    assert [row.ref.job_id for row in queue(scheduler, os.getpid())] == [os.getpid()]


def test_records_of_processes_that_ended_long_ago_are_removed(
    scheduler: ProcessScheduler, tmp_path: Path
) -> None:
    this = found(os.getpid())
    for pid in (4_000_001, 4_000_002, os.getpid()):
        scheduler.add(ProcessGroup("train", (replace(this, id=replace(this.id, pid=pid)),)))
    for name in ("4000001", str(os.getpid())):
        path = tmp_path / f"{name}.json"
        old_s = path.stat().st_mtime - 2 * _A_DAY_S
        os.utime(path, (old_s, old_s))
    scheduler.add(ProcessGroup("other", (replace(this, id=replace(this.id, pid=4_000_003)),)))
    kept = {path.stem for path in tmp_path.iterdir()}
    assert kept == {"4000002", "4000003", str(os.getpid())}


def test_a_record_that_cannot_be_looked_at_does_not_prevent_another(
    scheduler: ProcessScheduler, tmp_path: Path
) -> None:
    (tmp_path / "7.json").symlink_to("missing")  # as if removed between the listing and the look
    scheduler.add(ProcessGroup("train", (found(os.getpid()),)))
    assert (tmp_path / f"{os.getpid()}.json").is_file()


def test_nothing_else_knows_a_process(scheduler: ProcessScheduler) -> None:
    assert scheduler.ask_accounting([1]) == Disabled()
    assert scheduler.read_accounting("", 1) == ()
    assert scheduler.ask_log_templates(1) is None
    assert (scheduler.script_of(1), scheduler.cluster_name()) == ("", "")
