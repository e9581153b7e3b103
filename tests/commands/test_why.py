"""``jobmon why`` without Slurm: what jobmon remembers, and jobs that are never pending."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from jobmon_core.store.jobs import JobStore
from tests.support.job_records import PENDING, RUNNING, job_of, succeeded
from tests.support.shell import Shell


def test_a_pending_job_is_explained_by_what_jobmon_saw_if_slurm_is_silent(shell: Shell) -> None:
    job = replace(job_of(replace(PENDING, reason="JobHeldUser"), job_id=12), partition="gpu")
    JobStore(shell.state).save(job)
    done = shell.jobmon("why", "train")
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert first == "12 train: PENDING (JobHeldUser)"
    assert rest[0].startswith("  as of     Slurm is not responding (squeue: not found on PATH). This is what")
    assert rest[1:] == [
        "  why       It is held by its user.",
        "  to do     Release it with `scontrol release 12`.",
    ]
    assert shell.jobmon("diagnose", "12").stdout.splitlines()[2:] == rest[1:]


def test_json_has_the_category_and_says_what_is_missing(shell: Shell) -> None:
    job = replace(job_of(job_id=12), tasks={}, pending_indices="3-9", pending_reason="Resources")
    JobStore(shell.state).save(job)
    found = json.loads(shell.jobmon("why", "12", "--json").stdout)
    assert (found["job_id"], found["is_pending"], found["category"]) == ("12", True, "resources")
    assert (found["pending_tasks"], found["reason"]) == ("3-9", "Resources")
    assert found["unavailable"] == ["squeue: not found on PATH"]
    assert found["jobs_ahead"] is None
    assert json.loads(shell.jobmon("diagnose", "12", "--json").stdout) == found


def test_a_job_that_has_started_or_ended_is_one_sentence(shell: Shell) -> None:
    JobStore(shell.state).save(job_of(RUNNING, job_id=9))
    JobStore(shell.state).save(job_of(succeeded(), job_id=10, concluded_s=1.0))
    assert shell.jobmon("why", "9").stdout == (
        "Job 9 (train) is not pending, it is RUNNING; `jobmon diagnose 9` shows whether anything is wrong.\n"
    )
    assert shell.jobmon("why", "10").stdout == (
        "Job 10 (train) is not pending, it has ended: COMPLETED; `jobmon diagnose 10` explains how.\n"
    )
    assert json.loads(shell.jobmon("why", "10", "--json").stdout)["category"] is None


@pytest.mark.parametrize("backend", ["local", "process"])
def test_a_local_job_is_never_pending(shell: Shell, backend: str) -> None:
    JobStore(shell.state).save(replace(job_of(RUNNING, job_id=7), backend=backend, id=f"{backend}-7-x"))
    shown = shell.jobmon("why", "7").stdout
    assert "runs on this machine without a queue, so it is never pending" in shown


def test_a_name_is_not_taken_for_a_later_job_of_another_backend_with_the_same_number(shell: Shell) -> None:
    JobStore(shell.state).save(job_of(replace(PENDING, reason="JobHeldUser"), job_id=12))
    local = job_of(RUNNING, job_id=12, name="other")
    later_s = local.registered_s + 60
    JobStore(shell.state).save(replace(local, backend="local", id="local-12-x", registered_s=later_s))
    assert "It is held by its user." in shell.jobmon("why", "train").stdout
    assert "is never pending" in shell.jobmon("why", "other").stdout


def test_a_job_that_nobody_knows_is_an_error(shell: Shell) -> None:
    done = shell.jobmon("why", "4711")
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr.startswith("jobmon: Slurm is not responding, so job 4711 is not known: squeue:")
    shell.program("squeue", 'echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1')
    done = shell.jobmon("why", "4711")
    assert (done.returncode, done.stderr) == (
        1,
        "jobmon: unknown job 4711: Slurm does not know it (any more)\n",
    )


def test_status_and_show_name_the_category_for_scripts(shell: Shell) -> None:
    JobStore(shell.state).save(job_of(replace(PENDING, reason="QOSGrpCpuLimit"), job_id=12))
    JobStore(shell.state).save(job_of(RUNNING, job_id=13))
    pending, running = json.loads(shell.jobmon("status", "--json").stdout)
    assert (pending["pending_category"], pending["pending_reason"]) == ("limit", "QOSGrpCpuLimit")
    assert (running["pending_category"], running["pending_reason"]) == (None, None)


def test_without_its_configuration_slurm_is_not_asked_why_nor_for_its_version(shell: Shell) -> None:
    for program in ("squeue", "sbatch"):
        shell.program(program, "touch asked")
    conf = f"{shell.work}/slurm.conf"
    done = shell.jobmon("why", "999", SLURM_CONF=conf)
    says = f"{conf}, which $SLURM_CONF names, does not exist or cannot be read"
    assert done.returncode == 69
    assert says in done.stderr
    assert says in shell.jobmon("where", SLURM_CONF=conf).stdout
    assert not (shell.work / "asked").exists()
