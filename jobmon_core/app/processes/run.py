"""Use case: run a command in the foreground as a local job, which is watched like any other."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.analysis.explain import explain
from jobmon_core.analysis.explainer import evidence_of
from jobmon_core.analysis.job_logs import log_files, logs_of_run
from jobmon_core.app.lookup import look_up
from jobmon_core.app.patterns import own_pattern_file
from jobmon_core.app.processes.progress_warnings import ProgressWarnings
from jobmon_core.app.submit import SubmitJob
from jobmon_core.domain.diagnosis.patterns import job_patterns
from jobmon_core.domain.errors import JobmonError, StateUnreadable, StorageFailed
from jobmon_core.domain.messages.job_ended import job_ended_messages
from jobmon_core.domain.slurm.exit_codes import exit_phrase
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.polling.queue import SharedQueue
from jobmon_core.scheduler.command_name import INTERPRETER, program_or_script
from jobmon_core.scheduler.local.backend import LOCAL
from jobmon_core.scheduler.local.command import CommandOptions, CommandSubmitter
from jobmon_core.scheduler.local.foreground import ForegroundJob, ForwardedSignals, TerminalClosed
from jobmon_core.scheduler.local.job_dir import JobDir

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.delivery.outbox import Message
    from jobmon_core.domain.job_settings import JobSettings
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import End, Task
    from jobmon_core.lifecycle.start import MonitorStarter
    from jobmon_core.scheduler.local.job_dir import TaskRecord

_NO_EXIT_CODE = 1  # the exit code if the command never started, or nothing recorded how it ended
_SIGNAL_BASE = 128  # a shell reports "killed by signal n" as 128 + n
_TERMINAL_CLOSED = _SIGNAL_BASE + signal.SIGHUP


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Runs commands of one user in the foreground."""

    ctx: Context
    starter: MonitorStarter
    tell: Callable[[str], None]

    def run(
        self, command: Sequence[str], settings: JobSettings | None, *, output: str = "", error: str = ""
    ) -> int:
        """Run a command, watch it and copy its output to stdout and stderr; return its exit code.

        SIGINT, SIGQUIT and SIGTERM are passed on. If the terminal is closed, the job goes on in the
        background. ``output`` and ``error`` are file name patterns of the logs, see `CommandOptions`.

        Raises:
            ConfigInvalid, CommandMissing: nothing was started.
            StateUnreadable: the command runs, but its supervisor is not recorded.
        """
        root = self.ctx.home.backend_folder(LOCAL.name)
        name = settings.name if settings else ""
        options = CommandOptions(name, output, error, _variables(settings))
        submitter = CommandSubmitter(root, options)
        submit_job = SubmitJob(self.ctx, self.starter, self.tell)
        signals = ForwardedSignals()
        with signals.installed():
            submission = submit_job.submit_command(LOCAL.name, submitter, command, settings)
            if submission.job is None:
                return submission.exit_code
            ref = submission.job.ref
            folder = JobDir(root / str(ref.job_id))
            supervisor = folder.owner()
            if supervisor is None:
                raise StateUnreadable(f"job {ref} runs, but {folder.path} does not name its supervisor")
            foreground = ForegroundJob(folder, supervisor)

            def tell_on_new_line(text: str) -> None:
                foreground.end_line()
                self.tell(text)

            try:
                signals.forward_to(supervisor)
                record = foreground.copy_output(self._progress_warnings(ref, tell_on_new_line))
                foreground.end_line()
            except TerminalClosed:
                self.tell(f"the terminal was closed; job {ref} goes on in the background")
                return _TERMINAL_CLOSED
        self._tell_end(ref, record)
        self._notify_monitor(ref)
        return _NO_EXIT_CODE if record is None else _exit_code(record)

    def _progress_warnings(self, ref: JobRef, tell: Callable[[str], None]) -> Callable[[], None]:
        """Return a function that tells what the monitor finds wrong with the progress of the job."""
        jobs = self.ctx.store.find(ref)
        if not jobs:  # it is not watched
            return lambda: None
        return ProgressWarnings(self.ctx.progress_file(jobs[-1].id), self.ctx.clock, tell).look

    def _notify_monitor(self, ref: JobRef) -> None:
        """Make the monitor see the end now, rather than when its next check is due."""
        jobs = self.ctx.store.find(ref)
        if not jobs:
            return
        job = jobs[-1]
        file = self.ctx.shared_answer("queue", LOCAL.name, "", job.user)
        queue = SharedQueue(self.ctx.scheduler(LOCAL.name), file, self.ctx.clock)
        status = job_status(self.ctx, job)
        with suppress(StorageFailed, ProcessLookupError):  # then it sees the end a little later
            queue.view(job.user, job.job_id, max_age_s=0.0)  # the monitor reads this answer
            if status.health is Health.ALIVE and status.owner:
                os.kill(status.owner.pid, signal.SIGUSR1)

    def _tell_end(self, ref: JobRef, record: TaskRecord | None) -> None:
        if record is None:
            self.tell(f"job {ref}: its supervisor was killed, so it is not known how the command ended")
            return
        if record.pid is None and record.reason:  # it has the form "JobLaunchFailure: could not open ..."
            # a diagnosis would be in Slurm's terms, and not name the file
            self.tell(f"job {ref} could not start: {record.reason.partition(': ')[2]}")
            return
        try:
            task, message = self._end(ref)
        except JobmonError as error:  # the caller still gets the exit code of the command
            self.tell(f"job {ref} has ended: {error}")
            return
        if task.diagnosis and task.diagnosis.cause:
            self.tell(message.title)
            if message.cause:
                self.tell(message.cause)
        else:
            self.tell(f"{message.title}{_exit_text(task.end)}")
        self.tell(f"its output is in {record.stdout}; `jobmon show {ref}` shows more")

    def _end(self, ref: JobRef) -> tuple[Task, Message]:
        """Return the ended task, and a message about its end like the one that its monitor will send."""
        now_s = self.ctx.clock.now()
        known = self.ctx.store.find(ref)[-1:] or [WatchedJob("", ref.job_id, now_s, backend=LOCAL.name)]
        job = look_up(known[0], self.ctx.scheduler(LOCAL.name), now_s)
        (task,) = job.tasks.values()
        if task.end is not None:
            diagnosis = explain(
                evidence_of(task.end, LOCAL.name),
                *log_files(job, task),
                own_pattern_file(self.ctx),
                job_id=ref.job_id,
                named_logs=logs_of_run(job, task),
                job_patterns=job_patterns(job.settings),
            )
            task = replace(task, diagnosis=diagnosis)
        (message,) = job_ended_messages(replace(job, tasks={task.key: task}), now_s, per_task=False)
        return task, message


