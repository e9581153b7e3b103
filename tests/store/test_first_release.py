"""State files that the first release wrote; tests/recordings/first-release/ has them as they were written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobmon_core.domain.channels import Tone
from jobmon_core.domain.delivery.outbox import Field
from jobmon_core.domain.job.tracking.model import AccountingStatus, Source, WatchedJob
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.jobs import JobStore, Unreadable

FILES = Path(__file__).parents[1] / "recordings" / "first-release"
RICH = "c1-12-20261122T100000"  # every field has another value than its default


@pytest.fixture
def rich() -> WatchedJob:
    return JobStore(FILES).load(RICH)


def test_every_file_is_readable() -> None:
    jobs = list(JobStore(FILES).all())
    assert len(jobs) == 4
    assert not [job for job in jobs if isinstance(job, Unreadable)]


@pytest.mark.parametrize("path", sorted(FILES.glob("*.json")), ids=lambda path: path.stem)
def test_saving_writes_every_value_back_under_the_same_key(path: Path, tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    store.save(JobStore(FILES).load(path.stem))
    written, original = (json.loads(each.read_bytes()) for each in (store.path(path.stem), path))
    assert _common(written, original) == original


def _common(written: object, original: object) -> object:
    """Return ``written`` without the keys that later releases added."""
    if isinstance(written, dict) and isinstance(original, dict):
        return {key: _common(written[key], original[key]) for key in original if key in written}
    if isinstance(written, list) and isinstance(original, list) and len(written) == len(original):
        return [_common(*pair) for pair in zip(written, original, strict=True)]
    return written


def test_renamed_fields_of_a_job_keep_their_values(rich: WatchedJob) -> None:
    assert rich.registered_s == 1795246999.5
    assert rich.watched_part == "3"
    assert rich.array_indices == "1-9:2"
    assert rich.pending_indices == "5-9:2"
    assert rich.pending_reason == "Priority"
    assert rich.alerted == (":JobHeld",)
    assert rich.unwatched_s == 1795249999.0
    assert rich.logs.source == "Slurm"


def test_renamed_fields_of_a_task_keep_their_values(rich: WatchedJob) -> None:
    task = rich.tasks["4"]
    assert (task.raw_state, task.raw_job_id) == ("CANCELLED by 1000", 16)
    assert [change.state for change in task.history] == ["PENDING", "RUNNING"]
    assert task.end is not None
    assert (task.end.raw_state, task.end.source) == ("CANCELLED by 1000", Source.ACCOUNTING)
    assert task.diagnosis is not None
    assert task.diagnosis.evidence[0].text == "CUDA out of memory"


def test_renamed_fields_of_an_inquiry_keep_their_values(rich: WatchedJob) -> None:
    inquiry = rich.tasks["3"].inquiry
    assert inquiry is not None
    assert (inquiry.queue_state, inquiry.queue_raw_state) == (JobState.FAILED, "FAILED")
    assert inquiry.accounting is AccountingStatus.NO_RECORD
    assert inquiry.accounting_error == "sacct: no answer"
    assert (inquiry.attempts, inquiry.next_query_s) == (2, 1795249010.0)
    assert (inquiry.remaining_state, inquiry.remaining_raw_state) == (JobState.CANCELLED, "CANCELLED by 0")
    assert inquiry.array_listed
    assert inquiry.accounting_is_fresh
    for row in (inquiry.record, inquiry.row):
        assert row is not None
        assert (row.raw_state, row.raw_job_id) == ("FAILED", 15)
        assert row.pending_indices is not None
        assert 7 in row.pending_indices


def test_renamed_fields_of_the_outbox_keep_their_values(rich: WatchedJob) -> None:
    entry = rich.outbox[0]
    assert entry.unconfirmed_attempts == 2
    assert entry.message.tone is Tone.RESOLVED
    assert entry.message.fields == (Field("Job", "12 train"), Field("Ended", at_s=1795249000))
    assert entry.message.created_s == 1795249003
