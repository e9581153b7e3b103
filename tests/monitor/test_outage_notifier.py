"""Many monitors, one outage: the shared notice decides which job reports it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.messages.scheduler_outage import OutageNotice
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.monitor.job_monitor import JobMonitor, MonitorDeps
from jobmon_core.monitor.outage_notifier import OutageNotifier
from jobmon_core.polling.accounting import SharedAccounting
from jobmon_core.polling.queue import SharedQueue
from jobmon_core.store.jobs import JobStore
from jobmon_core.store.shared_answers import SharedAnswer, outage_notice_file
from jobmon_core.system.lock import try_lock
from tests.support.clock import FakeClock
from tests.support.monitor_deps import monitor_deps
from tests.support.play import row
from tests.support.scheduler import FakeScheduler

DOWN = Unreachable("squeue: slurm_load_jobs error: Unable to contact slurm controller (connect failure)")


class Cluster:
    """A cluster, hosts that query it, and monitors on them; each host can be cut off from the cluster."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FakeClock()
        self.slurm: dict[str, FakeScheduler] = {}
        self.store = JobStore(folder)
        self.watches: dict[str, JobMonitor] = {}
        self.notice = outage_notice_file(folder, "slurm", "big")

    def watch(self, number: int, host: str = "login1", store: JobStore | None = None) -> JobMonitor:
        """Start a monitor, or start it again."""
        job_id = f"slurm-{number}-x"
        path = self.store.path(job_id)
        job = self.store.load(job_id) if path.exists() else self._submitted(job_id, number)
        self.watches[job_id] = JobMonitor(job, self._deps(host, store or self.store))
        return self.watches[job_id]

    def _submitted(self, job_id: str, number: int) -> WatchedJob:
        job = WatchedJob(job_id, number, self.clock.now() - 1, user="me", cluster="big", workdir="/w")
        self.store.save(job)
        return job

    def _deps(self, host: str, store: JobStore) -> MonitorDeps:
        if host not in self.slurm:
            self.slurm[host] = FakeScheduler()
            self.answer(host)
        slurm = self.slurm[host]
        queue_file, accounting_file = (
            SharedAnswer(self.folder / f"{kind}-{host}.reply") for kind in ("queue", "sacct")
        )
        return replace(
            monitor_deps(self.folder, slurm, self.clock),
            queue=SharedQueue(slurm, queue_file, self.clock),
            accounting=SharedAccounting(slurm, accounting_file, self.clock),
            outages=OutageNotifier(lambda _job: self.notice, self.clock, Policy(), host, self._is_reporting),
            store=store,
            cluster_name=lambda: "big",
        )

    def _is_reporting(self, job_id: str) -> bool:
        return job_id in self.watches and self.store.load(job_id).outage_s is not None

    def fall_silent(self, *hosts: str) -> None:
        for host in hosts or self.slurm:
            self.slurm[host].queue = [DOWN]

    def answer(self, *hosts: str) -> None:
        for host in hosts or self.slurm:
            self.slurm[host].queue = [tuple(row(str(number), "RUNNING") for number in range(1, 300))]

    def live(self, minutes: int) -> None:
        """Let every monitor look each five minutes, one after the other."""
        for _ in range(minutes // 5):
            self.clock.now_s += 300.0
            for watch in list(self.watches.values()):
                watch.poll_once()

    def reported(self) -> list[Message]:
        """Return the outage messages of all jobs, in the order in which they were made."""
        jobs = [job for job in self.store.all() if isinstance(job, WatchedJob)]
        found = [entry.message for job in jobs for entry in job.outbox if "/outage-" in entry.message.id]
        return sorted(found, key=lambda message: message.created_s)

    def tones(self) -> list[Tone]:
        return [message.tone for message in self.reported()]


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def test_forty_jobs_report_an_outage_once_and_its_end_once(cluster: Cluster) -> None:
    for number in range(1, 41):
        cluster.watch(number)
    cluster.live(5)
    cluster.fall_silent()
    cluster.live(45)
    assert cluster.tones() == [Tone.ATTENTION]
    cluster.answer()
    cluster.live(10)
    assert cluster.tones() == [Tone.ATTENTION, Tone.RESOLVED]
    assert {watch.job.outage_s for watch in cluster.watches.values()} == {None}
    assert {task.raw_state for watch in cluster.watches.values() for task in watch.job.tasks.values()} == {
        "RUNNING"
    }


def test_any_job_may_report_a_second_outage(cluster: Cluster) -> None:
    for number in (1, 2, 3):
        cluster.watch(number)
    for _ in range(2):
        cluster.live(40)
        cluster.fall_silent()
        cluster.live(40)
        cluster.answer()
    cluster.live(40)
    assert cluster.tones() == [Tone.ATTENTION, Tone.RESOLVED] * 2


def test_hosts_that_share_a_home_report_an_outage_once(cluster: Cluster) -> None:
    for number in range(1, 9):
        cluster.watch(number, f"login{number % 4}")
    cluster.live(5)
    cluster.fall_silent()
    cluster.live(60)
    cluster.answer("login1")
    cluster.live(20)  # the other hosts learn of it later, and make no new outage of it
    cluster.answer()
    cluster.live(60)
    assert Counter(cluster.tones()) == {Tone.ATTENTION: 1, Tone.RESOLVED: 1}


def test_a_host_that_stays_cut_off_reports_that_itself_after_a_while(cluster: Cluster) -> None:
    cluster.watch(1, "login1")
    cluster.watch(2, "login2")
    cluster.live(5)
    cluster.fall_silent()
    cluster.live(40)
    cluster.answer("login1")
    cluster.live(40)
    assert cluster.tones() == [Tone.ATTENTION, Tone.RESOLVED, Tone.ATTENTION]
    hosts = [
        fact.value for message in cluster.reported() for fact in message.fields if fact.name == "Queried from"
    ]
    assert hosts == ["login1", "login1", "login2"]


def test_a_reporter_that_was_killed_reports_the_recovery_after_its_restart(cluster: Cluster) -> None:
    cluster.watch(1)
    cluster.live(5)
    cluster.fall_silent()
    cluster.live(40)
    del cluster.watches["slurm-1-x"]
    cluster.answer()
    cluster.live(40)
    cluster.watch(1)
    cluster.live(5)
    assert cluster.tones() == [Tone.ATTENTION, Tone.RESOLVED]


def test_a_reporter_that_is_not_watched_any_more_is_replaced_and_reports_nothing_more(
    cluster: Cluster,
) -> None:
    cluster.watch(1)
    cluster.live(5)
    cluster.watch(2)
    cluster.live(5)
    cluster.fall_silent()
    cluster.live(40)
    del cluster.watches["slurm-1-x"]
    cluster.live(5)
    assert cluster.tones() == [Tone.ATTENTION, Tone.ATTENTION]
    cluster.watch(1)
    cluster.answer()
    cluster.live(5)
    assert Counter(cluster.tones()) == {Tone.ATTENTION: 2, Tone.RESOLVED: 1}


class CutOff(JobStore):
    """A store whose monitor dies just after it saved a message about an outage."""

    def save(
        self,
        job: WatchedJob | NewJob,
        check_owner: Callable[[], None] = lambda: None,
        *,
        is_news: bool = True,
    ) -> None:
        super().save(job, check_owner, is_news=is_news)
        if isinstance(job, WatchedJob) and job.undelivered:
            raise StorageFailed("this monitor was killed")


def test_a_crash_between_the_outage_message_and_the_notice_costs_at_most_a_repeat(cluster: Cluster) -> None:
    dying = cluster.watch(1, store=CutOff(cluster.folder))
    cluster.live(5)
    cluster.fall_silent()
    cluster.clock.now_s += 30.0
    dying.poll_once()
    cluster.clock.now_s += 3600.0
    with pytest.raises(StorageFailed):
        dying.poll_once()
    assert cluster.notice.read() == OutageNotice()
    cluster.watch(1)
    cluster.live(40)
    assert cluster.tones() == [Tone.ATTENTION]
    cluster.watch(2)
    cluster.live(40)
    assert cluster.tones() == [Tone.ATTENTION] * 2
    cluster.answer()
    cluster.live(5)
    assert Counter(cluster.tones()) == {Tone.ATTENTION: 2, Tone.RESOLVED: 1}


def test_a_crash_between_the_recovery_message_and_the_notice_does_not_hide_the_next_outage(
    cluster: Cluster,
) -> None:
    for number in (1, 2):
        cluster.watch(number)
    cluster.live(5)
    cluster.fall_silent()
    cluster.live(40)
    reporter = cluster.notice.read().reporter
    cluster.answer()
    cluster.live(5)
    cluster.notice.write(OutageNotice(reporter))  # as if it had not come to write that it is over
    cluster.fall_silent()
    cluster.live(40)
    assert cluster.tones() == [Tone.ATTENTION, Tone.RESOLVED, Tone.ATTENTION]


def test_while_another_monitor_holds_the_lock_nothing_is_reported_and_nothing_lost(cluster: Cluster) -> None:
    cluster.watch(1)
    cluster.live(5)
    cluster.fall_silent()
    with try_lock(cluster.notice.lock_path):
        cluster.live(60)
        assert cluster.tones() == []
    cluster.live(5)
    with try_lock(cluster.notice.lock_path):
        cluster.answer()
        cluster.live(5)
        assert cluster.tones() == [Tone.ATTENTION]
    cluster.live(5)
    assert cluster.tones() == [Tone.ATTENTION, Tone.RESOLVED]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"teller": 5}', b"\xff\x00", b'{"over_s": "soon"}'])
