"""Follow a job of a Ray cluster, and submit it again after failures. The caller waits meanwhile.

No monitor does it, as after `submit --backend ray --restart`, since it must end with its caller: Ctrl-C ends
the restarts, too. It also stops a job that stalls before its first step, and reaches a cluster by its head
pod. The rules and the records are those of all lineages.

Whatever must survive the caller is in the lineage, which the name of the job leads to: that a stalled attempt
was to be stopped, and what was decided after an end. It is saved before it is done, so a call with the same
name goes on where a killed one was. Ray starts a job once under its submission id, also if two callers send
it.
"""

from __future__ import annotations

import json
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from jobmon_core.app.ray_job.checkpoints import newest_complete
from jobmon_core.app.ray_job.look import end_of, find_job, is_stalled, log_of, unknown
from jobmon_core.app.remote.ray_cluster import TO_RAY
from jobmon_core.app.remote.submitting import next_request
from jobmon_core.app.restarts.submit_attempt import ALL_SUBMISSIONS
from jobmon_core.domain.errors import SchedulerUnavailable, UnknownJob
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.job.job_settings import MAX_DELAY_S, RestartMode, RestartSettings
from jobmon_core.domain.job.restart.decide import decide_restart, due_s
from jobmon_core.domain.job.restart.model import Attempt, Lineage, Verdict
from jobmon_core.domain.job.restart.ray_attempts import (
    NAME_KEY,
    attempt_id,
    attempt_number,
    lineage_id,
    lost_package,
)
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.observe.patterns.restart_rules import restart_rules
from jobmon_core.scheduler.base import Fate
from jobmon_core.scheduler.ray.api import PodApi
from jobmon_core.scheduler.ray.cluster_state import death_of
from jobmon_core.scheduler.ray.poll import DELETED, FORGOTTEN, REPLACED
from jobmon_core.scheduler.ray.ray_job import RayFailed, read_job
from jobmon_core.scheduler.ray.submission import submit_through
from jobmon_core.store.lineages import RecordedSubmission

if TYPE_CHECKING:
    from logging import Logger

    from jobmon_core.app.ray_job.look import FoundJob
    from jobmon_core.context import Context
    from jobmon_core.domain.job.restart.model import Decision, PickedCheckpoint
    from jobmon_core.domain.job.restart.ray_attempts import Description
    from jobmon_core.scheduler.ray.api import RayApi
    from jobmon_core.scheduler.ray.ray_job import RayJob

_PROOF_S = 60.0
_LOOK_S = 5.0
_RAY = "ray"
_MAX_RESTARTS = "max_restarts"
_OWNED = "jobmon restarts this job already: `jobmon restarts {name}` shows it"
_NO_FOLDER = (
    "its working folder was sent to Ray as {package}, which Ray deletes after the job, and which folder it "
    "was is not known. A job can be submitted again if its folder is one of the cluster, or if jobmon sent it"
)
_NOT_DEAD = (
    "nothing proves that its processes have ended ({doubt}), so nothing was submitted: look on {node} "
    "whether they run. If they do not, submit_job_with_resume goes on from the newest checkpoint"
)
_CHANGED = (
    "its checkpoints have changed since it ended, perhaps by another process ({why}); nothing was submitted"
)
_NOTHING = "so nothing was submitted"


def restart_settings(max_restarts: int, delay_s: float, stall_s: float) -> RestartSettings:
    """Return what the user wants as the settings of a lineage."""
    return RestartSettings(
        RestartMode.ON,
        max_restarts=max_restarts,
        delay_s=delay_s,
        max_delay_s=max(MAX_DELAY_S, delay_s),
        stall_is_failure_s=stall_s,
    )


