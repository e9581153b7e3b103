from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.client import LocalScheduler
from jobmon_core.system.process import ProcessId, ProcessStatus
from tests.scheduler.local.harness import LocalHarness
from tests.support.waiting import eventually

_STAYS = "echo up; while [ ! -e go ]; do sleep 0.05; done; exit 4"


def _elsewhere(local: LocalHarness, change: Callable[[ProcessId], ProcessId]) -> LocalHarness:
    """Return the same jobs, as another process sees them."""
    scheduler = LocalScheduler(local.root, observer=lambda: change(ProcessId.current()))
    return replace(local, scheduler=scheduler)


def _after_reboot(local: LocalHarness) -> LocalHarness:
    return _elsewhere(local, lambda process: replace(process, boot_id="another"))


def test_after_a_reboot_unfinished_tasks_are_node_fail(local: LocalHarness) -> None:
    done = local.start("--wrap", "exit 5")
    local.ends(done)
    job_id = local.start("-a", "1-3", "--wrap", _STAYS)
    eventually(lambda: local.says(f"slurm-{job_id}_1.out", "up"))
    eventually(lambda: len(local.queue(job_id)) == 2)

    later = _after_reboot(local)

    assert {row.state for row in later.queue(job_id)} == {JobState.NODE_FAIL}
    rows = later.accounting(job_id)
    assert {row.reason for row in rows} == {"the machine was restarted"}
    assert [str(row.pending_indices) for row in rows if row.pending_indices is not None] == ["2-3"]
    assert later.records(done)[0].exit_code == 5


def test_on_another_machine_the_state_of_a_job_is_unknown(local: LocalHarness) -> None:
    job_id = local.start("--wrap", _STAYS)
    eventually(lambda: local.records(job_id)[0].state is JobState.RUNNING)

    for change in (
        lambda process: replace(process, boot_id="another", host="far"),
        lambda process: replace(process, pid_namespace="a container's"),
    ):
        (row,) = _elsewhere(local, change).queue(job_id)
        assert row.state is JobState.UNKNOWN
        assert row.reason == f"it runs on {os.uname().nodename}, where alone its status is known"


def test_a_reused_pid_is_not_the_supervisor(local: LocalHarness) -> None:
    job_id = local.start("--wrap", _STAYS)
    eventually(lambda: local.records(job_id)[0].state is JobState.RUNNING)
    supervisor = local.folder(job_id).owner()
    assert supervisor is not None

    current = ProcessId.current()
    assert supervisor.status(current) is ProcessStatus.RUNNING
    reused = replace(supervisor, start_ticks=supervisor.start_ticks - 1)
    assert reused.status(current) is ProcessStatus.EXITED


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"name": 3}', '{"unheard-of": 1}', "\0\xff", "[" * 100_000]
)
@pytest.mark.parametrize("name", ["spec.json", "owner.json", "task.json"])
def test_a_damaged_record_is_unknown_and_affects_no_other_job(
    local: LocalHarness, name: str, damage: str
) -> None:
    good = local.start("--wrap", "true")
    local.ends(good)
    job_id = local.start("--wrap", "true")
    local.ends(job_id)
    (local.folder(job_id).path / name).write_text(damage, encoding="utf-8")

    (row,) = local.queue(job_id)

    assert row.state is JobState.UNKNOWN
    assert name in row.reason
    assert local.queue(good)[0].state is JobState.COMPLETED


def test_an_interrupted_submission_is_not_a_job(local: LocalHarness) -> None:
    (local.root / "1").mkdir()
    done = local.start("--wrap", "true")
    local.ends(done)
    (local.folder(done).path / "owner.json").unlink()

    assert local.is_unknown(1)
    assert local.is_unknown(done)
    assert (local.queue(1), local.queue(done)) == ((), ())