def test_a_damaged_notice_counts_as_missing(cluster: Cluster, content: bytes) -> None:
    cluster.notice.path.write_bytes(content)
    assert cluster.notice.read() == OutageNotice()
    cluster.watch(1)
    cluster.live(5)
    cluster.fall_silent()
    cluster.live(40)
    assert cluster.tones() == [Tone.ATTENTION]


def test_if_the_notice_cannot_be_written_the_outage_message_stays_pending(cluster: Cluster) -> None:
    cluster.watch(1)
    cluster.live(5)
    cluster.fall_silent()
    cluster.notice.path.mkdir()
    with pytest.raises(StorageFailed):
        cluster.live(60)
    cluster.live(10)
    assert cluster.tones() == [Tone.ATTENTION]


def test_clusters_do_not_share_a_notice(tmp_path: Path) -> None:
    files = {
        outage_notice_file(tmp_path, *names).path
        for names in (("slurm", "a"), ("slurm", "b"), ("local", "a"))
    }
    assert len(files) == 3


def test_a_monitor_runs_until_its_outage_messages_are_delivered() -> None:
    job = WatchedJob("slurm-1-x", 1, 1.0, concluded_s=2.0)
    assert job.finished
    assert not replace(job, outage_s=1.0).finished
    assert not replace(job, outbox=(OutboxEntry(Message("m", Route.ERROR, Tone.RESOLVED, "t")),)).finished
    assert replace(job, outage_s=1.0, unwatched_s=3.0).finished
