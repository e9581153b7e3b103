"""Use case: run a command in the foreground as a local job, which is watched like any other."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.analysis.explainer import explain_task
from jobmon_core.app.jobs.lookup import look_up
from jobmon_core.app.patterns import own_pattern_file
from jobmon_core.app.restarts.first_attempt import first_attempt
from jobmon_core.app.runs.submit_request import SubmitRequest
from jobmon_core.app.submit import SubmitJob
from jobmon_core.domain.errors import JobmonError, StateUnreadable, StorageFailed
from jobmon_core.domain.job.job_settings import RunOptions
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.logs.progress.events.event import WARNINGS, EventKind
from jobmon_core.domain.messages.job_ended import job_ended_messages
from jobmon_core.domain.slurm.states import Outcome, exit_phrase
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.polling.queue import SharedQueue
from jobmon_core.scheduler.local.backend import LOCAL
from jobmon_core.scheduler.local.command import CommandSubmitter
from jobmon_core.scheduler.local.foreground import ForegroundJob, ForwardedSignals, TerminalClosed
from jobmon_core.scheduler.local.job_dir import JobDir
from jobmon_core.scheduler.this_host import INTERPRETER, program_or_script
from jobmon_core.system.files import file_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.delivery.outbox import Message
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.job_settings import JobSettings
    from jobmon_core.domain.job.tracking.model import End, Task
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.scheduler.local.job_dir import TaskRecord
    from jobmon_core.store.json_file import JsonFile
    from jobmon_core.system.clock import Clock
    from jobmon_core.system.files import Stamp

_NO_EXIT_CODE = 1  # if the command never started, or nothing recorded how it ended
_SIGNAL_BASE = 128
_DOUBTFUL = 1  # if the user wants it to differ
_ANALYSIS_S = 30.0  # in which a monitor analyses an end
_LOOK_S = 0.2
_WARNINGS_INTERVAL_S = 2.0
_ADVICE = {EventKind.STALLED: "; look at it, jobmon goes on watching"}
_TERMINAL_CLOSED = _SIGNAL_BASE + signal.SIGHUP


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Runs commands in the foreground."""

    ctx: Context
    tell: Callable[[str], None]

    def run(
        self,
        command: Sequence[str],
        settings: JobSettings | None,
        *,
        output: str = "",
        error: str = "",
        strict: bool = False,
        restart: Callable[[JobSettings], JobSettings] | None = None,
    ) -> int:
        """Run a command, watch it and copy its output; return its exit code.

        ``strict``: that of a doubtful success is 1. ``restart`` changes the settings.
        """
        root = self.ctx.home.backend_folder(LOCAL.name)
        run = RunOptions(output, error)
        request = SubmitRequest(LOCAL.name, tuple(command), restart=restart, run=run)
        attempt = first_attempt(self.ctx, request, settings, self.tell)
        submitter = command_submitter(self.ctx, settings, run)
        submit_job = SubmitJob(self.ctx, self.tell, request, attempt=attempt)
        signals = ForwardedSignals()
        with signals.installed():
            submission = submit_job.submit_command(submitter, settings)
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
        why_doubtful = self._tell_end(ref, record)
        self._notify_monitor(ref)
        exit_code = _NO_EXIT_CODE if record is None else _exit_code(record)
        if exit_code == 0 and not why_doubtful and (strict or (settings and settings.names_results)):
            why_doubtful = self._why_doubtful(ref)
            if why_doubtful:
                self.tell(f"job {ref} is doubtful: {why_doubtful}")
        if strict and exit_code == 0 and why_doubtful:
            return _DOUBTFUL
        return exit_code

    def _why_doubtful(self, ref: JobRef) -> str:
        deadline_s = self.ctx.clock.now() + _ANALYSIS_S
        while (jobs := self.ctx.store.find(ref)) and not jobs[-1].closed:
            if self.ctx.clock.now() > deadline_s or job_status(self.ctx, jobs[-1]).health is not Health.ALIVE:
                break
            self.ctx.clock.wait(_LOOK_S)
        if not jobs or not jobs[-1].closed:
            return "its monitor has not analysed it"
        found = (task.diagnosis for task in jobs[-1].tasks.values() if task.is_doubtful_success)
        return next((diagnosis.doubt for diagnosis in found if diagnosis), "")

    def _progress_warnings(self, ref: JobRef, tell: Callable[[str], None]) -> Callable[[], None]:
        jobs = self.ctx.store.find(ref)
        if not jobs:  # it is not watched
            return lambda: None
        return ProgressWarnings(self.ctx.progress_file(jobs[-1].id), self.ctx.clock, tell).look

    def _notify_monitor(self, ref: JobRef) -> None:
        jobs = self.ctx.store.find(ref)
        if not jobs:
            return
        job = jobs[-1]
        file = self.ctx.shared_answer("queue", LOCAL.name, "", job.user)
        queue = SharedQueue(self.ctx.scheduler(LOCAL.name), file, self.ctx.clock)
        status = job_status(self.ctx, job)
        with suppress(StorageFailed):
            queue.view(job.user, job.job_id, max_age_s=0.0)
            if status.health is Health.ALIVE and status.owner:
                status.owner.wake()

    def _tell_end(self, ref: JobRef, record: TaskRecord | None) -> str:
        if record is None:
            self.tell(f"job {ref}: its supervisor was killed, so it is not known how the command ended")
            return ""
        if record.pid is None and record.reason:  # in the form "JobLaunchFailure: could not open ..."
            self.tell(f"job {ref} could not start: {record.reason.partition(': ')[2]}")
            return ""
        try:
            task, message = self._end(ref)
        except JobmonError as error:
            self.tell(f"job {ref} has ended: {error}")
            return ""
        if task.diagnosis and task.diagnosis.cause:
            self.tell(message.title)
            if message.cause:
                self.tell(message.cause)
        else:
            self.tell(f"{message.title}{_exit_text(task.end)}")
        self.tell(f"its output is in {record.stdout}; `jobmon show {ref}` shows more")
        if task.diagnosis and task.is_doubtful_success:
            return task.diagnosis.doubt
        return ""

    def _end(self, ref: JobRef) -> tuple[Task, Message]:
        now_s = self.ctx.clock.now()
        known = self.ctx.store.find(ref)[-1:] or [WatchedJob("", ref.job_id, now_s, backend=LOCAL.name)]
        job = look_up(known[0], self.ctx.scheduler(LOCAL.name), now_s)
        (task,) = job.tasks.values()
        if task.end is not None:
            diagnosis = explain_task(job, task, task.end, own_pattern_file(self.ctx))
            task = replace(task, diagnosis=diagnosis)
        (message,) = job_ended_messages(replace(job, tasks={task.key: task}), now_s, per_task=False)
        return task, message


