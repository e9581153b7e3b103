"""The campaign: jobs run, monitors watch the jobs, are killed or freeze, and are replaced."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from random import Random

from benchmarks.fault_campaign.cluster import ReplayedCluster, ended, pending, running
from benchmarks.fault_campaign.flaky_discord import FlakyDiscord
from benchmarks.fault_campaign.forkserver import MonitorProcesses
from benchmarks.fault_campaign.frozen_hosts import FrozenHosts, in_flight
from benchmarks.fault_campaign.kill_points import FREEZE_STEPS, STEPS
from benchmarks.fault_campaign.member import (
    CLUSTER,
    FREEZE_LOG,
    KILL_LOG,
    LATE_LOG,
    NO_ENVIRONMENT,
    CampaignContext,
    FastClock,
    MonitorSpec,
)
from benchmarks.fault_campaign.scenario import Scenario
from jobmon_core.app.jobs.forget import forget
from jobmon_core.app.recover import RecoverJobs
from jobmon_core.domain.errors import AlreadyWatched
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.store.home import Home

_STEP_S = 0.01
_RECOVER_EVERY_S = 0.02
_MAX_JOBS = 40  # at the same time
_JOBS_PER_MONITOR = 5
_SHARE_AT_STEPS = 0.6  # of the kills and freezes; the others come at random moments
_AHEAD = 0.25  # how far the share of kills and freezes runs ahead of the share of messages that arrived
_MAX_PASSES = 6
_END_S = 30.0  # for the monitors to notice that all jobs are gone


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign must reach, and its limits."""

    kills: int
    freezes: int
    seed: int
    speed: float  # of the clock, compared with the real one
    limit_s: float


class CampaignStarter(MonitorStarter):
    """Starts monitors through the fork server; gives some of them a point at which to stop."""

    def __init__(
        self, ctx: CampaignContext, clock: FastClock, processes: MonitorProcesses, seed: int
    ) -> None:
        """Set up for the home of ``ctx``; nothing is started yet."""
        super().__init__(ctx)
        self._ctx, self._clock, self._processes = ctx, clock, processes
        self.random = Random(seed)  # noqa: S311 - campaigns must be repeatable
        self._points: Counter[str] = Counter()  # so far, by log
        self.wanted_at_steps = {FREEZE_LOG: 0.0, KILL_LOG: 0.0}
        self.interrupted: Counter[str] = Counter()  # kills while a message was in flight, by message

    def start(self, job_ids: Sequence[str]) -> tuple[str, ...]:
        """Start one monitor for every few jobs.

        Raises:
            AlreadyWatched: other monitors own all of the jobs.
        """
        acquired: list[str] = []
        for first in range(0, len(job_ids), _JOBS_PER_MONITOR):
            chunk = tuple(job_ids[first : first + _JOBS_PER_MONITOR])
            for job_id in chunk:
                owner = self._ctx.owner_record(job_id).read()
                self._note_interrupted(
                    job_id, moves=owner is not None and owner[0].host != os.uname().nodename
                )
            acquired += self._processes.start(self._spec(chunk))[1]
        if not acquired:
            raise AlreadyWatched("other monitors own these jobs")
        return tuple(acquired)

    def start_elsewhere(self, host: str, job_ids: Collection[str]) -> ForkServerProcess | None:
        """Start one monitor that has another host name; return it, None if it got none of the jobs."""
        for job_id in job_ids:
            self._note_interrupted(job_id, moves=True)
        process, acquired = self._processes.start(replace(self._spec(tuple(job_ids)), host=host))
        return process if acquired else None

    def at_steps(self, log: str) -> Counter[str]:
        """Return how many monitors killed themselves (`KILL_LOG`) or froze (`FREEZE_LOG`) at each step."""
        return self._logged(log)

    def late_attempts(self) -> Counter[str]:
        """Return how often a monitor was later for each message than others wait."""
        return self._logged(LATE_LOG)

    def _logged(self, name: str) -> Counter[str]:
        log = self._ctx.home.root / name
        return Counter(log.read_text(encoding="ascii").splitlines()) if log.exists() else Counter()

    def _spec(self, job_ids: tuple[str, ...]) -> MonitorSpec:
        step, freezes = "", False
        for log, steps in ((FREEZE_LOG, FREEZE_STEPS), (KILL_LOG, STEPS)):
            if not step and self._is_short_of(log):
                step, freezes = steps[self._points[log] % len(steps)], log == FREEZE_LOG
                self._points[log] += 1
        passes, seed = self.random.randint(1, _MAX_PASSES), self.random.randrange(2**32)
        return MonitorSpec(self._ctx.home.root, job_ids, self._clock, seed, step, passes, freezes)

    def _is_short_of(self, log: str) -> bool:
        specs = self._processes.running.values()
        expected = sum(bool(spec.kill_step) and spec.freezes == (log == FREEZE_LOG) for spec in specs)
        return self.at_steps(log).total() + expected < self.wanted_at_steps[log]

    def _note_interrupted(self, job_id: str, *, moves: bool) -> None:
        self.interrupted.update(in_flight(self._ctx, job_id, moves=moves))


