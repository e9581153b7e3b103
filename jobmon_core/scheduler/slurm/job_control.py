"""Find and change jobs of Slurm."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.base import Untraceable
from jobmon_core.scheduler.slurm import commands, values
from jobmon_core.scheduler.slurm.find_submitted import named_cluster, newest_job, read_sessions
from jobmon_core.system.runner import succeeded

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from jobmon_core.scheduler.base import CutOffSubmission
    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 60.0
_IDS_PER_COMMAND = 200
_MIN_JOB_AGE = re.compile(r"^MinJobAge\s*=\s*(\d+) sec", re.MULTILINE)
_MARGIN_S = 10.0
# scancel and scontrol refuse jobs that have ended meanwhile, which is no error here
_HARMLESS = ("Job/step already completing or completed", "Invalid job id")


@dataclass(frozen=True, slots=True)
class SlurmJobControl:
    """Runs scancel, scontrol and squeue for one cluster."""

    runner: Runner
    cluster: str = ""

    def cancel(self, refs: Sequence[JobRef]) -> str:
        """See `JobControl`."""
        return self._change(refs, lambda ids: ["scancel", *commands.on_cluster(self.cluster), *ids])

    def hold(self, refs: Sequence[JobRef]) -> str:
        """See `JobControl`. ``uhold`` is the user's own, also if root runs it."""
        return self._change(
            refs, lambda ids: ["scontrol", *commands.on_cluster(self.cluster), "uhold", ",".join(ids)]
        )

    def release(self, refs: Sequence[JobRef]) -> str:
        """See `JobControl`."""
        return self._change(
            refs, lambda ids: ["scontrol", *commands.on_cluster(self.cluster), "release", ",".join(ids)]
        )

    def queued_jobs(self, user: str) -> dict[JobRef, str] | Unreachable:
        """See `JobControl`; the name may contain any character, so it comes last."""
        listing = ["squeue", *commands.cluster_args(self.cluster), "-u", user, "-a", "-h", "-o", "%i|%j"]
        answer = self.runner.capture(listing, _TIMEOUT_S)
        if succeeded(answer):
            return _queued(answer.stdout)
        return Unreachable(answer.error_text)

    def find_submission(
        self, submission: CutOffSubmission, others: Collection[JobRef], now_s: float
    ) -> JobRef | NotListed | Untraceable | Unreachable:
        """See `JobControl`; slurmctld forgets ended jobs after MinJobAge."""
        answer = self.runner.capture(commands.sessions(str(os.getuid()), self.cluster), _TIMEOUT_S)
        if not succeeded(answer):
            return Unreachable(answer.error_text)
        if cluster := named_cluster(submission.arguments, os.environ):
            return Untraceable(
                f"the submission names the cluster {cluster}, and jobmon searches only the default one"
            )
        candidates, since_s = read_sessions(answer.stdout), int(submission.since_s)
        is_other = others.__contains__
        if job := newest_job(candidates, submission.session, submission.host, since_s, is_other):
            return job
        remembered_s = self._remembered_s()
        if remembered_s is not None and now_s - submission.since_s < remembered_s - _MARGIN_S:
            return NotListed()
        return Untraceable("Slurm does not list it, and may no longer list a job that has ended")

    def _remembered_s(self) -> float | None:
        answer = self.runner.capture(commands.configuration(), _TIMEOUT_S)
        match = None
        if succeeded(answer):
            match = _MIN_JOB_AGE.search(answer.stdout)
        if match:
            return float(match[1])
        return None

    def _change(self, refs: Sequence[JobRef], command: Callable[[list[str]], list[str]]) -> str:
        errors: dict[str, None] = {}
        for first in range(0, len(refs), _IDS_PER_COMMAND):
            ids = [str(ref) for ref in refs[first : first + _IDS_PER_COMMAND]]
            answer = self.runner.capture(command(ids), _TIMEOUT_S)
            if not succeeded(answer):
                parts = answer.error_text.split("; ")
                errors |= dict.fromkeys(part for part in parts if not any(each in part for each in _HARMLESS))
        return "; ".join(errors)


def _queued(text: str) -> dict[JobRef, str]:
    rows = (line.partition("|") for line in text.split("\n"))
    listed = ((values.listed_id(row[0].strip()), row[2]) for row in rows if row[1])
    jobs = [(JobRef(job[0].job_id), name) for job, name in listed if job]
    return dict(sorted(jobs, key=lambda job: job[0].job_id))