@dataclass(slots=True)
class ProgressWarnings:
    """The warnings in the progress file of a job, each said once."""

    file: JsonFile[JobProgress]
    clock: Clock
    tell: Callable[[str], None]
    _looked_s: float = field(default=0.0, init=False)
    _stamp: Stamp | None = field(default=None, init=False)
    _told_s: float = field(default=0.0, init=False)

    def look(self) -> None:
        """Say what is new; call this often."""
        now_s = self.clock.now()
        if 0 <= now_s - self._looked_s < _WARNINGS_INTERVAL_S:
            return
        self._looked_s = now_s
        stamp = file_stamp(self.file.path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        new = [event for event in self.file.read().events if event.at_s > self._told_s]
        for event in new:
            self._told_s = max(self._told_s, event.at_s)  # a checkpoint is listed late
            if event.is_quiet:
                continue
            if event.kind in WARNINGS:
                kind = "" if event.text.startswith(event.kind) else f"{event.kind}: "
                self.tell(f"{kind}{event.text}{_ADVICE.get(event.kind, '')}")
            elif event.ended in WARNINGS:
                self.tell(f"{event.kind}: {event.text}")


def command_script(command: Sequence[str]) -> str:
    """Return the first word of a command that names a file and no interpreter."""
    words = (program_or_script(command, ""), *command[1:])
    files = (word for word in words if os.path.isfile(word))  # noqa: PTH113 - Path.is_file raises without permission
    return next((word for word in files if not INTERPRETER.fullmatch(Path(word).name)), "")


def command_submitter(
    ctx: Context, settings: JobSettings | None, run: RunOptions, *, append: bool = False
) -> CommandSubmitter:
    """With ``append``, existing logs are kept."""
    name = ""
    if settings:
        name = settings.name
    root = ctx.home.backend_folder(LOCAL.name)
    return CommandSubmitter(root, name, run.output, run.error, _variables(settings), append)


def _variables(settings: JobSettings | None) -> dict[str, str]:
    variables = {} if "PYTHONUNBUFFERED" in os.environ else {"PYTHONUNBUFFERED": "1"}
    if settings and settings.gpu_ids:
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, settings.gpu_ids))
    return variables


def _exit_text(end: End | None) -> str:
    if end is None or end.outcome is not Outcome.FAILURE:
        return ""
    return f": {exit_phrase(end.exit_code, end.signal)}, and nothing in its output explains it"


def _exit_code(record: TaskRecord) -> int:
    if record.pid is None:
        return _NO_EXIT_CODE
    if record.signal is not None:
        return _SIGNAL_BASE + record.signal
    if record.exit_code is None:
        return _NO_EXIT_CODE
    return record.exit_code
