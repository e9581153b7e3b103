"""Reports an outage of the scheduler once per cluster, however many jobs, monitors and hosts are affected.

The monitor of one job takes a lock, saves the message in the outbox of that job, and then names the job as
the reporter in the shared notice. If the monitor crashes in between, another job reports the outage, too, but
no message is lost. If the reporting job is no longer watched, another job reports the outage again.
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
from jobmon_core.scheduler.backends import display_name, outage_words
from jobmon_core.system.lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.job.tracking.policy import Policy
    from jobmon_core.store.json_file import JsonFile
    from jobmon_core.system.clock import Clock

    Save = Callable[[WatchedJob], None]


@dataclass(frozen=True, slots=True)
class OutageNotifier:
    """Puts the messages about an outage of one cluster, and about its end, into the outbox of a job."""

    notice_file: Callable[[WatchedJob], JsonFile[OutageNotice]]  # the notice of the job's cluster
    clock: Clock
    policy: Policy
    host: str
    is_reporting: Callable[[str], bool]  # whether the job with this state id reported and is still watched

    def notify_outage(self, job: WatchedJob, save: Save) -> None:
        """Add the outage message to a job and save it, unless another job reports the outage.

        After StorageFailed, the next poll tries again.
        """
        file = self.notice_file(job)
        if not self._may_notify(job, file):
            return
        with try_lock(file.lock_path) as is_acquired:
            if is_acquired and self._may_notify(job, file):
                name, words = display_name(job.backend), outage_words(job.backend)
                save(with_outage_message(job, self.host, self.clock.now(), name, words))
                file.write(OutageNotice(job.id))

    def notify_recovered(self, job: WatchedJob, save: Save) -> None:
        """Save that the outage that a job reported is over; add a recovery message if one is due."""
        file = self.notice_file(job)
        with try_lock(file.lock_path) as is_acquired:
            if not is_acquired:
                return
            notice, now_s = file.read(), self.clock.now()
            save(with_recovery_message(job, notice, self.host, now_s))
            if notice.reporter in ("", job.id):
                file.write(replace(notice, reporter=job.id, over_s=now_s))

    def _may_notify(self, job: WatchedJob, file: JsonFile[OutageNotice]) -> bool:
        notice = file.read()
        is_reported = notice.reporter not in ("", job.id) and self.is_reporting(notice.reporter)
        return may_notify(notice, self.policy, self.clock.now(), reporter_is_active=is_reported)
