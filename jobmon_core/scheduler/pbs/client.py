"""PBS as a `Scheduler`: runs qstat and parses its output.

For an id that qstat does not know (exit code 153), while the server is down (255), and by a server without
history (0), it prints valid JSON without jobs. Only a sentence about this very job says that PBS does not
know it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import JobRef, pbs_id
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.pbs import listing, record
from jobmon_core.scheduler.records import WithoutAccounting
from jobmon_core.system.runner import Ran, succeeded

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from jobmon_core.domain.slurm.log_paths import LogPaths
    from jobmon_core.domain.slurm.rows import JobRow, RecordAnswer
    from jobmon_core.scheduler.pbs.record import Record
    from jobmon_core.system.runner import Runner

TIMEOUT_S = 60.0  # a server that hangs never answers
_UNKNOWN_JOB = 153
_NO_HISTORY = "not configured to maintain job history"
_XML = re.compile(r"\s*<")  # what -x means to Torque
_JSON, _WITH_HISTORY, _WITHOUT_HISTORY = ("-x", "-f", "-F", "json"), ("-x", "-f"), ("-f",)
_KEEPS_NONE = (
    "PBS does not know the job any more: this server keeps no history of ended jobs "
    "(job_history_enable is not set), so nothing shows how it ended"
)
_FORGOT = "PBS does not know the job any more, so nothing shows how it ended"
_NO_SUBJOBS = "PBS shows that the array has ended, but not how its subjobs did"


@dataclass(slots=True)
class PbsScheduler(WithoutAccounting):
    """PBS, through its commands on this machine; an empty ``server`` is the default one."""

    name = "pbs"

    runner: Runner
    server: str = ""
    _latest: dict[int, tuple[Record, ...]] = field(default_factory=dict, init=False)

    def ask_queue(self, user: str) -> str | Unreachable:
        """See `Scheduler`; it lists no ended jobs. A history may be switched off, and is long."""
        where = [f"@{self.server}"] if self.server else []
        answer = self.runner.capture(["qstat", "-t", "-s", "-u", user, *where], TIMEOUT_S)
        if not succeeded(answer):
            return Unreachable(answer.error_text)
        if defect := listing.defect_of(answer.stdout):
            return Unreachable(f"qstat: {defect}")
        return answer.stdout

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[JobRow, ...]:
        """See `Scheduler`."""
        return listing.read_listing(text, job_ids)

    def ask_record(self, job_id: int) -> RecordAnswer:
        """See `Scheduler`: of an array, one row for each subjob."""
        records = self.records(JobRef(job_id))
        if isinstance(records, NotListed | Unreachable):
            return records
        self._latest = {job_id: records}
        if rows := record.rows_of(records, job_id):
            return rows
        if any(each.is_whole_array for each in records):
            return NotListed(_NO_SUBJOBS)
        return Unreachable(f"qstat gave no readable record of {job_id}")

    def ask_log_templates(self, job_id: int) -> LogPaths | None:
        """See `Scheduler`: by the record that was asked for last."""
        records = self._latest.get(job_id)
        return record.log_templates(records[0]) if records else None

    def records(self, ref: JobRef) -> tuple[Record, ...] | NotListed | Unreachable:
        """The records of a job; of an array, its own and those of its subjobs."""
        answer = self._ask(pbs_id(ref, self.server), ())
        if isinstance(answer, NotListed) and ref.task is None:
            # the id of an array has brackets, which jobmon's number does not show
            return self._ask(pbs_id(ref, self.server, is_array=True), ("-t",))
        return answer

    def _ask(self, pbs_job: str, options: Sequence[str]) -> tuple[Record, ...] | NotListed | Unreachable:
        """One id each: with several, JSON holds only the first job (openpbs#2672)."""
        has_history = True
        for form in (_JSON, _WITH_HISTORY, _WITHOUT_HISTORY):
            if not (has_history or form is _WITHOUT_HISTORY):
                continue
            answer = self.runner.capture(["qstat", *form, *options, pbs_job], TIMEOUT_S)
            if not isinstance(answer, Ran):
                return Unreachable(answer.error_text)
            read = record.read_json if form is _JSON else record.read_text
            if answer.exit_code == 0 and (found := read(answer.stdout)):
                return found
            if _names_unknown(answer, pbs_job):
                return NotListed(_FORGOT if has_history else _KEEPS_NONE)
            has_history = has_history and _NO_HISTORY not in answer.stderr
            # did the server answer, or does qstat not know the options: an older PBS, or Torque?
            is_usage = "usage:" in answer.stderr.lower() or _XML.match(answer.stdout)
            if answer.exit_code and not is_usage:
                return Unreachable(answer.error_text)
        return Unreachable(f"qstat gave no record of {pbs_job}")


def _names_unknown(answer: Ran, pbs_job: str) -> bool:
    number = re.escape(pbs_job.partition(".")[0])
    is_named = re.search(rf"Unknown Job Id(?: Error)? {number}(?![\d\[])", answer.stderr)
    return answer.exit_code == _UNKNOWN_JOB and is_named is not None