@dataclass(slots=True)
class AutoRestart:
    """One call of `ray_compat.auto_restart`."""

    _ctx: Context
    _api: RayApi
    _log: Logger
    _job_name: str
    _checkpoint_dir: str
    _settings: RestartSettings
    _interval_s: float
    _id: str = field(default="", init=False)
    _session: str = field(default="", init=False)
    _step: int | None = field(default=None, init=False)

    def run(self) -> dict[str, Any]:
        """Follow the job and its further attempts to the end; return the values of a `RestartResult`."""
        found = find_job(self._api, self._job_name)
        if found is None:
            return self._result(Lineage(), unknown(self._api, self._job_name))
        if self._is_owned(found.entry):
            return self._result(Lineage(), _OWNED.format(name=found.entry.name))
        self._open(found)
        while True:
            lineage = self._ctx.lineages.load(self._id)
            newest = lineage.newest
            if newest is None or lineage.ended_why:
                return self._result(lineage, lineage.ended_why)
            if newest.decision is None:
                problem = self._until_decided(lineage, newest)
            elif newest.decision.verdict is Verdict.RESTART:
                problem = self._until_submitted(lineage, newest, newest.decision)
            else:
                problem = newest.decision.why
            if problem:
                return self._result(self._ctx.lineages.load(self._id), problem)

    def _is_owned(self, entry: RayJob) -> bool:
        jobs = (each for each in self._ctx.store.all() if isinstance(each, WatchedJob) and not each.finished)
        own = (each for each in jobs if each.settings and each.settings.attempt and each.name == entry.name)
        return any(isinstance(self._api, PodApi) or each.cluster == self._api.service for each in own)

    def _open(self, found: FoundJob) -> None:
        entry, wanted, now_s = found.entry, self._settings, self._ctx.clock.now()
        number = attempt_number(entry.name, found.lineage)
        self._session = found.session
        self._id = lineage_id(entry.name, found.session, entry.start_s) if number is None else found.lineage
        seen = Attempt(
            number or 0, "", entry.name, _RAY, self._api.service, submitted_s=float(entry.start_s or 0)
        )

        def opened(before: Lineage) -> Lineage:
            lineage = before if before.id else Lineage(self._id, now_s)
            newest, allowed = lineage.newest, before.settings.max_restarts
            if newest is None or newest.number < seen.number:
                lineage = lineage.with_attempt(seen)
            elif (
                newest.decision
                and newest.decision.rule == _MAX_RESTARTS
                and allowed is not None
                and allowed < (wanted.max_restarts or 0)
            ):
                lineage = replace(lineage, ended_why="", ended_s=None)
                lineage = lineage.with_attempt(replace(newest, decision=None))
            return replace(lineage, settings=wanted)

        lineage = self._ctx.lineages.update(self._id, opened)
        recorded = self._ctx.lineages.submission(self._id)
        if not (lineage.ended_why or recorded.path.exists()):
            recorded.write(RecordedSubmission(script=json.dumps(found.description)))
            if package := lost_package(found.description):
                self._log.warning("job %s: %s", entry.name, _NO_FOLDER.format(package=package))

    def _until_decided(self, lineage: Lineage, attempt: Attempt) -> str:
        seen = self._follow(attempt)
        if isinstance(seen, str):
            return seen
        entry, proof = seen
        now_s = self._ctx.clock.now()
        attempt = self._ctx.lineages.load(self._id).attempt(attempt.number) or attempt
        stalled = attempt.stopped_for_stall_s is not None
        facts, headline, last_step = end_of(self._ctx, self._api, entry, proof, is_stalled=stalled)
        self._step = last_step if last_step is not None else self._step
        checkpoints = newest_complete(self._ctx, self._api, self._checkpoint_dir)
        ended = replace(
            attempt, last_step=last_step, started_s=entry.start_s, ended_s=entry.end_s or int(now_s)
        )
        decision = decide_restart(
            lineage.with_attempt(ended),
            attempt.number,
            facts,
            checkpoints.picked,
            self._ctx.lineages.readable(),
            rules=restart_rules(),
            now_s=now_s,
            jitter=random.random(),  # noqa: S311 - no secret
        )
        if decision.verdict is Verdict.RESTART and checkpoints.problem:
            return f"{decision.why} But {checkpoints.problem}; nothing was submitted"
        if headline and decision.verdict in (Verdict.STOP, Verdict.ASK):
            decision = replace(decision, why=f"{headline}. {decision.why}")
        self._log.info("job %s: %s: %s", entry.name, decision.verdict, decision.why)
        saved = self._ctx.lineages.update(self._id, lambda now: _decided(now, ended, decision))
        if saved.ended_why:
            self._ctx.lineages.remove_submission(self._id)
        return ""

    def _follow(self, attempt: Attempt) -> tuple[RayJob, str] | str:
        ended_s: float | None = None
        while True:
            entry, wait_s = self._entry(attempt), self._interval_s
            if isinstance(entry, str):
                return entry
            if entry and entry.has_ended:
                reading, (proof, doubt) = read_job(entry), death_of(self._api, entry)
                now_s = time.monotonic()
                if ended_s is None:
                    ended_s = now_s
                is_success = reading.state is JobState.COMPLETED
                if proof or (is_success and now_s - ended_s >= _PROOF_S):
                    return entry, proof
                if reading.ended_unknown_why:
                    return reading.ended_unknown_why
                if now_s - ended_s >= _PROOF_S and not reading.is_late:
                    return _NOT_DEAD.format(doubt=doubt, node=entry.node_ip or "its node")
                self._log.info("job %s: ended, but not proved dead yet: %s", entry.name, doubt)
                wait_s = min(wait_s, _LOOK_S)
            elif entry:
                ended_s = None
                attempt = self._look_at(entry, attempt)
            self._ctx.clock.wait(wait_s)

    def _entry(self, attempt: Attempt) -> RayJob | str | None:
        try:
            entry = self._api.job(attempt.job)
            session = "" if entry else self._api.version().session
        except SchedulerUnavailable as error:
            self._log.warning("job %s: %s", attempt.job, error)
            return None
        if entry is None:
            return f"{DELETED if session == self._session else FORGOTTEN}; {_NOTHING}"
        is_own_id = attempt_number(attempt.job, self._id) is not None
        if not is_own_id and attempt.submitted_s and entry.start_s not in (None, int(attempt.submitted_s)):
            return f"{REPLACED}; {_NOTHING}"
        return entry

    def _look_at(self, entry: RayJob, attempt: Attempt) -> Attempt:
        stalls = attempt.stopped_for_stall_s is not None
        if entry.status == "RUNNING":
            try:
                seen, limit_s = log_of(self._api, entry.name), self._settings.stall_is_failure_s or 0.0
                self._step = self._step if seen.step is None else seen.step
                stalls = stalls or is_stalled(self._ctx, self._api, entry.name, seen, limit_s)
            except (SchedulerUnavailable, UnknownJob) as error:
                self._log.warning("job %s: %s", entry.name, error)
        shown = "not known" if self._step is None else self._step
        self._log.info("job %s: %s, step %s", entry.name, entry.status, shown)
        if not stalls:
            return attempt
        stopped = replace(attempt, stopped_for_stall_s=attempt.stopped_for_stall_s or self._ctx.clock.now())
        if stopped != attempt:
            lasted = duration(self._settings.stall_is_failure_s or 0.0)
            self._log.warning("job %s: stalled for %s: it is stopped", entry.name, lasted)
            self._ctx.lineages.update(self._id, lambda now: now.with_attempt(stopped))
        try:
            self._api.stop(entry.name)
        except RayFailed as error:
            self._log.warning("job %s: %s", entry.name, error)
        return stopped

    def _until_submitted(self, lineage: Lineage, attempt: Attempt, decision: Decision) -> str:
        now_s, number, interval_s = self._ctx.clock.now(), attempt.number + 1, self._interval_s
        rest_s = max(decision.not_before_s, due_s(self._ctx.lineages.readable(), now_s)) - now_s
        name = attempt_id(self._id, number)
        known, why = None, ""
        if lineage.is_held:
            why = "held"
        elif rest_s > 0:
            why = f"due in {duration(rest_s)}"
        else:
            try:
                known = self._api.job(name)
            except RayFailed as error:
                why = str(error)
        if why:
            self._log.info("job %s: %s", name, why)
            self._ctx.clock.wait(min(rest_s, interval_s) if rest_s > 0 else interval_s)
            return ""
        picked = decision.checkpoint
        request = next_request(self._ctx, TO_RAY, lineage, number, decision)
        request["metadata"][NAME_KEY] = self._job_name
        if known is None:  # else its submission was cut off
            checkpoints = newest_complete(self._ctx, self._api, self._checkpoint_dir)
            now, problem = checkpoints.picked, checkpoints.problem
            if problem or (now and now.identity) != (picked and picked.identity):
                newest = now.path if now else "none"
                return _CHANGED.format(why=problem or f"the newest complete one is now {newest}")
            if package := lost_package(request):
                return _NO_FOLDER.format(package=package)
        return self._submit(number, request, picked)

    def _submit(self, number: int, request: Description, picked: PickedCheckpoint | None) -> str:
        lineages, name = self._ctx.lineages, str(request["submission_id"])
        with lineages.locked(self._id), lineages.locked(ALL_SUBMISSIONS):
            now, since_s = lineages.load(self._id), self._ctx.clock.now()
            is_late = due_s(lineages.readable(), since_s) > since_s  # another caller was first
            if is_late or now.ended_why or now.is_held or now.attempt(number):
                return ""
            submitted, entry = submit_through(self._api, request), None
            with suppress(RayFailed):
                entry = self._api.job(name)
            if submitted.fate is Fate.UNKNOWN and entry is None:
                self._log.warning("job %s: it is sent again under the same id: %s", name, submitted.why)
                return ""
            if submitted.fate is Fate.REFUSED and entry is None:
                return f"Ray did not accept attempt {number}: {submitted.why}"
            start_s = entry.start_s if entry else None
            attempt = Attempt(number, "", name, _RAY, self._api.service, start_s or since_s, picked)
            lineages.replace(self._id, lambda each: each.with_attempt(attempt))
        origin = f"from {picked.path}" if picked else "from the start"
        self._log.warning("job %s: submitted as attempt %d, %s", name, number, origin)
        return ""

    def _result(self, lineage: Lineage, reason: str) -> dict[str, Any]:
        newest, decision = lineage.newest, lineage.decision
        steps = (each.last_step for each in reversed(lineage.attempts) if each.last_step is not None)
        return {
            "success": decision is not None and decision.verdict is Verdict.FINISHED,
            "final_step": next(steps, None) if self._step is None else self._step,
            "total_retries": newest.number if newest else 0,
            "reason": reason,
        }


def _decided(now: Lineage, ended: Attempt, decision: Decision) -> Lineage:
    attempt = now.attempt(ended.number)
    if attempt and attempt.decision:
        return now
    return now.decided(ended, decision)
