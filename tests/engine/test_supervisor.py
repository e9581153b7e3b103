from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery import Message, Owed, Tone
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job import WatchedJob
from jobmon_core.domain.newjob import NewJob
from jobmon_core.domain.policy import Policy
from jobmon_core.engine.outages import Outages
from jobmon_core.engine.poll import SharedAccounting, SharedQueue
from jobmon_core.engine.supervisor import Supervisor, Tools
from jobmon_core.store.jobs import JobStore
from jobmon_core.store.notices import NoticeFile
from jobmon_core.store.replies import ReplyFile
from tests.support.clock import FakeClock
from tests.support.scheduler import FakeScheduler

OWED = Owed(Message("12/end", Route.ERROR, Tone.FAILURE, "it failed"))
TOLD = WatchedJob("slurm-12-x", 12, 100.0, user="me", concluded_s=200.0, outbox=(OWED,))


class FullDisk(JobStore):
    """A store whose disk is full just when the delivery is to be ticked off."""

    full = True

    def save(self, job: WatchedJob | NewJob) -> None:
        if FullDisk.full and isinstance(job, WatchedJob) and not job.undelivered:
            raise StorageFailed("no space left on device")
        super().save(job)


def supervisor(folder: Path, deliver: Callable[[Owed, Callable[[Owed], None]], Owed]) -> Supervisor:
    slurm, clock, file = FakeScheduler(), FakeClock(), ReplyFile(folder / "any.reply")
    return Supervisor(
        TOLD,
        Tools(
            scheduler=slurm,
            queue=SharedQueue(slurm, file, clock),
            accounting=SharedAccounting(slurm, file, clock),
            outages=Outages(
                lambda _job: NoticeFile(folder / "any.notice"),
                clock,
                Policy(),
                "login1",
                lambda _job_id: False,
            ),
            store=FullDisk(folder),
            clock=clock,
            policy=Policy(),
            cluster_name=str,
            explain=lambda _job, _keys: {},
            deliver=deliver,
            dropped=lambda _job_id: False,
            log=lambda _event: None,
        ),
    )


def test_a_delivery_that_cannot_be_ticked_off_is_not_made_again(tmp_path: Path) -> None:
    sent: list[str] = []

    def deliver(owed: Owed, note: Callable[[Owed], None]) -> Owed:
        note(replace(owed, attempts=1, attempt_since_s=1.0))
        sent.append(owed.message.id)
        return replace(owed, attempts=1, delivered_s=2.0)

    watch = supervisor(tmp_path, deliver)
    for _ in range(3):
        with pytest.raises(StorageFailed):
            watch.round()
    FullDisk.full = False
    assert watch.round() is None
    assert sent == ["12/end"]
    assert JobStore(tmp_path).load(TOLD.id).undelivered == 0
