"""Telling of an outage once for all watched jobs of a cluster, whatever the number of monitors and hosts.

A job that has to warn takes the turn, saves the warning as owed in its own state file, and only then names
itself in the shared notice. A crash in between costs a second warning by another job, never the only one. A
teller that is watched no more, be it killed or dropped, makes room for another, which warns again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.messages.scheduler_outage import (
    OutageNotice,
    may_notify,
    with_outage_message,
    with_recovery_message,
)
from jobmon_core.system.lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.domain.tracking.policy import Policy
    from jobmon_core.store.shared_answers import OutageNoticeFile
    from jobmon_core.system.clock import Clock

    Keep = Callable[[WatchedJob], None]


@dataclass(frozen=True, slots=True)
class OutageNotifier:
    """The warning and the all-clear of one cluster; both are owed like any other message."""

    file_of: Callable[
        [WatchedJob], OutageNoticeFile
    ]  # by its cluster, which a job just submitted may not know yet
    clock: Clock
    policy: Policy
    host: str
    is_reporting: Callable[
        [str], bool
    ]  # whether a job, by the id of its state file, told and is still watched

    def notify_outage(self, job: WatchedJob, keep: Keep) -> None:
        """Owe the warning to the user, unless another job does; ``keep`` saves the job.

        Raises:
            StorageFailed: the disk refused; the next round tries again.
        """
        file = self.file_of(job)
        if not self._is_free(job, file):
            return
        with try_lock(file.lock_path) as mine:
            if mine and self._is_free(job, file):
                keep(with_outage_message(job, self.host, self.clock.now()))
                file.write(OutageNotice(job.id))

    def notify_recovered(self, job: WatchedJob, keep: Keep) -> None:
        """Owe the all-clear to the user, if this job is who warned; ``keep`` saves the job.

        Raises:
            StorageFailed: the disk refused; the next round tries again.
        """
        file = self.file_of(job)
        with try_lock(file.lock_path) as mine:
            if not mine:
                return
            notice, now_s = file.read(), self.clock.now()
            keep(with_recovery_message(job, notice, self.host, now_s))
            if notice.reporter in ("", job.id):
                file.write(replace(notice, reporter=job.id, over_s=now_s))

    def _is_free(self, job: WatchedJob, file: OutageNoticeFile) -> bool:
        notice = file.read()
        another = notice.reporter not in ("", job.id) and self.is_reporting(notice.reporter)
        return may_notify(notice, self.policy, self.clock.now(), teller_watches=another)
