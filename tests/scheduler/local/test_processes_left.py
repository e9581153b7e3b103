from __future__ import annotations

import os
import signal
import uuid
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.job.restart.model import ProcessesLeft, why_alive
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.base import BackendResources
from jobmon_core.scheduler.local.client import processes_left
from tests.scheduler.local.harness import LocalHarness
from tests.support.waiting import eventually

_STAYS = "echo $$ > script.pid; while [ ! -e go ]; do sleep 0.05; done"


@pytest.fixture
def lineage(monkeypatch: pytest.MonkeyPatch) -> str:
    lineage = uuid.uuid4().hex
    monkeypatch.setenv("JOBMON_LINEAGE", lineage)
    return lineage


def resources_of(local: LocalHarness) -> BackendResources:
    return BackendResources(lambda: local.root, lambda _ref: False, nullcontext)


def found(local: LocalHarness, job_id: int, lineage: str) -> ProcessesLeft:
    left = processes_left(resources_of(local), "", job_id, lineage)
    assert isinstance(left, ProcessesLeft)
    return left


def test_a_command_that_outlives_its_supervisor_is_found_until_it_ends(
    local: LocalHarness, lineage: str
) -> None:
    job_id = local.start("--wrap", _STAYS)
    eventually(lambda: local.says("script.pid", "\n"))
    script = int((local.work / "script.pid").read_text())
    os.kill(local.supervisor(job_id), signal.SIGKILL)
    left = found(local, job_id, lineage)
    assert script in left.pids
    assert why_alive(left).endswith((" ends it", " ends them"))  # it may be between two of its children
    assert f"kill {' '.join(map(str, left.pids))}" == left.end_command
    Path(local.work / "go").touch()
    eventually(lambda: not found(local, job_id, lineage).pids)
    assert why_alive(found(local, job_id, lineage)) == ""


def test_a_daemon_of_the_job_is_found_although_it_left_its_session(local: LocalHarness, lineage: str) -> None:
    job_id = local.start("--wrap", f"setsid sh -c '{_STAYS}' & wait")
    eventually(lambda: local.says("script.pid", "\n"))
    os.kill(local.supervisor(job_id), signal.SIGKILL)
    assert int((local.work / "script.pid").read_text()) in found(local, job_id, lineage).pids
    assert found(local, job_id, lineage[:-1]).pids == ()
    Path(local.work / "go").touch()
    eventually(lambda: not found(local, job_id, lineage).pids)


def test_an_ended_job_has_left_nothing(local: LocalHarness, lineage: str) -> None:
    job_id = local.start("--wrap", "sleep 1000 & exit 3")
    local.ends(job_id)
    eventually(lambda: not found(local, job_id, lineage).pids)


def test_another_host_cannot_tell(local: LocalHarness, lineage: str) -> None:
    job_id = local.start("--wrap", "exit 3")
    local.ends(job_id)
    folder = local.folder(job_id)
    owner = folder.owner()
    assert owner is not None
    folder.write_owner(replace(owner, host="login2", boot_id="another"))
    left = processes_left(resources_of(local), "", job_id, lineage)
    assert isinstance(left, Unreachable)
    assert why_alive(left) == (
        "it is not known whether a process of this job still runs: the job ran on login2, and only there its "
        "processes can be seen"
    )


def test_one_process_is_named_in_the_singular() -> None:
    why = "process 4242 still runs, started by this job; `ssh box kill 4242` ends it"
    assert why_alive(ProcessesLeft((4242,), "ssh box kill")) == why
