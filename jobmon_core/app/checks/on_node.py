"""Look at a node with a short job, which runs the setup lines of the user's script there."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from jobmon_core.domain.backends import is_local
from jobmon_core.domain.before.checks.node_report import node_items, read_report
from jobmon_core.domain.before.checks.node_script import node_script
from jobmon_core.domain.errors import SchedulerMissing, SchedulerRejected, SchedulerUnavailable
from jobmon_core.domain.finding import Finding, failed, unknown, warned
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState, Phase
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jobmon_core.context import Context
    from jobmon_core.domain.before.checks.facts import Facts
    from jobmon_core.scheduler.base import Submitted

_ITEM = "node"
_POLL_S = 1.0
_RUN_S = 240.0  # the job's own time limit is five minutes
_LOG_S = 10.0  # a parallel file system may show a file late
_FOLDER = "checks"
_JOB_NAME = "jobmon-check"
_STARTING = (JobState.CONFIGURING, JobState.POWER_UP_NODE)  # its nodes boot, which may take long


@dataclass(frozen=True, slots=True)
class CheckNode:
    """Runs short jobs; ``tell`` prints a line for the user."""

    ctx: Context
    tell: Callable[[str], None]
    runner: Runner = field(default_factory=Runner)

    def check(self, backend: str, facts: Facts, wait_s: float) -> Iterator[Finding]:
        """Yield what a node shows about a submission.

        The short job is cancelled if it is still pending after ``wait_s`` seconds, if it runs for over four
        minutes, or if an exception such as that of Ctrl-C ends the check.
        """
        submit = find_backend(backend).submit_short_job
        if submit is None:
            yield replace(unknown(_why_no_node(backend)), id=_ITEM)
            return
        script = node_script(facts)
        folder = self.ctx.home.backend_folder(_FOLDER)
        path = folder / f"{_JOB_NAME}-{int(self.ctx.clock.now())}-{os.getpid()}.sh"
        log = path.with_suffix(".out")
        try:
            path.touch(mode=0o600)  # it may contain what the user's script keeps secret
            path.write_text(script.text, encoding="utf-8")
            end = self._run(
                backend,
                partial(submit, self.runner, path.stem, script.options, str(path), str(log)),
                log,
                wait_s,
            )
        finally:
            path.unlink(missing_ok=True)
            log.unlink(missing_ok=True)
        if isinstance(end, Finding):
            yield replace(end, id=_ITEM)
        else:
            yield from node_items(facts, script, read_report(end))

    def _run(self, backend: str, submit: Callable[[], Submitted], log: Path, wait_s: float) -> Finding | str:
        """Return what the job wrote, or why there is nothing."""
        try:
            job = submit()
        except SchedulerRejected as error:
            return failed(f"sbatch refuses the short job: {error}", "Your own job may be refused too.")
        except SchedulerMissing as error:
            return unknown(f"{error}")
        except SchedulerUnavailable as error:
            text = f"it is not known whether the short job was submitted: {error}"
            return warned(text, "Try again when Slurm responds.")
        try:
            self.tell(f"job {job.ref} looks at a node; Ctrl-C cancels it")
            return self._follow(backend, job, log, wait_s)
        except BaseException:
            self.tell(f"job {job.ref} {self._cancel(backend, job)}")
            raise

    def _follow(self, backend: str, job: Submitted, log: Path, wait_s: float) -> Finding | str:
        clock, scheduler = self.ctx.clock, self.ctx.scheduler(backend, job.cluster)
        asked_s, reason = clock.now(), ""
        started_s: float | None = None
        problem: Finding | None = None
        while problem is None:
            answer = scheduler.ask_record(job.ref.job_id)
            now_s = clock.now()
            if isinstance(answer, NotListed):
                return self._result(job, log, "")
            if not isinstance(answer, Unreachable):
                state, reason = answer[0].state, answer[0].reason
                if not state.is_alive:
                    return self._result(job, log, answer[0].raw_state)
                if state.phase is not Phase.WAITING and state not in _STARTING:
                    started_s = now_s if started_s is None else started_s
            if started_s is None and now_s - asked_s > wait_s:
                problem = _still_waiting(job, reason, wait_s)
            elif started_s is not None and now_s - started_s > _RUN_S:
                problem = warned(f"the short job {job.ref} did not end in time", "Check the node.")
            else:
                clock.wait(_POLL_S)
        return replace(problem, text=f"{problem.text}, and {self._cancel(backend, job)}")

    def _cancel(self, backend: str, job: Submitted) -> str:
        cluster = f"-M {job.cluster} " if job.cluster else ""
        if error := self.ctx.job_control(backend, job.cluster).cancel([job.ref]):
            return f"could not be cancelled ({error}); `scancel {cluster}{job.ref}` cancels it"
        return "was cancelled"

    def _result(self, job: Submitted, log: Path, state: str) -> Finding | str:
        """Return what the short job wrote; a parallel file system may show it late."""
        clock = self.ctx.clock
        until_s = clock.now() + _LOG_S
        while True:
            text = log.read_text(errors="replace") if log.is_file() else ""
            if "end" in read_report(text):
                return text
            if clock.now() > until_s:
                break
            clock.wait(_POLL_S)
        if not text:
            home = self.ctx.home.root
            advice = "Put jobmon's home where the nodes see it ($JOBMON_HOME), or check the node for a fault."
            return warned(f"the short job {job.ref} ended {state or '?'} without output in {home}", advice)
        last = text.strip().splitlines()[-1]
        return failed(f"the short job {job.ref} ended {state or '?'}: {last}", "Check its setup lines.")


def _why_no_node(backend: str) -> str:
    if is_local(backend):
        return f"jobs of the {backend} backend run on this host"
    return f"the {backend} backend takes no short job that could look at a node"


def _still_waiting(job: Submitted, reason: str, wait_s: float) -> Finding:
    why = f" ({reason})" if reason not in ("", "None") else ""
    return warned(
        f"the short job {job.ref} was still pending after {duration(wait_s)}{why}",
        "Try again with --wait 600, or when the partition is less busy.",
    )
