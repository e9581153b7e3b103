from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.store.jobs import SCHEMA, JobStore, Unreadable
from tests.support.processes import in_a_copy
from tests.support.records import anything

JOB = WatchedJob("slurm-12-20260101T000000", 12, 100.0, name="train")


@pytest.fixture
def store(tmp_path: Path) -> JobStore:
    return JobStore(tmp_path)


def watched(store: JobStore, job_id: int, registered_s: float = 0.0, part: str = "") -> WatchedJob:
    job = WatchedJob(
        f"slurm-{job_id}-20260101T000000{part and '-' + part}", job_id, registered_s, watched_part=part
    )
    store.save(job)
    return job


@settings(suppress_health_check=list(HealthCheck), max_examples=30)
@given(anything(WatchedJob))
def test_a_saved_job_is_loaded_unchanged(tmp_path: Path, job: WatchedJob) -> None:
    store = JobStore(tmp_path)
    job = replace(job, id="x", tasks={task.key: task for task in job.tasks.values()})
    store.save(job)
    assert store.load("x") == job


def test_a_state_file_is_private_and_has_a_schema_version(store: JobStore) -> None:
    store.save(JOB)
    path = store.path(JOB.id)
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_bytes())["schema"] == SCHEMA


def test_a_job_without_settings_has_no_key_for_them(store: JobStore) -> None:
    store.save(JOB)
    assert "settings" not in json.loads(store.path(JOB.id).read_bytes())


def test_a_name_that_is_not_utf8_is_preserved(store: JobStore) -> None:
    odd = replace(JOB, workdir=os.fsdecode(b"/scratch/\xff\xfe"), name="\ud83d")
    store.save(odd)
    assert store.load(JOB.id) == odd
    store.path(JOB.id).read_text(encoding="utf-8")  # UTF-8, as other programs expect


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is damaged"),
        (b"{", "is damaged"),
        (b"\xff\xfe\x00", "is damaged"),
        (b"[" * 100_000, "is damaged"),
        (b"[]", "not a state file"),
        (b'{"id": "x"}', "not a state file"),
        (b'{"schema": "1"}', "not a state file"),
        (b'{"schema": 1}', "is damaged.*required"),
        (b'{"schema": 1, "id": "x", "job_id": "12", "taken_s": 1}', r"is damaged: \$.job_id: expected int"),
        (
            b'{"schema": 1, "id": "x", "job_id": 12, "taken_s": 1.0, "tasks": {"1": {"key": "2"}}}',
            "is damaged: a task has the key of another one",
        ),
        (b'{"schema": 2}', "was written by a newer jobmon .schema 2, this one supports 1.; use that jobmon"),
    ],
)
def test_a_damaged_file_is_reported_and_kept(store: JobStore, content: bytes, why: str) -> None:
    path = store.path("x")
    path.write_bytes(content)
    with pytest.raises(StateUnreadable, match=why) as caught:
        store.load("x")
    assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_a_copy_of_a_state_file_does_not_count_as_the_job(store: JobStore) -> None:
    store.save(JOB)
    store.path("slurm-12-copy").write_bytes(store.path(JOB.id).read_bytes())
    with pytest.raises(StateUnreadable, match="renamed or copied"):
        store.load("slurm-12-copy")
    assert store.find(JobRef(12)) == [JOB]


def test_a_missing_file_and_a_link_are_reported(store: JobStore) -> None:
    store.save(JOB)
    store.path("link").symlink_to(store.path(JOB.id))
    for name in ("missing", "link"):
        with pytest.raises(StateUnreadable, match="cannot be read"):
            store.load(name)


def test_a_state_file_of_another_user_is_reported(store: JobStore, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("another user can be acted only by root")
    store.save(JOB)
    for folder in (tmp_path, *tmp_path.parents):
        folder.chmod(folder.stat().st_mode | 0o055)

    def look() -> None:
        (entry,) = store.all()
        assert isinstance(entry, Unreadable)
        assert "Permission denied" in entry.why

    in_a_copy(look, as_nobody=True)


def test_jobs_are_listed_oldest_first(store: JobStore) -> None:
    young, old = watched(store, 8, registered_s=300.0), watched(store, 9, registered_s=100.0)
    store.save(young)
    store.save(old)
    assert list(store.all()) == [old, young]


def test_an_unreadable_file_does_not_hide_other_jobs(store: JobStore) -> None:
    job = watched(store, 8)
    store.path("bad").write_text("{")
    bad, good = store.all()
    assert isinstance(bad, Unreadable)
    assert bad.path == store.path("bad")
    assert good == job


def test_a_file_that_cannot_be_read_counts_as_watched(store: JobStore) -> None:
    ref = JobRef(12)
    assert not store.is_registered(ref, 50.0)
    store.save(replace(JOB, unwatched_s=150.0))
    assert store.is_registered(ref, 50.0)  # it was watched until recently
    assert not store.is_registered(ref, 200.0)
    text = store.path(JOB.id).read_text()
    for damaged in ("", text.replace('"schema": 1', '"schema": 99')):
        store.path(JOB.id).write_text(damaged)
        assert store.is_registered(ref, 200.0)
        assert not store.is_registered(JobRef(1), 200.0)
    store.path(JOB.id).write_text(text)
    assert not store.is_registered(ref, 200.0)


def test_temporary_files_are_not_listed_as_jobs(store: JobStore) -> None:
    (store.folder / ".slurm-8-x.json.77.tmp").write_text("{")
    assert list(store.all()) == []


def test_a_job_is_found_by_its_id_and_by_each_of_its_tasks(store: JobStore) -> None:
    array = watched(store, 12)
    watched(store, 112)
    watched(store, 13)
    for text in ("12", "12_3", "12+1"):
        assert store.find(JobRef.parse(text)) == [array]
    assert store.find(JobRef(2)) == []


def test_a_single_watched_task_is_not_found_by_its_siblings(store: JobStore) -> None:
    task = watched(store, 12, part="3")
    assert store.find(JobRef(12, task=3)) == [task]
    assert store.find(JobRef(12)) == [task]
    assert store.find(JobRef(12, task=4)) == []


def test_an_array_is_found_by_the_raw_job_id_of_a_task(store: JobStore) -> None:
    array = replace(watched(store, 12), tasks={"3": Task("3", raw_job_id=15)})
    store.save(array)
    assert store.find(JobRef(15)) == [array]


def test_of_several_jobs_with_one_id_the_newest_comes_last(store: JobStore) -> None:
    new = replace(JOB, id="slurm-12-b", registered_s=200.0)
    old = replace(JOB, id="slurm-12-a", registered_s=100.0)
    for job in (new, old):
        store.save(replace(job, id=f"{job.id}-x"))
    assert [job.registered_s for job in store.find(JobRef(12))] == [100.0, 200.0]


def test_job_ids_are_read_from_the_file_names(tmp_path: Path) -> None:
    for name in ("slurm-12-20260101T000000", "local-7-20260101T000000-3", "gpu.a-12-x", "strange-name-here"):
        (tmp_path / f"{name}.json").touch()
    (tmp_path / "config.json").touch()
    assert JobStore(tmp_path).job_ids() == {12, 7}
