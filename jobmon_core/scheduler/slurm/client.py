"""Slurm as a `Scheduler`: its commands, run and read."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.log_paths import Templates, templates_from_record
from jobmon_core.domain.slurm.rows import NO_HURRY_S, Disabled, NotListed, RawAnswer, Unreachable
from jobmon_core.scheduler.slurm import commands, sacct, scontrol, squeue, values
from jobmon_core.scheduler.slurm.session_search import Sessions, read_sessions
from jobmon_core.system.runner import NotStarted, Ran, Runner, TimedOut

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from jobmon_core.domain.slurm.rows import AccountingRow, QueueRow, RecordAnswer


# a slurmctld that limits its users' rate lets them wait, without a word and without an end
TIMEOUT_S = 120.0
_SEARCH_TIMEOUT_S = 15.0  # a search has a minute in all, and the user waits for it

_UNKNOWN_JOB = "Invalid job id specified"
_NO_ACCOUNTING = "Slurm accounting storage is disabled"
_UNKNOWN_FIELD = "Invalid field requested"
_CLUSTER_NAME = re.compile(r"^ClusterName\s*=\s*(\S+)", re.MULTILINE)


class SlurmScheduler:
    """Slurm, through the commands that are on this machine."""

    name = "slurm"

    def __init__(
        self,
        runner: Runner,
        cluster: str = "",
        *,
        timeout_s: float = TIMEOUT_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Set up without asking anything.

        Args:
            runner: what starts programs.
            cluster: another cluster's name (as for ``-M``); empty for the one of this machine.
            timeout_s: how long a question may take, in seconds.
            clock: the time in Unix seconds.
        """
        self._runner = runner
        self._cluster = cluster
        self._timeout_s = timeout_s
        self._clock = clock
        self._fields: tuple[str, ...] = commands.ACCOUNTING_FIELDS

    def ask_queue(self, user: str) -> RawAnswer | Unreachable:
        """Ask for all jobs of ``user``, a name or a number; see `Scheduler`."""
        asked_s = self._clock()
        answer = self._ask(commands.queue(user, self._cluster))
        if isinstance(answer, Unreachable):
            return answer
        fault = squeue.fault_in(answer.stdout)
        return Unreachable(f"squeue: {fault}") if fault else RawAnswer(answer.stdout, asked_s)

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[QueueRow, ...]:
        """Read the rows of some jobs; see `Scheduler`."""
        return squeue.read_queue(text, job_ids)

    def ask_record(self, job_id: int) -> RecordAnswer:
        """Ask slurmctld for its record of one job; see `Scheduler`."""
        answer = self._run(commands.record(job_id, self._cluster))
        if isinstance(answer, Ran) and answer.exit_code and _UNKNOWN_JOB in answer.stderr:
            return NotListed()
        sound = _sound(answer)
        if isinstance(sound, Unreachable):
            return sound
        found = scontrol.read_records(sound.stdout)
        fault = scontrol.fault_in(sound.stdout, found)
        return Unreachable(f"scontrol: {fault}") if fault else found

    def ask_log_templates(self, job_id: int) -> Templates | None:
        """Ask for the patterns of a job's log files, as given to sbatch; see `Scheduler`."""
        answer = self._ask(commands.templates(job_id, self._cluster))
        if isinstance(answer, Unreachable):
            return None
        lines = (line.split(commands.SEP) for line in answer.stdout.split("\n"))
        rows = [row for row in lines if len(row) == len(commands.TEMPLATE_FIELDS)]
        # of a heterogeneous job only the first component, whose own id is the job's, runs the script
        rows.sort(key=lambda row: row[0] != str(job_id))
        if not rows:
            return None
        own_id, listed, workdir, stderr, stdout = rows[0]
        return templates_from_record(
            stdout, stderr, workdir, is_array="_" in listed, job_id=values.number(own_id)
        )

    def ask_accounting(
        self, job_ids: Sequence[int], within_s: float = NO_HURRY_S
    ) -> RawAnswer | Disabled | Unreachable:
        """Ask sacct once for all those jobs; see `Scheduler`."""
        asked_s = self._clock()
        if not job_ids:
            return RawAnswer("", asked_s)  # without ids sacct would list everything of today
        answer = self._run(commands.accounting(job_ids, self._fields, self._cluster), within_s)
        if isinstance(answer, Ran) and _UNKNOWN_FIELD in answer.stderr:
            self._fields = self._known_fields()
            answer = self._run(commands.accounting(job_ids, self._fields, self._cluster), within_s)
        if isinstance(answer, Ran) and _NO_ACCOUNTING in answer.stderr:
            return Disabled()
        sound = _sound(answer)
        if isinstance(sound, Unreachable):
            return sound
        if not sacct.is_answer(sound.stdout):
            return Unreachable(f"sacct: its answer makes no sense: {sound.stdout[:80]!r:.120}")
        return RawAnswer(sound.stdout, asked_s)

    def sessions(self) -> Sessions:
        """Ask which jobs of this user are in the queue, and from which login session each came."""
        argv = commands.sessions(str(os.getuid()), self._cluster)
        answer = _sound(self._runner.capture(argv, min(self._timeout_s, _SEARCH_TIMEOUT_S)))
        return answer if isinstance(answer, Unreachable) else read_sessions(answer.stdout)

    def _known_fields(self) -> tuple[str, ...]:
        """Return those of our fields that this sacct has; all, if it will not say."""
        answer = self._ask(commands.accounting_fields())
        known = set() if isinstance(answer, Unreachable) else set(answer.stdout.split())
        return tuple(name for name in commands.ACCOUNTING_FIELDS if name in known) or self._fields

    def read_accounting(self, text: str, job_id: int) -> tuple[AccountingRow, ...]:
        """Read the rows of one job; see `Scheduler`."""
        return sacct.read_accounting(text, job_id)

    def script_of(self, job_id: int) -> str:
        """Ask for the batch script; see `Scheduler`."""
        answer = self._ask(commands.script(job_id, self._cluster))
        return "" if isinstance(answer, Unreachable) else answer.stdout

    def cluster_name(self) -> str:
        """Ask slurmctld for its cluster's name; see `Scheduler`."""
        if self._cluster:
            return self._cluster
        answer = self._ask(commands.configuration())
        match = None if isinstance(answer, Unreachable) else _CLUSTER_NAME.search(answer.stdout)
        return match[1] if match else ""

    def _run(self, argv: Sequence[str], within_s: float = NO_HURRY_S) -> Ran | TimedOut | NotStarted:
        return self._runner.capture(argv, min(self._timeout_s, within_s))

    def _ask(self, argv: Sequence[str]) -> Ran | Unreachable:
        return _sound(self._run(argv))


def _sound(answer: Ran | TimedOut | NotStarted) -> Ran | Unreachable:
    """Tell an answer from a failure. squeue ends with 0 after ``error: Invalid user`` and prints nothing."""
    if not isinstance(answer, Ran) or answer.exit_code != 0:
        return Unreachable(answer.error_text)
    if not answer.stdout and "error:" in answer.stderr:
        return Unreachable(answer.error_text)
    return answer
