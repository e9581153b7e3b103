"""Watching a job of a service, here of a Ray cluster: at most one monitor, and ``--again``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import requests  # noqa: F401 - a helper, which is a fork, then need not load it

from jobmon_core.app.remote.watch import watch_remote
from jobmon_core.context import Context
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.errors import AlreadyReported, AlreadyWatched, UnknownJob
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.store.home import Home
from tests.support.fake_ray import FakeRay, ray_job
from tests.support.job_records import ENTRY, NOW_S, OOM, failed
from tests.support.listing_starter import ListingStarter

Watch = Callable[..., WatchedJob]


@pytest.fixture
def ray() -> Iterator[FakeRay]:
    with FakeRay() as server:
        server.jobs = [ray_job("run-1", "FAILED", driver_exit_code=3)]
        yield server


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_JOB_HEADERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # where a token may lie
    return Context(Home(tmp_path), os.environ)


@pytest.fixture
def starter(ctx: Context) -> ListingStarter:
    return ListingStarter(ctx)


@pytest.fixture
def watch(ctx: Context, starter: ListingStarter, ray: FakeRay) -> Watch:
    """Return what watches the job ``run-1`` of the cluster."""
    return partial(watch_remote, ctx, starter, "ray", ray.service, "run-1")


@pytest.fixture
def reported(ctx: Context, watch: Watch) -> WatchedJob:
    """A job that has ended and was reported, with a message that Discord has and one that it lacks."""
    sent = OutboxEntry(Message("sent", Route.ERROR, Tone.FAILURE, "run-1 failed"), delivered_s=NOW_S)
    done = replace(watch(), tasks={"": failed(diagnosis=OOM)}, outbox=(sent, ENTRY), concluded_s=NOW_S)
    ctx.store.save(done)
    return done


def test_a_job_that_is_watched_is_not_watched_twice(watch: Watch, starter: ListingStarter) -> None:
    job = watch()
    with pytest.raises(AlreadyWatched, match="run-1 is already watched as job 1"):
        watch(again=True)
    assert starter.started == [job.id]


def test_a_job_that_was_reported_is_watched_again_only_on_request(
    ctx: Context, watch: Watch, starter: ListingStarter, reported: WatchedJob
) -> None:
    with pytest.raises(AlreadyReported, match="--again analyses and reports it again") as caught:
        watch()
    assert (caught.value.state_id, starter.started) == (reported.id, [reported.id])
    job = watch(again=True)
    assert starter.started == [reported.id, reported.id]
    assert ctx.store.load(job.id) == job
    assert (job.id, job.job_id, job.closed) == (reported.id, reported.job_id, False)
    assert job.outcome is Outcome.FAILURE  # its end is proved
    assert job.tasks[""].diagnosis is None
    assert job.outbox == (ENTRY,)


def test_another_job_under_the_id_of_a_reported_one_is_watched_as_a_job_of_its_own(
    ray: FakeRay, watch: Watch, reported: WatchedJob
) -> None:
    ray.version["session_name"] = "session_2"  # the head was started anew
    ray.jobs = [ray_job("run-1", start_time=1_795_400_000_000)]
    job = watch()
    assert (reported.job_id, job.job_id) == (1, 2)
    assert job.outcome is None


def test_a_job_that_ray_does_not_know_is_not_recorded(ctx: Context, ray: FakeRay, watch: Watch) -> None:
    ray.jobs = []
    with pytest.raises(UnknownJob, match="has no job run-1; it runs none"):
        watch()
    assert list(ctx.store.all()) == []


def test_a_job_whose_monitoring_was_stopped_is_watched_again_without_again(
    ctx: Context, watch: Watch, starter: ListingStarter
) -> None:
    stopped = replace(watch(), unwatched_s=NOW_S)
    ctx.store.save(stopped)
    job = watch()
    assert (job.id, job.closed) == (stopped.id, False)
    assert starter.started == [job.id, job.id]


def test_new_settings_replace_those_of_a_job_that_is_watched_again(
    ctx: Context, watch: Watch, reported: WatchedJob
) -> None:
    settings = JobSettings(name="bert")
    ctx.store.save(replace(reported, settings=JobSettings(name="old")))
    assert watch(again=True, settings=settings).settings == settings


def test_without_new_settings_a_job_that_is_watched_again_keeps_its_own(
    ctx: Context, watch: Watch, reported: WatchedJob
) -> None:
    settings = JobSettings(name="bert")
    ctx.store.save(replace(reported, settings=settings))
    assert watch(again=True).settings == settings
