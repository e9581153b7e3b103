from __future__ import annotations

import time
from pathlib import Path

from jobmon_core.app.recover import RecoverJobs
from jobmon_core.context import Context
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.store.home import Home
from jobmon_core.store.shared_answers import StoredAnswer


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
