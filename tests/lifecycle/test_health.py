from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.lifecycle.health import Health, JobStatus, job_status, job_statuses, list_jobs
from jobmon_core.store.home import Home
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.owner import STALE_AFTER_S, Owner

JOB = WatchedJob("slurm-12-x", 12, 100.0)
PENDING = OutboxEntry(Message("m1", Route.ERROR, Tone.FAILURE, "it failed"))
ELSEWHERE = replace(Owner.this_process(), host="another-login-node")
REBOOTED = replace(Owner.this_process(), boot_id="another")


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    return Context(Home(tmp_path), {})


def health(ctx: Context, job: WatchedJob = JOB, owner: Owner | None = None, silent_s: float = 0.0) -> Health:
    if owner is not None:
        record = ctx.owner_record(job.id)
        record.write(owner)
        os.utime(record.path, (0, time.time() - silent_s))
    return job_status(ctx, job).health


def test_a_job_whose_monitor_runs_is_watched(ctx: Context) -> None:
    assert health(ctx, owner=Owner.this_process(), silent_s=10 * STALE_AFTER_S) is Health.ALIVE


@pytest.mark.parametrize("owner", [None, REBOOTED])
def test_an_unfinished_job_without_a_monitor_is_dead(ctx: Context, owner: Owner | None) -> None:
    assert health(ctx, owner=owner) is Health.DEAD


def test_a_monitor_on_another_host_is_alive_while_its_heartbeat_is_recent(ctx: Context) -> None:
    assert health(ctx, owner=ELSEWHERE) is Health.REMOTE
    assert health(ctx, owner=ELSEWHERE, silent_s=STALE_AFTER_S + 1) is Health.STALE


def test_jobs_that_one_monitor_watches_differ_by_their_own_heartbeats_on_another_host(ctx: Context) -> None:
    silent_s = {12: 0.0, 13: STALE_AFTER_S + 1, 14: 0.0}
    jobs = [replace(JOB, id=f"slurm-{number}-x", job_id=number) for number in silent_s]
    expected = [health(ctx, job, ELSEWHERE, silent_s[job.job_id]) for job in jobs]
    assert expected == [Health.REMOTE, Health.STALE, Health.REMOTE]
    assert [each.health for each in job_statuses(ctx, jobs)] == expected


def test_a_job_whose_messages_are_delivered_finished(ctx: Context) -> None:
    delivered = replace(JOB, concluded_s=200.0, outbox=(replace(PENDING, delivered_s=201.0),))
    assert health(ctx, delivered) is Health.DONE
    assert health(ctx, replace(delivered, outbox=(replace(PENDING, given_up="404"),))) is Health.DONE


def test_an_ended_job_with_pending_messages_needs_its_monitor(ctx: Context) -> None:
    assert health(ctx, replace(JOB, concluded_s=200.0, outbox=(PENDING,)), REBOOTED) is Health.DEAD


def test_a_cancelled_job_finished_even_with_pending_messages(ctx: Context) -> None:
    assert health(ctx, replace(JOB, unwatched_s=200.0, outbox=(PENDING,))) is Health.DONE


def test_unreadable_files_are_listed_first_and_then_all_jobs_oldest_first(ctx: Context) -> None:
    young, old = replace(JOB, id="a", registered_s=300.0), replace(JOB, id="b", registered_s=100.0)
    for job in (young, old):
        ctx.store.save(job)
    ctx.store.path("c").write_text("{", encoding="ascii")
    bad, *good = list_jobs(ctx)
    assert isinstance(bad, Unreadable)
    assert good == [JobStatus(old, Health.DEAD), JobStatus(young, Health.DEAD)]


def test_the_status_is_known_without_a_scheduler(ctx: Context) -> None:
    ctx.store.save(replace(JOB, backend="of a later jobmon"))
    (found,) = list_jobs(ctx)
    assert isinstance(found, JobStatus)
