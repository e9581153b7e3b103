from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.jobs.overview import overview
from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.many.groups.model import Group, GroupSettings, Member
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.home import Home
from jobmon_core.store.owner import Owner
from jobmon_core.store.shared_answers import SharedAnswer, StoredAnswer
from tests.support.job_records import PENDING, RUNNING, job_of

NOW_S = time.time()
JOB = replace(job_of(RUNNING), registered_s=NOW_S - 900, user="me", cluster="big", answered_s=NOW_S - 250)

LISTED = f"12|12|12|N/A|RUNNING|{NOW_S - 300:.0f}|NONE|{NOW_S - 300:.0f}|UNLIMITED|n1|None\n"


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    return Context(Home(tmp_path), {})


def answered(ctx: Context, seconds_ago: float, text: str = LISTED, problem: str = "", host: str = "") -> None:
    """Write the shared answer of squeue."""
    queue_file(ctx, host=host).write(StoredAnswer(NOW_S - seconds_ago, text, problem))


def queue_file(ctx: Context, cluster: str = "", host: str = "") -> SharedAnswer:
    return ctx.shared_answer("queue", "slurm", cluster, "me", host=host)


def shown(ctx: Context, job: WatchedJob = JOB, owner: Owner | None = None) -> float | None:
    """Return the age of the job's data in seconds, as far as it is worth showing."""
    ctx.store.save(job)
    ctx.owner_record(job.id).write(owner or Owner.this_process())
    known = overview(ctx)
    age_s = known.age_s(known.jobs[0].job, NOW_S)
    return None if age_s is None else round(age_s)


def test_the_latest_answer_of_the_host_makes_a_watched_job_fresh(ctx: Context) -> None:
    assert shown(ctx) == 250
    answered(ctx, 5)
    assert shown(ctx) is None
    answered(ctx, 42)
    assert shown(ctx) == 42


def test_the_data_of_a_member_of_a_group_may_be_as_old_as_the_interval_of_the_group(ctx: Context) -> None:
    settings = GroupSettings(interval_s=600.0)
    ctx.groups.create(Group("sweep", NOW_S, settings, members={"a": Member(state_id=JOB.id)}))
    assert shown(ctx) is None
    assert shown(ctx, replace(JOB, answered_s=NOW_S - 620)) == 620


def test_the_state_is_that_of_the_latest_answer_too(ctx: Context) -> None:
    pending = replace(JOB, tasks={"": PENDING})
    assert shown(ctx, pending) == 250
    answered(ctx, 5)
    assert overview(ctx).jobs[0].job.tasks[""].state is JobState.RUNNING
    answered(ctx, 4, text=LISTED.replace("RUNNING", "FAILED"))
    assert overview(ctx).jobs[0].job.tasks[""].inquiry is not None
    assert ctx.store.load(JOB.id).tasks[""].state is JobState.PENDING, (
        "a command does not change what is saved"
    )


def test_the_answer_of_another_cluster_says_nothing_about_a_job(ctx: Context) -> None:
    name = ctx.shared_answer("cluster", "slurm")
    name.write(StoredAnswer(NOW_S, "small"))
    answered(ctx, 5, text="")
    assert shown(ctx) == 250
    queue_file(ctx, "big").write(StoredAnswer(NOW_S - 5, LISTED))
    assert shown(ctx) is None


def test_a_failed_query_makes_nothing_fresh(ctx: Context) -> None:
    answered(ctx, 5, problem="connect failure")
    assert shown(ctx) == 250


def test_a_suspended_monitor_makes_nothing_fresh(ctx: Context) -> None:
    answered(ctx, 5)
    assert shown(ctx, replace(JOB, answered_s=NOW_S - 2000)) == 2000


def test_a_dead_monitor_makes_nothing_fresh(ctx: Context) -> None:
    answered(ctx, 5)
    assert shown(ctx, owner=replace(Owner.this_process(), boot_id="before the reboot")) == 250


def test_a_monitor_on_another_host_reads_the_answers_of_that_host(ctx: Context) -> None:
    elsewhere = replace(Owner.this_process(), host="login2")
    answered(ctx, 5)
    assert shown(ctx, owner=elsewhere) == 250
    answered(ctx, 5, host="login2")
    assert shown(ctx, owner=elsewhere) is None


def test_the_interval_is_that_of_the_configuration(ctx: Context) -> None:
    ctx.home.config.write_text('{"poll": {"running_s": 300}}')
    ctx.home.config.chmod(0o600)
    assert shown(ctx) is None


def test_a_shorter_interval_does_not_make_the_answers_of_earlier_monitors_old(ctx: Context) -> None:
    ctx.home.config.write_text('{"poll": {"running_s": 5}}')
    ctx.home.config.chmod(0o600)
    answered(ctx, 29)
    assert shown(ctx) is None
    answered(ctx, 42)
    assert shown(ctx) == 42


def test_an_invalid_configuration_or_a_backend_of_a_newer_jobmon_hides_nothing(ctx: Context) -> None:
    ctx.home.config.write_text("{")
    assert shown(ctx, replace(JOB, backend="quantum")) == 250


def test_unreadable_files_are_reported_beside_the_jobs(ctx: Context) -> None:
    ctx.store.save(JOB)
    ctx.store.path("slurm-13-x").write_text("{")
    known = overview(ctx)
    assert [each.path.stem for each in known.unreadable] == ["slurm-13-x"]
    assert [each.job.id for each in known.jobs] == ["slurm-12-x"]
