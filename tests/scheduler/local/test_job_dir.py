from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.client import job_status_rows
from jobmon_core.scheduler.local.job_dir import JobDir, TaskRecord, new_task_id
from jobmon_core.scheduler.local.task_env import exported
from jobmon_core.scheduler.numbered_files import reserve_folder
from jobmon_core.system.process import ProcessId

# the files of a job of the first release
SPEC = {
    "name": "sweep",
    "command": "/w/job.sh",
    "arguments": ["a", "b"],
    "workdir": "/w",
    "stdout": "/w/slurm-%A_%a.out",
    "stderr": "/w/slurm-%A_%a.out",
    "stdin": "/dev/null",
    "append": False,
    "limit_s": None,
    "array": "1-3",
    "export": "",
    "submit_s": 1_000_000,
    "submit_dir": "/w",
    "user": "me",
    "uid": 1000,
    "kill_wait_s": 30.0,
}
OWNER = {"host": "far", "boot_id": "b", "pid_space": "pid:[1]", "pid": 77, "start_ticks": 5}
TASK = {
    "own_id": 8,
    "state": "FAILED",
    "index": 1,
    "waiting": False,
    "start_s": 1_000_001,
    "end_s": 1_000_003,
    "exit_code": 3,
    "signal": None,
    "reason": "NonZeroExitCode",
    "cancelled_by": None,
    "pid": 78,
    "start_ticks": 6,
    "stdout": "/w/slurm-7_1.out",
    "stderr": "/w/slurm-7_1.out",
    "max_rss_bytes": 1024,
    "cpu_s": 0.5,
}
CANCELLED = {
    "own_id": 7,
    "state": "CANCELLED",
    "waiting": True,
    "end_s": 1_000_009,
    "cancelled_by": 1000,
}


@pytest.fixture
def first_release(tmp_path: Path) -> JobDir:
    folder = tmp_path / "7"
    folder.mkdir()
    for name, data in (("spec", SPEC), ("owner", OWNER), ("task-1", TASK), ("rest", CANCELLED)):
        (folder / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    return JobDir(folder)


def test_a_job_of_the_first_release_is_read(first_release: JobDir) -> None:
    pending, failed = job_status_rows(first_release, ProcessId.current())
    assert (failed.raw_job_id, failed.task, failed.state, failed.exit_code) == (8, 1, "FAILED", 3)
    assert (failed.name, failed.user, failed.nodes, failed.cpu_s) == ("sweep", "me", "far", 0.5)
    assert (failed.stdout, failed.command) == ("/w/slurm-7_1.out", "/w/job.sh a b")
    assert (pending.pending_indices, pending.state, pending.cancelled_by) == ("2-3", "CANCELLED", 1000)


def test_records_keep_the_keys_of_the_first_release(first_release: JobDir) -> None:
    owner, (task,) = first_release.owner(), first_release.tasks()
    assert owner is not None
    first_release.write_owner(owner)
    first_release.write_task(task)
    written = [json.loads((first_release.path / f"{name}.json").read_text()) for name in ("owner", "task-1")]
    assert written[0] == OWNER
    assert written[1] == {key: value for key, value in TASK.items() if value not in (None, False)}


def test_a_new_job_gets_the_next_id_even_after_task_ids(tmp_path: Path) -> None:
    first = JobDir(reserve_folder(tmp_path))
    assert (first.id, new_task_id(first), JobDir(reserve_folder(tmp_path)).id) == (1, 2, 3)


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    folder = JobDir(reserve_folder(tmp_path))
    folder.write_task(TaskRecord(1, JobState.RUNNING))
    assert folder.tasks() == [TaskRecord(1, JobState.RUNNING)]
    (folder.path / "task.json").write_text("{", encoding="utf-8")
    with pytest.raises(StateUnreadable, match=r"task\.json is damaged"):
        folder.tasks()


def test_a_job_on_another_host_has_not_failed_before_its_end(tmp_path: Path) -> None:
    folder = JobDir(tmp_path)
    (tmp_path / "owner.json").write_text(json.dumps(OWNER))
    assert folder.succeeded() is None
    folder.write_task(TaskRecord(raw_job_id=7, state=JobState.COMPLETED))
    folder.mark_ended()
    assert folder.succeeded() is True


def test_a_job_whose_supervisor_ended_without_a_record_has_failed(tmp_path: Path) -> None:
    folder, this = JobDir(tmp_path), ProcessId.current()
    for ended in (replace(this, start_ticks=1), replace(this, boot_id="earlier")):
        folder.write_owner(ended)
        assert folder.succeeded() is False


@given(
    st.dictionaries(st.text(min_size=1, max_size=5), st.text(max_size=5), max_size=5), st.text(max_size=20)
)
def test_an_export_list_never_invents_a_variable(environment: dict[str, str], export: str) -> None:
    for name, value in exported(environment, export).items():
        assert environment.get(name) == value or f"{name}={value}" in export
