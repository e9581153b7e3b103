"""Submit the next attempt of a lineage, once, whatever is killed meanwhile.

All of it happens under the lineage's lock, which the helper that submits inherits. What it is about to do is
saved before sbatch starts, and found again after it was cut off, see `submit_once`: Slurm knows the job by
its session; until it answers, nothing is submitted.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.restarts.pick import is_still, set_aside
from jobmon_core.app.processes.run import command_submitter
from jobmon_core.app.remote.kubernetes import TO_KUBERNETES
from jobmon_core.app.remote.ray_cluster import TO_RAY
from jobmon_core.app.remote.submitting import submit_further
from jobmon_core.app.remote.watch import run_on_host
from jobmon_core.app.runs.recorded import become_like, script_path, tracker_ids, with_script
from jobmon_core.app.runs.submit_request import SubmitRequest
from jobmon_core.app.sbatch_arguments import readable
from jobmon_core.app.submit import SubmitJob
from jobmon_core.app.submit_once import Reply, helper_runs, reply_to, run_in_session
from jobmon_core.domain.backends import BY_TEXT, is_local, is_ray, scheduler_phrase
from jobmon_core.domain.before.batch_script.request import read_request
from jobmon_core.domain.errors import (
    AlreadyWatched,
    JobmonError,
    SchedulerRejected,
    StateUnreadable,
    StorageFailed,
)
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.restart.decide import due_s
from jobmon_core.domain.job.restart.model import (
    Attempt,
    Decision,
    Lineage,
    SubmissionResult,
    Submitting,
    Verdict,
    why_alive,
)
from jobmon_core.domain.job.restart.next_submission import (
    NextAttempt,
    export_option,
    resume_words,
    variables_of,
)
from jobmon_core.domain.messages.what_follows import origin_text
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable, is_no_answer
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.scheduler.base import CutOffSubmission, Submission, Submitted, Untraceable
from jobmon_core.scheduler.ssh.backend import SSH
from jobmon_core.store.jobs import Unreadable
from jobmon_core.system.helper import HelperFailed

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import AttemptPlace, RunOptions
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.job.tracking.new_job import NewJob
    from jobmon_core.store.lineages import RecordedSubmission

_RETRY_S = 60.0  # after a failure that may pass
_RESOLVE_S = 15.0  # until it is asked again what became of a submission, or of processes that are left
_SETTLED_S = 20.0  # by then Slurm lists the job of an sbatch that was killed while Slurm was busy
_MAX_CHARS = 400  # of what sbatch says
ALL_SUBMISSIONS = "all"  # their lock: no lineage has this id


def submit_attempt(ctx: Context, lineage_id: str, number: int) -> SubmissionResult:
    """Submit the attempt with this number, if that was decided; never raises a `JobmonError`.

    One is submitted at a time, so that two of a user do not both see room for one more within the hour.
    """
    now_s = ctx.clock.now()
    try:
        with ctx.lineages.locked(lineage_id), ctx.lineages.locked(ALL_SUBMISSIONS):
            lineage = ctx.lineages.load(lineage_id)
            return _SubmitAttempt(ctx, lineage, number, now_s).run()
    except JobmonError as error:
        return SubmissionResult(retry_s=now_s + _RETRY_S, why=str(error))


@dataclass(slots=True)
class _SubmitAttempt:
    ctx: Context
    lineage: Lineage
    number: int
    now_s: float
    previous: Attempt = field(init=False)
    decision: Decision = field(init=False)

    def run(self) -> SubmissionResult:
        if known := self.lineage.attempt(self.number):
            return self._already_submitted(known)
        previous = self.lineage.attempt(self.number - 1)
        decision = previous.decision if previous else None
        if previous is None or decision is None:
            return SubmissionResult(why=f"lineage {self.lineage.id} has no decision to submit it")
        self.previous, self.decision = previous, decision
        if decision.verdict is not Verdict.RESTART:  # what was refused, and not told before a kill
            return SubmissionResult(why=decision.why, decision=decision)
        if previous.backend in BY_TEXT:
            return self._obstacle() or self._submitted_to_service()
        if self.lineage.submitting:
            become_like(self._recorded())
            result = self._resolved(self.lineage.submitting)
        else:
            result = None
        return result or self._obstacle() or self._submitted()

    def _obstacle(self) -> SubmissionResult | None:
        if self.lineage.ended_s is not None:
            return SubmissionResult(why=self.lineage.ended_why)
        if (at_s := due_s(self.ctx.lineages.readable(), self.now_s)) > self.now_s:
            return SubmissionResult(retry_s=at_s, why="too many attempts were submitted, or stopped, lately")
        job = self._previous_job()
        if job and (why := why_alive(self.ctx.processes_left(job))):
            return self._later(_RESOLVE_S, why)
        checkpoint = self.decision.checkpoint
        if checkpoint and not is_still(checkpoint, self.ctx.machine(job) if job else None):
            why = f"{checkpoint.path} is gone, or is not the checkpoint any more that was picked"
            return self._given_up("replaced", why)
        if job and self.lineage.settings.set_aside:
            progress, script = self.ctx.progress_file(job.id).read(), self._recorded().script or ""
            set_aside(job, progress, self.lineage, self.decision, self.now_s, script=script)
        return None

    def _already_submitted(self, attempt: Attempt) -> SubmissionResult:
        with suppress(StateUnreadable, AlreadyWatched):
            if job_status(self.ctx, self.ctx.store.load(attempt.state_id)).health is Health.DEAD:
                MonitorStarter(self.ctx).start([attempt.state_id])
        return SubmissionResult(job=attempt.job)

    # what became of an earlier submission

    def _resolved(self, submitting: Submitting) -> SubmissionResult | None:
        if helper_runs(submitting.session, submitting.host):  # where files have no locks
            return self._later(_RESOLVE_S, "it is being submitted")
        found = self._find(submitting)
        if isinstance(found, Unreachable):
            return self._later(_RETRY_S, f"its submission was cut off: {found.why}")
        if isinstance(found, NotListed):
            if self.now_s < (settled_s := submitting.since_s + _SETTLED_S):
                return SubmissionResult(retry_s=settled_s, why="its submission was cut off")
            self._save(replace(self.lineage, submitting=None))
            return None
        if isinstance(found, JobRef):
            return self._adopted(found)
        why = f"its submission was cut off, and it is not known whether there is a job: {found.why}"
        return self._given_up("untraceable", f"{why}; look with `squeue` and `sacct`")

    def _find(self, submitting: Submitting) -> JobRef | NotListed | Untraceable | Unreachable:
        recorded = self._recorded()
        jobs = [each for each in self.ctx.store.all() if not isinstance(each, Unreadable)]
        known = next((each.ref for each in jobs if self._is_this_attempt(each)), None)
        if known or self.previous.backend == SSH.name:  # its state file is saved before it is started
            return known or NotListed()
        others = {each.ref for each in jobs if each.registered_s >= submitting.since_s}
        submission = CutOffSubmission(
            submitting.session,
            submitting.host,
            submitting.since_s,
            recorded.folder,
            self._arguments(recorded),
        )
        control = self.ctx.job_control(self.previous.backend)
        return control.find_submission(submission, others, self.now_s)

    def _is_this_attempt(self, job: WatchedJob) -> bool:
        return job.settings is not None and job.settings.attempt == self._place()

    def _adopted(self, ref: JobRef) -> SubmissionResult:
        for each in self.ctx.store.find(ref):
            if self._is_this_attempt(each):
                self._record_id(each.id, str(ref))
                return self._already_submitted(self.lineage.attempts[-1])
        attempt, job = self._next_attempt(self._recorded()), self._previous_job()
        cluster = job.cluster if job and job.remote else ""
        request = SubmitRequest(self.previous.backend, ())
        submit_job = SubmitJob(self.ctx, _ignore, request, attempt=attempt)
        submit_job.watch(self.previous.backend, Submitted(ref, cluster))
        if known := self.lineage.attempt(self.number):
            return SubmissionResult(job=known.job)
        return self._later(_RESOLVE_S, f"job {ref} cannot be recorded")

    # the submission

    def _submitted(self) -> SubmissionResult:
        errors = os.memfd_create("sbatch")
        try:
            reply = run_in_session(Reply, self._in_helper, errors)
        except HelperFailed as error:
            return self._later(_RESOLVE_S, f"the submission was cut off: {error}")
        said = _words(os.pread(errors, 65536, 0))
        os.close(errors)
        self.lineage = self.ctx.lineages.load(self.lineage.id)
        if known := self.lineage.attempt(self.number):
            return SubmissionResult(job=known.job)
        problem = reply.error or said or f"sbatch failed with exit code {reply.exit_code}"
        if reply.may_have_job:
            return self._later(_RESOLVE_S, problem)
        self._save(replace(self.lineage, submitting=None))
        if reply.is_missing:
            return self._given_up("no_scheduler", f"{problem} (on {os.uname().nodename})")
        if reply.error or is_no_answer(said):
            return self._later(_RETRY_S, problem)
        why = f"the submission {origin_text(self.decision.checkpoint)} was refused: {problem}"
        return self._given_up("refused", why)  # the reason may pass, e.g. a limit of submitted jobs

    def _submitted_to_service(self) -> SubmissionResult:
        try:
            submit_further(
                self.ctx,
                TO_RAY if is_ray(self.previous.backend) else TO_KUBERNETES,
                self.lineage,
                self.number,
                self.decision,
                settings=self._settings(),
                record=self._record_id,
            )
        except SchedulerRejected as error:
            where = scheduler_phrase(self.previous.backend, self.previous.cluster)
            return self._given_up("refused", f"{where} did not accept it: {error}")
        known = self.lineage.attempt(self.number)
        return SubmissionResult(job=known.job if known else "")

    def _in_helper(self) -> Reply:
        try:
            recorded = self._recorded()
            become_like(recorded)
            submitting = Submitting(self.number, self.ctx.clock.now(), os.getpid(), os.uname().nodename)
            self._save(replace(self.lineage, submitting=submitting))
        except JobmonError as error:
            return Reply(error=str(error))
        return reply_to(lambda: self._submission(recorded))

    def _submission(self, recorded: RecordedSubmission) -> Submission:
        attempt, run = self._next_attempt(recorded), recorded.run
        script = replace(recorded, script=None) if self.lineage.settings.current_script else recorded
        with with_script(self.ctx, script, self._arguments(recorded), self.previous.backend) as arguments:
            if run and self.previous.backend == SSH.name:
                return self._start_on_host(run, arguments, attempt)
            request = SubmitRequest(
                self.previous.backend,
                arguments,
                script_path=script_path(recorded, self.previous.backend),
                sentinel=recorded.sentinel,
                run=run,
            )
            submit_job = SubmitJob(self.ctx, _ignore, request, attempt=attempt)
            if run:
                submitter = command_submitter(self.ctx, attempt.settings, run, append=True)
                return submit_job.submit_command(submitter, attempt.settings)
            return submit_job.submission()

    def _start_on_host(self, run: RunOptions, command: tuple[str, ...], attempt: NextAttempt) -> Submission:
        """Start a command on its host at most once; the monitor finds out whether it did, if need be."""
        host, starter = self.previous.cluster, MonitorStarter(self.ctx)
        job, problem = run_on_host(self.ctx, starter, host, command, run, attempt=attempt)
        return Submission(0, Submitted(job.ref, job.cluster), problem)

    def _recorded(self) -> RecordedSubmission:
        recorded = self.ctx.lineages.submission(self.lineage.id).read_to_change()
        if not recorded.folder:
            raise StorageFailed(f"the submission of lineage {self.lineage.id} is not recorded any more")
        return recorded

    def _arguments(self, recorded: RecordedSubmission) -> tuple[str, ...]:
        path = self.decision.checkpoint.path if self.decision.checkpoint else ""
        return (*recorded.arguments, *resume_words(self.lineage.settings.resume_arg, path))

    def _next_attempt(self, recorded: RecordedSubmission) -> NextAttempt:
        place, backend = self._place(), self.previous.backend
        variables = {
            **tracker_ids(self.ctx, self.lineage, recorded),
            **variables_of(place, self.decision.cause or self.decision.rule),
        }
        if line := find_backend(backend).command_line:
            after = line.after("afterany", int(self.previous.job), is_array=False)
            return NextAttempt(self._settings(), (*after, *line.never_again), variables, self._record)
        options, arguments = list(self.decision.options), readable(self._arguments(recorded))
        if not is_local(backend):
            options += [f"--dependency=afterany:{self.previous.job}", "--no-requeue"]
        with suppress(SchedulerRejected):  # the first submission would have failed
            request = read_request(arguments, os.environ, recorded.script or "")
            options += export_option(request.options.get("export", ""), variables)
        return NextAttempt(self._settings(), tuple(options), variables, self._record)

    def _settings(self) -> JobSettings:
        job = self._previous_job()
        settings = (job.settings if job else None) or JobSettings()
        # the stages of a chain that wait for an attempt do not follow the next one
        return replace(settings, restart=self.lineage.settings, attempt=self._place(), chain=None)

    def _previous_job(self) -> WatchedJob | None:
        try:
            return self.ctx.store.load(self.previous.state_id)
        except StateUnreadable:  # the user may have removed it
            return None

    def _place(self) -> AttemptPlace:
        return self.lineage.place(self.number, self.decision.checkpoint)

    def _record(self, job: NewJob) -> None:
        with suppress(JobmonError):  # the job must be watched all the same; the next try finds it
            self._record_id(job.id, str(job.job_id))

    def _record_id(self, state_id: str, job: str) -> None:
        attempt = Attempt(
            self.number,
            state_id,
            job,
            self.previous.backend,
            self.previous.cluster,
            self.ctx.clock.now(),
            self.decision.checkpoint,
        )
        self._save(replace(self.lineage.with_attempt(attempt), submitting=None))

    def _save(self, lineage: Lineage) -> None:
        self.lineage = self.ctx.lineages.replace(lineage.id, lambda _old: lineage)

    # what cannot be done

    def _later(self, wait_s: float, why: str) -> SubmissionResult:
        return SubmissionResult(retry_s=self.now_s + wait_s, why=why)

    def _given_up(self, rule: str, why: str) -> SubmissionResult:
        decision = replace(self.decision, verdict=Verdict.ASK, rule=rule, why=why)
        attempt = replace(self.previous, decision=decision)
        self._save(replace(self.lineage.with_attempt(attempt), submitting=None))
        return SubmissionResult(why=why, decision=decision)


def _ignore(_text: str) -> None:
    """Drop what a submission tells its user: nobody reads it here."""


def _words(output: bytes) -> str:
    lines = (line.strip() for line in output.decode(errors="replace").splitlines())
    texts = (line.removeprefix("sbatch: ").removeprefix("error: ") for line in lines if line)
    return "; ".join(dict.fromkeys(texts))[:_MAX_CHARS]