def command_script(command: Sequence[str]) -> str:
    """Return the script that a command runs: the first of its words that names a file and no interpreter.

    Empty if there is none, e.g. for ``python -m train``.
    """
    words = (program_or_script(command, ""), *command[1:])
    files = (word for word in words if os.path.isfile(word))  # noqa: PTH113 - Path.is_file raises without permission
    return next((word for word in files if not INTERPRETER.fullmatch(Path(word).name)), "")


def _variables(settings: JobSettings | None) -> dict[str, str]:
    """Return the variables to set for the job: for unbuffered Python output and for the selected GPUs."""
    variables = {} if "PYTHONUNBUFFERED" in os.environ else {"PYTHONUNBUFFERED": "1"}
    if settings and settings.gpu_ids:
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, settings.gpu_ids))
    return variables


def _exit_text(end: End | None) -> str:
    """Return the exit status of a failure that nothing explains, as the end of a sentence."""
    if end is None or end.outcome is not Outcome.FAILURE:
        return ""
    return f": {exit_phrase(end.exit_code, end.signal)}, and nothing in its output explains it"


def _exit_code(record: TaskRecord) -> int:
    """Return the exit code of an ended task as a shell reports it; 1 if it never started."""
    if record.pid is None:
        return _NO_EXIT_CODE
    if record.signal is not None:
        return _SIGNAL_BASE + record.signal
    return _NO_EXIT_CODE if record.exit_code is None else record.exit_code
