"""Find and change jobs of PBS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import JobRef, pbs_id
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.base import Untraceable
from jobmon_core.scheduler.pbs import listing, record
from jobmon_core.scheduler.pbs.client import TIMEOUT_S, PbsScheduler
from jobmon_core.scheduler.pbs.submit import TOKEN, token_of
from jobmon_core.system.runner import succeeded
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from jobmon_core.scheduler.base import CutOffSubmission
    from jobmon_core.system.runner import Runner

# of jobs that have ended meanwhile, which is no error here
_HARMLESS = ("Unknown Job Id", "Job has finished", "Request invalid for state of job")
_MAX_LOOKED_AT = 200  # jobs of the user whose variables are read to find one submission


@dataclass(frozen=True, slots=True)
class PbsJobControl:
    """Runs qdel, qhold, qrls and qstat; an empty ``server`` is the default one."""

    runner: Runner
    server: str = ""

    def cancel(self, refs: Sequence[JobRef]) -> str:
        """See `JobControl`."""
        return self._change(refs, "qdel")

    def hold(self, refs: Sequence[JobRef]) -> str:
        """See `JobControl`: the user's own hold."""
        return self._change(refs, "qhold", "-h", "u")

    def release(self, refs: Sequence[JobRef]) -> str:
        """See `JobControl`."""
        return self._change(refs, "qrls", "-h", "u")

    def queued_jobs(self, user: str) -> dict[JobRef, str] | Unreachable:
        """See `JobControl`; the listing cuts off long names."""
        answer = PbsScheduler(self.runner, self.server).ask_queue(user)
        if isinstance(answer, Unreachable):
            return answer
        jobs = {JobRef(each.ref.job_id): each.name for each in listing.listed(answer)}
        return dict(sorted(jobs.items(), key=lambda job: job[0].job_id))

    def find_submission(
        self,
        submission: CutOffSubmission,
        others: Collection[JobRef],
        now_s: float,  # noqa: ARG002 - how long PBS remembers ended jobs is not known
    ) -> JobRef | NotListed | Untraceable | Unreachable:
        """See `JobControl`: by the token among the variables of the user's jobs that have not ended.

        A job that has ended meanwhile may be forgotten, so not to find one proves nothing.
        """
        scheduler = PbsScheduler(self.runner, self.server)
        answer = scheduler.ask_queue(user_name())
        if isinstance(answer, Unreachable):
            return answer
        numbers = {each.ref.job_id for each in listing.listed(answer)}
        token = token_of(submission.host, submission.session)
        candidates = [number for number in sorted(numbers, reverse=True) if JobRef(number) not in others]
        for number in candidates[:_MAX_LOOKED_AT]:
            records = scheduler.records(JobRef(number))
            if isinstance(records, Unreachable):
                return records
            found = () if isinstance(records, NotListed) else records
            if any(record.variable(each, TOKEN) == token for each in found):
                return JobRef(number)
        return Untraceable("PBS lists no such job, and may no longer list one that has ended")

    def _change(self, refs: Sequence[JobRef], *command: str) -> str:
        errors: dict[str, None] = {}
        for ref in refs:
            error = self._change_one(command, pbs_id(ref, self.server))
            if error and ref.task is None:  # of a whole array, the id has brackets
                error = self._change_one(command, pbs_id(ref, self.server, is_array=True)) and error
            if error and not any(each in error for each in _HARMLESS):
                errors[error] = None
        return "; ".join(errors)

    def _change_one(self, command: Sequence[str], pbs_job: str) -> str:
        answer = self.runner.capture([*command, pbs_job], TIMEOUT_S)
        return "" if succeeded(answer) else answer.error_text
