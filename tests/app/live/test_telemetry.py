"""The reports of agents, as the screens read them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.live.jobs import LiveJobs
from jobmon_core.app.live.tasks import TaskAgents
from jobmon_core.app.live.telemetry import task_agents
from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.agent_plan import AgentAttempts
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.node.telemetry.model import AgentReport
from jobmon_core.store.home import Home
from jobmon_core.store.json_file import JsonFile
from jobmon_core.store.telemetry import LATEST, AgentRecord
from tests.support.agent_reports import gpu, report, sample
from tests.support.clock import FakeClock
from tests.support.job_records import NOW_S, job_of, succeeded
from tests.support.live_jobs import running_task


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    return Context(Home(tmp_path), {}, clock=FakeClock(NOW_S))


@pytest.fixture
def job(ctx: Context) -> WatchedJob:
    """An array of which one task runs."""
    job = replace(job_of(running_task("3"), succeeded("4")), array_indices="3,4")
    ctx.store.save(job)
    return job


def write(ctx: Context, job: WatchedJob, key: str, node: str, written: AgentReport) -> Path:
    path = ctx.telemetry(job.id, key).folder / node / LATEST
    path.parent.mkdir(parents=True, exist_ok=True)
    JsonFile(path, AgentReport).write(written)
    return path


def test_the_reports_of_all_nodes_about_running_tasks_are_read(ctx: Context, job: WatchedJob) -> None:
    other = report(sample(node="n18"))
    write(ctx, job, "3", "n18", other)
    write(ctx, job, "3", "n17", report())
    write(ctx, job, "4", "n17", report())
    assert task_agents(ctx, job) == {"3": TaskAgents((report(), other))}


def test_without_a_report_nothing_is_known(ctx: Context, job: WatchedJob) -> None:
    assert task_agents(ctx, job) == {"3": TaskAgents()}
    write(ctx, job, "3", "n17", report()).write_text("{", encoding="utf-8")
    assert task_agents(ctx, job) == {"3": TaskAgents()}
    assert [task.reports for task in LiveJobs(ctx).listing().tasks if task.ref == "12_3"] == [()]


def test_a_listing_shows_new_reports_without_a_change_of_the_job(ctx: Context, job: WatchedJob) -> None:
    live = LiveJobs(ctx)
    assert live.listing().tasks[0].reports == ()
    write(ctx, job, "3", "n17", report())
    assert live.listing().tasks[0].reports == (report(),)
    later = report(sample((gpu(0, 5.0),)), age_s=1.0)
    write(ctx, job, "3", "n17", later)
    assert live.listing().tasks[0].reports == (later,)


def test_a_report_is_read_again_only_after_a_change(ctx: Context, job: WatchedJob) -> None:
    write(ctx, job, "3", "n17", report())
    live = LiveJobs(ctx)
    first, second = live.listing().tasks[0].reports, live.listing().tasks[0].reports
    assert first[0] is second[0]


def test_a_report_of_a_later_version_is_read(ctx: Context, job: WatchedJob) -> None:
    path = write(ctx, job, "3", "n17", report())
    saved = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**saved, "new": 1}), encoding="utf-8")
    assert task_agents(ctx, job) == {"3": TaskAgents((report(),))}


def test_why_there_is_no_agent_is_read(ctx: Context, job: WatchedJob) -> None:
    attempts = AgentAttempts(failures=1, ended_s=NOW_S, problem="srun: error: Access/permission denied")
    record = ctx.telemetry(job.id, "3").record
    record.path.parent.mkdir(parents=True)
    record.write(AgentRecord(attempts=attempts))
    live = LiveJobs(ctx)
    assert task_agents(ctx, job) == {"3": TaskAgents((), attempts.problem)}
    assert live.listing().tasks[0].agents.problem == attempts.problem
    never_started = AgentAttempts(problem="2 tasks have one already, see agent.at_most")
    record.write(AgentRecord(attempts=never_started))
    assert live.listing().tasks[0].agents.problem == never_started.problem