@dataclass(slots=True)
class _RunningJob:
    """A job of the campaign; ``stage`` counts its pending reasons, then "running", then "ended"."""

    scenario: Scenario
    stage: int = -1
    seen_ns: int = 0  # modification time of its state file
    is_over: bool = False


class Campaign:
    """One home of jobmon with its jobs, its monitors and the kills."""

    def __init__(self, home: Path, discord: FlakyDiscord, processes: MonitorProcesses, plan: Plan) -> None:
        """Prepare a campaign in an empty home."""
        self.discord, self.processes, self.plan = discord, processes, plan
        self.clock = FastClock(time.time(), plan.speed)
        self.ctx = CampaignContext(Home(home), NO_ENVIRONMENT, clock=self.clock)
        self.cluster = ReplayedCluster(home / CLUSTER)
        self.cluster.folder.mkdir()
        self.starter = CampaignStarter(self.ctx, self.clock, processes, plan.seed)
        start, random = self.starter.start_elsewhere, self.starter.random
        self.hosts = FrozenHosts(self.ctx, processes, start, random)
        self.random_kills = 0
        self.given_up: list[str] = []
        self._jobs: dict[str, _RunningJob] = {}
        self._last: Scenario | None = None

    def run(self, scenarios: Sequence[Scenario]) -> bool:
        """Run the scenarios; return whether all jobs ended in time."""
        self._configure()
        waiting, events = list(reversed(scenarios)), sum(len(scenario.events) for scenario in scenarios)
        self._last = scenarios[-1]
        deadline_s, recover_s = time.monotonic() + self.plan.limit_s, 0.0
        while (waiting or self._jobs or self.hosts.frozen) and time.monotonic() < deadline_s:
            progress = len({arrival.id for arrival in self.discord.arrivals}) / events
            share = min(1.0, progress + _AHEAD)
            self.starter.wanted_at_steps = {
                FREEZE_LOG: self.plan.freezes * share * _SHARE_AT_STEPS,
                KILL_LOG: self.plan.kills * share * _SHARE_AT_STEPS,
            }
            self._submit_more(waiting)
            self._advance()
            self._reap()
            self._freeze(self.plan.freezes * share)
            self._kill(self.plan.kills * share)
            self.hosts.advance()
            if time.monotonic() >= recover_s:
                list(RecoverJobs(self.ctx, self.starter).recover())
                recover_s = time.monotonic() + _RECOVER_EVERY_S
            time.sleep(_STEP_S)
        return not (waiting or self._jobs)

    def survivors(self) -> int:
        """Return how many monitors run on although no job is left."""
        deadline_s = time.monotonic() + _END_S
        while self.processes.running and time.monotonic() < deadline_s:
            self.processes.reap()
            time.sleep(_STEP_S)
        return len(self.processes.running)

    def returned(self) -> list[str]:
        """Return the jobs that have a state file although they were forgotten."""
        return [path.stem for path in self.ctx.store.paths() if path.stem not in self._jobs]

    def unfinished(self) -> list[str]:
        """Describe each job that has not ended."""
        return [f"{state_id} at stage {job.stage}" for state_id, job in self._jobs.items()]

    def _configure(self) -> None:
        config = {
            "discord": {"success_webhook": self.discord.success_url, "error_webhook": self.discord.error_url},
            # many digests, and nothing but messages
            "messages": {"array": "each", "digest_from": 2, "card": "off"},
            # its outages are of Discord; a stalled machine is not to look like one of Slurm
            "poll": {"warn_stale_s": 0},
            "agent": {"enabled": False},
        }
        self.ctx.home.config.write_text(json.dumps(config), encoding="utf-8")
        self.ctx.home.config.chmod(0o600)

    def _submit_more(self, waiting: list[Scenario]) -> None:
        """Submit jobs, a few per monitor, up to the limit of simultaneous jobs."""
        while waiting and len(self._jobs) + _JOBS_PER_MONITOR <= _MAX_JOBS:
            chunk = [waiting.pop() for _ in range(min(_JOBS_PER_MONITOR, len(waiting)))]
            self.starter.start([self._submit(scenario) for scenario in chunk])

    def _submit(self, scenario: Scenario) -> str:
        running_job = _RunningJob(scenario)
        if scenario.backend == "slurm":
            self._next_stage(running_job)  # first, since sbatch answers before jobmon knows the job
        backend, job_id = scenario.backend, scenario.job_id
        job = NewJob(f"{backend}-{job_id}-campaign", job_id, self.clock.now(), 0.0, backend, user="me")
        self.ctx.store.save(job)
        self._jobs[job.id] = running_job
        return job.id

    def _advance(self) -> None:
        """Move each job to its next stage once its monitor has seen the current one."""
        for state_id, running_job in list(self._jobs.items()):
            changed_ns = self.ctx.store.path(state_id).stat().st_mtime_ns
            if changed_ns == running_job.seen_ns and not running_job.is_over:
                continue
            running_job.seen_ns = changed_ns
            job = self.ctx.store.load(state_id)
            running_job.is_over = job.finished
            if running_job.is_over:
                self._close(state_id, job)
            elif self._was_seen(running_job, job):
                self._next_stage(running_job)

    def _was_seen(self, running_job: _RunningJob, job: WatchedJob) -> bool:
        scenario, stage = running_job.scenario, running_job.stage
        if scenario.backend == "local":
            return False  # real jobs advance by themselves
        if stage < len(scenario.pending_reasons):
            return f":{scenario.pending_reasons[stage]}" in job.alerted
        is_short = self.processes.killed < self.plan.kills or self.hosts.count < self.plan.freezes
        if scenario is self._last and is_short:
            return False  # until the last kill and freeze there must be a monitor for it
        tasks_running = sum(task.raw_state == "RUNNING" for task in job.tasks.values())
        return stage == len(scenario.pending_reasons) and tasks_running == len(scenario.ends)

    def _next_stage(self, running_job: _RunningJob) -> None:
        running_job.stage += 1
        scenario, stage = running_job.scenario, running_job.stage
        if stage < len(scenario.pending_reasons):
            answers = pending(scenario, scenario.pending_reasons[stage])
        elif stage == len(scenario.pending_reasons):
            answers = running(scenario)
        else:
            answers = ended(scenario, self.clock.now())
        self.cluster.write(scenario.job_id, answers)

    def _close(self, state_id: str, job: WatchedJob) -> None:
        """Forget a job that has no more messages to send, once its monitor has left it."""
        removals = list(forget(self.ctx, JobRef(job.job_id), drop_given_up=True))
        if not all(removal.removed for removal in removals):
            return
        self.given_up += [f"{entry.message.id}: {entry.given_up}" for entry in job.outbox if entry.given_up]
        self.cluster.remove(job.job_id)
        del self._jobs[state_id]

    def _reap(self) -> None:
        for spec in self.processes.reap():
            if spec.host:
                self.hosts.silence(spec.host, spec.job_ids)

    def _kill(self, wanted: float) -> None:
        """Kill a monitor at a random moment if too few were killed so far."""
        victim = self._victim(wanted, self.plan.kills, self.processes.killed)
        if victim:
            victim.kill()
            victim.join()
            self.random_kills += 1

    def _freeze(self, wanted: float) -> None:
        """Freeze a monitor at a random moment if too few froze so far."""
        victim = self._victim(wanted, self.plan.freezes, self.hosts.count)
        if victim:
            self.hosts.freeze(victim)

    def _victim(self, wanted: float, planned: int, so_far: int) -> ForkServerProcess | None:
        """Return a monitor to kill or to freeze now; None if enough were, or enough will do it themselves."""
        near_the_end = wanted >= planned  # a monitor may end before it reaches its step
        running = {
            each: spec for each, spec in self.processes.running.items() if each not in self.hosts.frozen
        }
        victims = [process for process, spec in running.items() if near_the_end or not spec.kill_step]
        expected = len(running) - len(victims)
        if victims and so_far + expected < wanted and self.starter.random.random() < 1 / 2:
            return self.starter.random.choice(victims)
        return None
