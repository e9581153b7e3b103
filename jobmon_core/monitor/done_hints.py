"""Notice the markers of running jobs: a hint, which causes an early query and proves nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import named_path, own_markers, written_by_run_s
from jobmon_core.domain.slurm.states import Phase
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.job.own_files import OwnFiles
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.rows import RecordAnswer
    from jobmon_core.system.clock import Clock

_TIMEOUT_S = 20.0


@dataclass(slots=True)
class DoneHints:
    """The markers that the user named for the running jobs of one monitor, and when new ones were noticed."""

    clock: Clock
    # by job: path -> which files count
    _awaited: dict[str, dict[str, OwnFiles]] = field(default_factory=dict, init=False)
    # by job: when its newest marker was written, and when that was noticed
    _newest_s: dict[str, float] = field(default_factory=dict, init=False)
    _hints_s: dict[str, float] = field(default_factory=dict, init=False)

    def follow(self, job: WatchedJob) -> float | None:
        """Look for the markers of a job's running tasks; return when the latest was noticed, if one was."""
        awaited = {} if job.closed else dict(_markers(job))
        self._awaited.pop(job.id, None)
        if awaited:
            self._awaited[job.id] = awaited
            self._look_at(job.id)
        return self._hints_s.get(job.id)

    def look(self) -> set[str] | None:
        """Return the state ids of the jobs of which a marker has appeared; None if no marker is awaited."""
        if not self._awaited:
            return None
        return {state_id for state_id in self._awaited if self._look_at(state_id)}

    def forget(self, state_id: str) -> None:
        """Stop looking for the markers of a job."""
        for by_job in (self._awaited, self._newest_s, self._hints_s):
            by_job.pop(state_id, None)

    def _look_at(self, state_id: str) -> bool:
        """Whether a marker of a job has appeared since the last look."""
        times_s = (written_by_run_s(path, own) for path, own in self._awaited[state_id].items())
        newest_s = max(filter(None, times_s), default=0.0)
        if newest_s <= self._newest_s.get(state_id, 0.0):
            return False
        self._newest_s[state_id] = newest_s
        self._hints_s[state_id] = self.clock.now()
        return True


def _markers(job: WatchedJob) -> Iterator[tuple[str, OwnFiles]]:
    done = job.own_settings.done
    if done is None or not done.marker:
        return
    for task in job.tasks.values():
        if task.state.phase is Phase.ACTIVE and not task.end:
            yield named_path(job, task, done.marker), own_markers(job, task)


def with_proof(helper: Helper, clock: Clock, job: WatchedJob, answer: RecordAnswer) -> RecordAnswer:
    """Return the answer about a job, with the ends of its processes if files prove them."""
    # not at the top: few jobs need it
    from jobmon_core.domain.job.tracking.done import DoneLook, is_proved_by_files, record_by_files

    if not is_proved_by_files(job):
        return answer

    def look() -> DoneLook:
        from jobmon_core.analysis.done import look_for_done  # only in a child

        return look_for_done(job, next(iter(job.tasks.values())))

    def look_in_child() -> DoneLook:
        with suppress(HelperFailed):  # e.g. a file server does not respond: nothing is proved
            return helper.run(DoneLook, look, _TIMEOUT_S)
        return DoneLook()

    return record_by_files(job, answer, look_in_child, clock.now())
