"""Slurm as a `Scheduler`: runs its commands and parses their output."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.job.tracking.policy import NO_HURRY_S
from jobmon_core.domain.slurm.log_paths import LogPaths, templates_from_record
from jobmon_core.domain.slurm.rows import Disabled, NotListed, Unreachable
from jobmon_core.scheduler.slurm import commands, scontrol, squeue, values
from jobmon_core.system.environment import missing_slurm_conf
from jobmon_core.system.runner import NotStarted, Ran, Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from jobmon_core.domain.slurm.rows import JobRow, RecordAnswer
    from jobmon_core.scheduler.slurm.find_submitted import Sessions
    from jobmon_core.scheduler.slurm.values import Version
    from jobmon_core.system.runner import Result


# a slurmctld with rate limiting makes its clients wait silently and without end
TIMEOUT_S = 120.0
_SEARCH_TIMEOUT_S = 15.0  # of one query; the user waits, and the whole search takes about a minute

_VERSION_TIMEOUT_S = 10.0
_PAST_TIMEOUT_S = 300.0  # the whole past of a week takes a busy database a while

_UNKNOWN_JOB = "Invalid job id specified"
_NO_ACCOUNTING = "Slurm accounting storage is disabled"
_UNKNOWN_FIELD = "Invalid field requested"
_CLUSTER_NAME = re.compile(r"^ClusterName\s*=\s*(\S+)", re.MULTILINE)


class SlurmScheduler:
    """Slurm, through its commands on this machine."""

    name = "slurm"

    def __init__(self, runner: Runner, cluster: str = "", *, timeout_s: float = TIMEOUT_S) -> None:
        """Set up without any query."""
        self._runner = runner
        self._cluster = cluster
        self._timeout_s = timeout_s
        self._version: Version | None = None
        self._fields: tuple[str, ...] | None = None  # that this sacct supports, if it lacks some of the usual
        # if it exists now, no query looks again: its file system may hang, and a monitor goes on
        self._lacked_conf = bool(missing_slurm_conf(os.environ))

    def ask_queue(self, user: str) -> str | Unreachable:
        """See `Scheduler`."""
        answer = self._ask(commands.queue(user, self._cluster))
        if isinstance(answer, Unreachable):
            return answer
        defect = squeue.defect_of(answer.stdout)
        if defect:
            return Unreachable(f"squeue: {defect}")
        return answer.stdout

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[JobRow, ...]:
        """See `Scheduler`."""
        return squeue.read_queue(text, job_ids)

    def ask_record(self, job_id: int) -> RecordAnswer:
        """See `Scheduler`."""
        answer = self._run(commands.record(job_id, self._cluster))
        if isinstance(answer, Ran) and answer.exit_code and _UNKNOWN_JOB in answer.stderr:
            return NotListed()
        ran = _checked(answer)
        if isinstance(ran, Unreachable):
            return ran
        records = scontrol.read_records(ran.stdout)
        defect = scontrol.defect_of(ran.stdout, records)
        if defect:
            return Unreachable(f"scontrol: {defect}")
        return records

    def ask_log_templates(self, job_id: int) -> LogPaths | None:
        """See `Scheduler`."""
        answer = self._ask(commands.templates(job_id, self._cluster))
        if isinstance(answer, Unreachable):
            return None
        lines = (line.split(commands.SEP) for line in answer.stdout.split("\n"))
        rows = [row for row in lines if len(row) == len(commands.TEMPLATE_FIELDS)]
        # only the first component of a het job runs the script; its raw job id is that of the job
        rows.sort(key=lambda row: row[0] != str(job_id))
        if not rows:
            return None
        raw_job_id, listed_id, workdir, stderr, stdout = rows[0]
        return templates_from_record(
            stdout, stderr, workdir, is_array="_" in listed_id, job_id=values.number(raw_job_id)
        )

    def ask_accounting(
        self, job_ids: Sequence[int], within_s: float = NO_HURRY_S
    ) -> str | Disabled | Unreachable:
        """See `Scheduler`."""
        if not job_ids:
            return ""  # without ids sacct would list all of today's jobs
        return self._sacct(lambda fields: commands.accounting(job_ids, fields, self._cluster), within_s)

    def past_runs(self, user: str, since_s: float, until_s: float) -> list[JobRow] | Disabled | Unreachable:
        """Query the runs of a user at some time in between (Unix seconds)."""
        from jobmon_core.scheduler.slurm import sacct

        answer = self._sacct(
            lambda fields: commands.accounting_between(user, since_s, until_s, fields, self._cluster),
            _PAST_TIMEOUT_S,
        )
        return [*sacct.read_rows(answer)] if isinstance(answer, str) else answer

    def _sacct(
        self, argv_of: Callable[[Sequence[str]], Sequence[str]], within_s: float
    ) -> str | Disabled | Unreachable:
        from jobmon_core.scheduler.slurm import sacct

        fields = self._fields or commands.accounting_fields_of(self._sacct_version())
        answer = self._run(argv_of(fields), within_s)
        if isinstance(answer, Ran) and _UNKNOWN_FIELD in answer.stderr:
            self._fields = self._supported_fields(fields)
            answer = self._run(argv_of(self._fields), within_s)
        if isinstance(answer, Ran) and _NO_ACCOUNTING in answer.stderr:
            return Disabled()
        ran = _checked(answer)
        if isinstance(ran, Unreachable):
            return ran
        if not sacct.is_answer(ran.stdout):
            return Unreachable(f"sacct: unintelligible output: {ran.stdout[:80]!r:.120}")
        return ran.stdout

    def sessions(self) -> Sessions:
        """Query this user's jobs, with the login sessions that they were submitted from."""
        from jobmon_core.scheduler.slurm.find_submitted import read_sessions

        argv = commands.sessions(str(os.getuid()), self._cluster)
        answer = _checked(self._runner.capture(argv, min(self._timeout_s, _SEARCH_TIMEOUT_S)))
        if isinstance(answer, Unreachable):
            return answer
        return read_sessions(answer.stdout)

    def _supported_fields(self, fields: tuple[str, ...]) -> tuple[str, ...]:
        answer = self._ask(["sacct", "--helpformat"])
        supported = set() if isinstance(answer, Unreachable) else set(answer.stdout.split())
        return tuple(name for name in fields if name in supported) or fields

    def _sacct_version(self) -> Version:
        if self._version is None:
            answer = self._run(["sacct", "--version"], _VERSION_TIMEOUT_S)
            if not isinstance(answer, Ran):
                return commands.OLDEST_VERSION  # for this once: a busy host may answer the next time
            self._version = values.version(answer.stdout) or commands.OLDEST_VERSION
        return self._version

    def read_accounting(self, text: str, job_id: int) -> tuple[JobRow, ...]:
        """See `Scheduler`."""
        from jobmon_core.scheduler.slurm import sacct

        rows = sacct.read_accounting(text, job_id)
        if not any(row.exit_code and not row.exit_code_exact for row in rows):
            return rows
        is_exact = self._sacct_version() >= commands.EXACT_CODES_SINCE
        if is_exact:
            return tuple(replace(row, exit_code_exact=True) for row in rows)
        return rows

    def script_of(self, job_id: int) -> str:
        """See `Scheduler`."""
        answer = self._ask(commands.script(job_id, self._cluster))
        if isinstance(answer, Unreachable):
            return ""
        return answer.stdout

    def cluster_name(self) -> str:
        """See `Scheduler`."""
        if self._cluster:
            return self._cluster
        answer = self._ask(commands.configuration())
        match = None if isinstance(answer, Unreachable) else _CLUSTER_NAME.search(answer.stdout)
        if match:
            return match[1]
        return ""

    def _run(self, argv: Sequence[str], within_s: float = NO_HURRY_S) -> Result:
        if self._lacked_conf and (why := missing_slurm_conf(os.environ)):
            return NotStarted(tuple(argv), why)
        return self._runner.capture(argv, min(self._timeout_s, within_s))

    def _ask(self, argv: Sequence[str]) -> Ran | Unreachable:
        return _checked(self._run(argv))


def _checked(answer: Result) -> Ran | Unreachable:
    if not isinstance(answer, Ran) or answer.exit_code != 0:
        return Unreachable(answer.error_text)
    if not answer.stdout and "error:" in answer.stderr:
        return Unreachable(answer.error_text)
    return answer


def past_runs(
    runner: Runner, cluster: str, user: str, since_s: float, until_s: float
) -> list[JobRow] | Disabled | Unreachable:
    """See `Backend`."""
    return SlurmScheduler(runner, cluster).past_runs(user, since_s, until_s)


def version_of(runner: Runner, program: str) -> Version | None:
    """The version of a program of Slurm."""
    answer = runner.capture([program, "--version"], _VERSION_TIMEOUT_S)
    return values.version(answer.stdout) if isinstance(answer, Ran) else None
