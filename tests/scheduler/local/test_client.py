from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from jobmon_core.domain.slurm.log_paths import LogPaths, PathContext, expand
from jobmon_core.scheduler.base import Scheduler
from jobmon_core.scheduler.local import client
from tests.scheduler.local.harness import LocalHarness


def test_it_implements_the_scheduler_protocol(local: LocalHarness) -> None:
    scheduler: Scheduler = local.scheduler

    assert (scheduler.name, scheduler.cluster_name()) == ("local", "local")


def test_the_queue_drops_old_jobs_but_accounting_keeps_them(
    local: LocalHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = local.start("-a", "1-2", "--wrap", "exit 3")
    local.ends(job_id)

    def later(seconds: float) -> list[str]:
        monkeypatch.setattr(client, "time", SimpleNamespace(time=lambda: time.time() + seconds))
        return [row.raw_state for row in local.queue(job_id)]

    assert later(200) == ["FAILED", "FAILED"]
    assert later(400) == []
    assert [row.exit_code for row in local.accounting(job_id)] == [3, 3]


def test_an_answer_about_several_jobs_is_parsed_per_job(local: LocalHarness) -> None:
    ids = [local.start("--wrap", f"exit {code}") for code in (1, 2)]
    for job_id in ids:
        local.ends(job_id)

    reply = local.scheduler.ask_accounting([*ids, 99])

    assert isinstance(reply, str)
    assert [local.scheduler.read_accounting(reply, job_id)[0].exit_code for job_id in ids] == [1, 2]
    assert local.scheduler.read_accounting(reply, 99) == ()


def test_the_log_patterns_expand_to_the_files_that_were_written(local: LocalHarness) -> None:
    job_id = local.start("-a", "4-5", "-o", "%A/%a-%j.%x", "-J", "n%%", "--wrap", "echo $SLURM_JOB_ID")
    records = local.ends(job_id)

    templates = local.scheduler.ask_log_templates(job_id)

    assert templates == LogPaths(f"{local.work}/%A/%a-%j.%x", f"{local.work}/%A/%a-%j.%x")
    for record in records:
        assert record.raw_job_id is not None
        context = PathContext(
            record.raw_job_id, array_job_id=job_id, array_task=record.ref.task, job_name=record.name
        )
        assert expand(templates.stdout, context) == record.stdout
    assert local.scheduler.ask_log_templates(99) is None


@pytest.mark.parametrize("given_output", ["none", ""])
def test_none_and_an_empty_output_mean_the_same_as_in_slurm(local: LocalHarness, given_output: str) -> None:
    record = local.finish("-o", given_output, "--wrap", "echo lost")

    assert record.stdout == ("/dev/null" if given_output else f"{local.work}/slurm-1.out")


def test_the_monitor_is_prepared_before_the_job_starts(local: LocalHarness) -> None:
    jobs: list[list[Path]] = []
    submission = local.scheduler.submit(
        ("--wrap", "exit 0"), lambda _job: None, lambda: jobs.append([*local.root.iterdir()])
    )
    assert submission.exit_code == 0
    assert jobs == [[]]
