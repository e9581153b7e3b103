from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from jobmon_core.app.recover import RecoverJobs
from jobmon_core.context import Context
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.many.groups.model import Group, Member
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.store.home import Home
from jobmon_core.store.shared_answers import StoredAnswer
from tests.support.job_records import JOB, succeeded


def test_an_orphan_of_another_cluster_that_shares_the_home_is_left_alone(tmp_path: Path) -> None:
    ctx = Context(Home(tmp_path), {})
    ctx.cluster_name("slurm").file.write(StoredAnswer(time.time(), "ours"))
    ctx.store.save(WatchedJob("slurm-12-x", 12, 100.0, cluster="theirs", name="train"))
    (finding,) = RecoverJobs(ctx, MonitorStarter(ctx)).recover()
    assert finding.subject == "12 train"
    assert finding.action == "skipped: it runs on cluster theirs, but this host uses cluster ours"


def test_clusters_that_one_host_talks_to_share_no_answers(tmp_path: Path) -> None:
    shops = [Context(Home(tmp_path), {"SLURM_CONF": conf}) for conf in ("/a/slurm.conf", "/b/slurm.conf")]
    assert len({ctx.cluster_name("slurm").file.path for ctx in shops}) == 2


def test_a_message_of_a_job_that_cannot_be_monitored_stays_given_up(tmp_path: Path) -> None:
    ctx = Context(Home(tmp_path), {"JOBMON_ERROR_WEBHOOK": "https://discord.com/api/webhooks/1/token"})
    message = Message("m1", Route.ERROR, Tone.FAILURE, "it failed")
    job = WatchedJob("slurm-12-x", 12, 100.0, outbox=(OutboxEntry(message, given_up="404"),), concluded_s=1.0)
    ctx.store.save(job)
    lock = ctx.home.monitors / "slurm-12-x.lock"
    lock.mkdir(parents=True)
    (finding,) = RecoverJobs(ctx, MonitorStarter(ctx)).recover()
    assert finding.action.startswith(f"skipped: {lock} is in the way")
    assert (finding.is_changed, ctx.store.load(job.id)) == (False, job)


def test_a_group_whose_monitors_were_killed_at_the_end_is_completed(tmp_path: Path) -> None:
    ctx = Context(Home(tmp_path), {})
    ctx.groups.create(Group("sweep1", 100.0, members={"a": Member("slurm-12-x")}))
    ctx.groups.create(Group("other", 100.0))
    ctx.groups.path("other").write_text("{", encoding="ascii")
    ctx.store.save(replace(JOB, tasks={"": succeeded()}, concluded_s=110.0))
    finding = next(RecoverJobs(ctx, MonitorStarter(ctx)).recover())
    assert (finding.subject, finding.is_changed) == ("group other", False)
    assert "is damaged" in finding.action
    assert ctx.groups.load("sweep1").complete_s is not None
